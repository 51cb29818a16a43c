// Package declare keeps the declarations of programs, such as the settings of a kind or a schedule, with the live workers that make them.
//
// Each different declaration of a name is a row of sqluice_declarations. The row of a worker lists the declarations of its program. Live
// workers may declare different settings for one name. Then the newest declaration is in force: the one that was declared for the first
// time last. A worker checks its own declarations when it starts, and when workers have come or gone since its last check. The worker
// that puts a declaration in force also writes the row of the schedule, the retention rule, or the limit of the whole kind or queue, in the
// same transaction. When no live worker declares a name, the declaration last in force stays.
//
// The package does not know handlers, claims, or the requests of clients.
package declare
