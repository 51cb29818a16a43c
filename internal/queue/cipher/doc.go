// Package cipher encrypts what jobs carry: payloads, results, progress and the errors of attempts.
//
// It knows keys and texts, and nothing of runners or of the database: callers give it the value of a column and store what it returns.
package cipher
