// Package tsclient drives the HTTP API with a client in TypeScript, whose types are generated from openapi.json. So the
// contract is tested for programs in other languages. It also checks the Grafana dashboard against Grafana's own types,
// which are in TypeScript. It holds tests only.
package tsclient
