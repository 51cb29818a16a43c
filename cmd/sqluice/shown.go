package main

import "regexp"

// mayHoldPassword matches the part of a database's address that may hold a password.
var mayHoldPassword = regexp.MustCompile(`(?is)(?:(://)|(:).*@|(password)).*`)

// shown returns a text of the command line for an error: without the part after the scheme of a URL, because a database's URL may hold a
// password, and users may give it in the wrong place.
func shown(text string) string { return mayHoldPassword.ReplaceAllString(text, "$1$2$3...") }
