// Package promql checks the queries of the Grafana dashboard with Prometheus's own parser. It is a separate module, so that the
// main module does not need the parser's dependencies.
package promql
