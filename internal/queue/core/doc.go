// Package core holds what every other part of the queue shares: how columns become Go values, which names, keys and
// payloads are valid, and how texts are cleaned and shortened. It runs no statement and keeps no state.
package core
