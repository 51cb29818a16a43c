// Package redact hides what kinds mark as sensitive: in the JSON columns of jobs that people are shown (Fields.Redact), and
// in the texts that attempts are recorded with (Fields.Values, Withhold).
//
// It knows marks, JSON and texts, and nothing of runners: callers give it columns and take the result.
package redact
