// Package calendar counts the ticks of a schedule by day, for the strip of the next week on the dashboard's pages.
//
// It knows specifications and zones (package cron), and neither the database nor HTML.
package calendar
