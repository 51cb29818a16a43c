// Package redact hides the values that kinds mark as sensitive: in the JSON columns of jobs that people are shown
// (Fields.Redact), and in the recorded texts of attempts (Fields.Values, Withhold).
//
// It knows marks, JSON and texts, and nothing of runners: callers give it columns and take the result.
package redact
