package main

import (
	"math"
	"strconv"
	"strings"
)

// number formats a figure with three significant digits and separated thousands, and 0 as nothing.
func number(v float64) string {
	if v == 0 {
		return ""
	}
	digits := 2 - int(math.Floor(math.Log10(math.Abs(v))))
	unit := math.Pow(10, float64(digits))
	v = math.Round(v*unit) / unit
	return thousands(strconv.FormatFloat(v, 'f', min(max(digits, 0), 4), 64))
}

// count formats a number of things with all its digits.
func count(n int) string { return thousands(strconv.Itoa(n)) }

func thousands(text string) string {
	whole, rest, isFraction := strings.Cut(text, ".")
	var out strings.Builder
	for i, digit := range whole {
		if i > 0 && (len(whole)-i)%3 == 0 && whole[i-1] != '-' {
			out.WriteByte(',')
		}
		out.WriteRune(digit)
	}
	if isFraction {
		out.WriteString("." + rest)
	}
	return out.String()
}
