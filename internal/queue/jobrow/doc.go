// Package jobrow makes a jobtype.Job of what the generated statements return. Nothing else reads the columns of a job's row.
package jobrow
