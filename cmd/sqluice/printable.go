package main

import safe "github.com/sqluice/sqluice/internal/printable"

// printable returns text of the database or the system in a form that is safe for a terminal: see [safe.Line].
func printable(s string) string { return safe.Line(s) }
