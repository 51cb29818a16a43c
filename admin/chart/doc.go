// Package chart draws histories as lines of an SVG picture, and encodes them for the dashboard's script, which draws them again.
//
// It knows histories (package inspect), and neither HTTP nor HTML.
package chart
