package admin_test

import (
	"fmt"
	"math"
	"os"
	"regexp"
	"strconv"
	"strings"
	"testing"
)

// rgb is a colour, each part from 0 to 1.
type rgb [3]float64

func parseColour(t *testing.T, text string) (c rgb) {
	t.Helper()
	for i := range c {
		n, err := strconv.ParseUint(text[2*i:2*i+2], 16, 8)
		must(t, err)
		c[i] = float64(n) / 255
	}
	return c
}

// over returns the colour on top of another one, by its opacity.
func (c rgb) over(back rgb, share float64) (mixed rgb) {
	for i := range c {
		mixed[i] = c[i]*share + back[i]*(1-share)
	}
	return mixed
}

// contrast returns the contrast of two colours by the WCAG, from 1 to 21.
func contrast(a, b rgb) float64 {
	luminance := func(c rgb) float64 {
		var linear rgb
		for i, v := range c {
			if linear[i] = v / 12.92; v > 0.04045 {
				linear[i] = math.Pow((v+0.055)/1.055, 2.4)
			}
		}
		return 0.2126*linear[0] + 0.7152*linear[1] + 0.0722*linear[2]
	}
	x, y := luminance(a), luminance(b)
	return (max(x, y) + 0.05) / (min(x, y) + 0.05)
}

// TestContrast checks that in both themes the contrast of texts is 4.5 at least, and that of fields' borders 3, as the WCAG requires.
func TestContrast(t *testing.T) {
	text, err := os.ReadFile("static/app.css")
	must(t, err)
	for i, theme := range []string{"light", "dark"} {
		colours := map[string]rgb{"white": {1, 1, 1}}
		for _, m := range regexp.MustCompile(`--([a-z]+): light-dark\(#([0-9a-f]{6}), #([0-9a-f]{6})\);`).FindAllStringSubmatch(string(text), -1) {
			colours[m[1]] = parseColour(t, m[2+i])
		}
		colour := func(name string) rgb {
			c, ok := colours[name]
			if !ok {
				t.Fatalf("the style sheet has no colour %s", name)
			}
			return c
		}
		least := func(want float64, what string, front, back rgb) {
			if have := contrast(front, back); have < want {
				t.Errorf("%s, %s: the contrast is %.2f, not %.1f", theme, what, have, want)
			}
		}
		backs := map[string]rgb{
			"hovered row": colour("raised").over(colour("card"), 0.55), "ticked row": colour("accent").over(colour("card"), 0.09),
		}
		for _, name := range []string{"bg", "side", "card", "raised"} {
			backs[name] = colour(name)
		}
		for name, back := range backs {
			for _, front := range strings.Fields("text muted accent") {
				least(4.5, front+" on "+name, colour(front), back)
			}
		}
		for _, status := range strings.Fields("scheduled pending running done failed cancelled") {
			for _, name := range []string{"bg", "card", "hovered row", "ticked row"} {
				least(4.5, fmt.Sprintf("the badge %s on %s", status, name), colour(status), colour(status).over(backs[name], 0.12))
				least(4.5, fmt.Sprintf("%s on %s", status, name), colour(status), backs[name])
			}
		}
		least(4.5, "a button", colour("white"), colour("button"))
		for _, back := range []string{"bg", "card"} {
			least(3, "the edge of a field on "+back, colour("field"), colour(back))
		}
	}
	// The test above does not see opacity and filters that make a text fainter.
	if faint := regexp.MustCompile(`::placeholder \{[^}]*opacity: 0?\.|\.tabs \.n \{[^}]*opacity`).FindString(string(text)); faint != "" {
		t.Errorf("a text is fainter than its colour: %s", faint)
	}
}
