// Package errorpattern masks the parts of an error's text that differ from job to job, so that errors of one cause have one
// pattern: "row 7 of \"a.csv\" is bad" and "row 12 of \"b.csv\" is bad" both have the pattern "row # of \"…\" is bad".
//
// [Of] knows nothing of jobs. Its result is for grouping and for people: two patterns are equal or not, and a pattern cannot be
// turned back into a text.
package errorpattern
