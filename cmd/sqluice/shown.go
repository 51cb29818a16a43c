package main

import "regexp"

// secretive finds where a database's address begins that may hold a password.
var secretive = regexp.MustCompile(`(?is)(?:(://)|(:).*@|(password)).*`)

// shown is a text of the command line as errors repeat it: without what follows the scheme of a URL, because a
// database's URL may hold a password, and may stand where it does not belong.
func shown(text string) string { return secretive.ReplaceAllString(text, "$1$2$3...") }
