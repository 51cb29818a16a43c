// Package browser holds the tests of the dashboard in a real browser, Chromium without a window, and makes its
// screenshots. It has nothing to import.
package browser
