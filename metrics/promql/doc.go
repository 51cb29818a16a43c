// Package promql holds the queries of the Grafana dashboard against Prometheus's own parser. It is a module of its own, so that
// nothing else needs what that brings.
package promql
