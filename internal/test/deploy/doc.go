// Package deploy checks the files of folder deploy: units of systemd, manifests of Kubernetes, the Dockerfile. It is a separate module,
// because the types of Kubernetes are many.
package deploy
