package jobs

import "github.com/sqluice/sqluice/internal/queue/engine"

// Shared is what all clients of one store share, so that its bounds hold however many clients a program makes. An engine's
// store holds one and returns it from its method of this name. The zero value is ready for use.
type Shared struct {
	searches     engine.Exclusive
	schemaChecks engine.Exclusive
	waits        waitList
}
