package main

import "regexp"

// mayHoldPassword matches the part of a database's address that may hold a password.
var mayHoldPassword = regexp.MustCompile(`(?is)(?:(://)|(:).*@|(password)).*`)

// shown returns a text of the command line as errors quote it: without what follows the scheme of a URL, because a database's
// URL may hold a password, and may be given in the wrong place.
func shown(text string) string { return mayHoldPassword.ReplaceAllString(text, "$1$2$3...") }
