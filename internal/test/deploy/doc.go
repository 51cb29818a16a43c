// Package deploy checks the files of folder deploy: units of systemd, manifests of Kubernetes, the Dockerfile. It is a module of its own,
// because the types of Kubernetes are many.
package deploy
