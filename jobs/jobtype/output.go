package jobtype

// OutputError is the error of a handler that ran a program: how the program ended, and the end of what it wrote. Wrapped
// or not, it is recorded as the error's text, a colon and the last 2 KiB of Output, from the start of a line if possible.
//
// What the kind marks as sensitive is withheld from all of Output before it is shortened: a handler
// that shortens it itself could leave a part of a marked value that is not recognised. Error does not return Output, so
// that logs and middleware do not tell it.
type OutputError struct {
	Err       error  // how the program ended; not nil
	Output    string // the end of what it wrote; bytes that are not UTF-8 are replaced
	Truncated bool   // Output lacks its beginning, and may begin with the rest of a marked value
}

func (e *OutputError) Error() string { return e.Err.Error() }

func (e *OutputError) Unwrap() error { return e.Err }
