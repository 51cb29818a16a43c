package jobtype

// OutputError is the error of a handler that ran a program: it holds the program's error and the end of its output. Wrapped or not, it is
// recorded as the error's text, a colon and the last 2 KiB of Output, from the start of a line if possible.
//
// Values that the kind marks as sensitive are withheld from all of Output before it is shortened: a handler that shortens it itself could
// leave an unrecognised part of a marked value. Error does not return Output, so that logs and middleware do not contain it.
type OutputError struct {
	Err       error  // the program's error; not nil
	Output    string // the end of its output; bytes that are not UTF-8 are replaced
	Truncated bool   // Output lacks its beginning, and may begin with the end of a marked value
}

func (e *OutputError) Error() string { return e.Err.Error() }

func (e *OutputError) Unwrap() error { return e.Err }
