// Package jobrow makes a jobtype.Job of what the generated statements return. A new column of a job is read here and nowhere
// else.
package jobrow
