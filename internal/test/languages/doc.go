// Package languages tests the programs of examples/languages, which enqueue in their own transactions.
package languages
