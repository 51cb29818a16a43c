// Package tsclient drives the HTTP API with a client in TypeScript, whose types are generated from openapi.json: what the
// contract says has to be of use to programs in other languages. And it holds the Grafana dashboard to Grafana's own types,
// which are in TypeScript. It holds tests alone.
package tsclient
