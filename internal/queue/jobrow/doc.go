// Package jobrow makes a jobtype.Job of the results of generated statements. No other package reads the columns of a job's row.
package jobrow
