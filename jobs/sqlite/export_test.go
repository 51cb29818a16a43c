package sqlite

// WithChecks holds the library's own writes to the schema's CHECKs, which are else for other programs' writes: so the
// tests show that the library writes nothing that they refuse.
func WithChecks() Option { return func(o *options) { o.checks = true } }
