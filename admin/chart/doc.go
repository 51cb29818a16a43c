// Package chart draws histories as lines of an SVG picture, and tells the dashboard's script what it needs to draw them again.
//
// It knows histories (package inspect), and neither HTTP nor HTML.
package chart
