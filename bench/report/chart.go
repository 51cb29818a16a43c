package main

import (
	_ "embed"
	"encoding/xml"
	"fmt"
	"strings"
	"text/template"
	"unicode/utf8"
)

//go:embed chart.svg.tmpl
var chartTemplate string

// A bar chart is little more than rectangles at computed places. A library would add far more code than it saves, and
// none writes colours that follow the reader's light or dark surroundings.
const (
	chartWidth = 760
	barsTo     = 600 // the figures are to the right of it
	rowHeight  = 24
	headHeight = 30

	letter  = 7.2 // about the width of one
	longest = 48  // letters of a name; longer ones are cut
)

// picture is the data of the template.
type picture struct {
	Width, Height      int
	Left               int // where bars begin: the names are to the left of it
	Title, Description string
	Note               string
	NoteY              int
	GroundWidth        int
	GroundHeight       int
	Heads              []label
	Bars               []bar
}

type label struct {
	X, Y int
	Text string
}

// bar is a row: its name, one or two rectangles, and its figure.
type bar struct {
	Class         string // of its colour
	Name, Figure  label
	Parts         []part
	Low, High, At float64 // of the line from the least to the greatest round; none when High is 0
}

type part struct {
	X, Y, Width, Height float64
	IsPale              bool
}

// chart draws a workload as SVG.
func chart(w workload) ([]byte, error) {
	p := picture{Width: chartWidth, Title: capital(w.name), Description: describe(w), Note: noteOf(w)}
	for _, r := range w.rows {
		p.Left = max(p.Left, 24+int(letter*float64(utf8.RuneCountInString(shortNameOf(r)))))
	}
	scale := float64(barsTo-p.Left) / w.greatest()
	y := 44
	group := ""
	for _, r := range w.rows {
		if g := groupOf(r); g != group {
			group = g
			p.Heads = append(p.Heads, label{X: 16, Y: y + 20, Text: g})
			y += headHeight
		}
		p.Bars = append(p.Bars, w.bar(r, p.Left, y, scale))
		y += rowHeight
	}
	p.NoteY, p.Height = y+20, y+36
	p.GroundWidth, p.GroundHeight = p.Width-1, p.Height-1
	parsed, err := template.New("chart").Funcs(template.FuncMap{"text": escape}).Parse(chartTemplate)
	if err != nil {
		return nil, err
	}
	var out strings.Builder
	if err := parsed.Execute(&out, p); err != nil {
		return nil, err
	}
	return []byte(out.String()), nil
}

// greatest returns the value of the longest bar.
func (w workload) greatest() float64 {
	greatest := 0.0
	for _, r := range w.rows {
		greatest = max(greatest, w.value(r), r.max)
		if w.metric.unit == latency.unit {
			greatest = max(greatest, r.P99)
		}
	}
	if greatest == 0 {
		return 1
	}
	return greatest
}

func (w workload) bar(r *row, left, y int, scale float64) bar {
	b := bar{
		Class:  "peer",
		Name:   label{X: left - 8, Y: y + 16, Text: shortNameOf(r)},
		Figure: label{Y: y + 16, Text: w.figureText(r)},
	}
	switch r.System {
	case ours:
		b.Class = "ours"
	case limit:
		b.Class = "limit"
	}
	end := float64(left)
	draw := func(value, from, height float64, isPale bool) {
		if value > 0 {
			part := part{X: float64(left), Y: float64(y) + from, Width: max(1, value*scale), Height: height, IsPale: isPale}
			b.Parts = append(b.Parts, part)
			end = max(end, part.X+part.Width)
		}
	}
	if w.metric.unit == latency.unit {
		draw(r.P50, 4, 8, false)
		draw(r.P99, 13, 8, true)
	} else {
		draw(w.value(r), 4, 17, false)
		if r.counted > 1 {
			b.Low, b.High, b.At = float64(left)+r.min*scale, float64(left)+r.max*scale, float64(y)+12.5
			end = max(end, b.High)
		}
	}
	b.Figure.X = int(end) + 8
	return b
}

// figureText returns the text at the end of a bar.
func (w workload) figureText(r *row) string {
	switch {
	case w.value(r) == 0:
		return "no figure: it failed"
	case w.metric.unit == latency.unit:
		return number(r.P50) + " / " + number(r.P99) + " ms"
	default:
		return number(w.value(r)) + " " + w.metric.unit
	}
}

func noteOf(w workload) string {
	switch w.metric.unit {
	case latency.unit:
		return "Milliseconds, shorter is better: upper bar p50, paler lower bar p99."
	case cost.unit:
		return "Processor time of the worker and the server, shorter is better; the line goes from the least to the greatest round."
	default:
		return "Jobs per second, longer is better; the line goes from the least to the greatest round."
	}
}

// describe describes the plot in words.
func describe(w workload) string {
	texts := make([]string, len(w.rows))
	for i, r := range w.rows {
		texts[i] = groupOf(r) + ": " + nameOf(r) + " " + w.figureText(r)
	}
	return capital(w.name) + ". " + strings.Join(texts, "; ") + "."
}

func groupOf(r *row) string {
	if r.Durability == "" {
		return r.Engine
	}
	return r.Engine + ", durability " + r.Durability
}

// nameOf leaves out the settings of systems that have only one kind of them.
func nameOf(r *row) string {
	settings := r.Settings
	if !isPeer(r) {
		settings = strings.TrimPrefix(strings.TrimPrefix(settings, "default"), ", ")
	}
	if settings == "" {
		return r.System
	}
	return r.System + ", " + settings
}

// shortNameOf fits beside the bars.
func shortNameOf(r *row) string {
	name := []rune(nameOf(r))
	if len(name) <= longest {
		return string(name)
	}
	return string(name[:longest-1]) + "\u2026"
}

// escape makes text fit for XML.
func escape(text string) (string, error) {
	var out strings.Builder
	if err := xml.EscapeText(&out, []byte(text)); err != nil {
		return "", fmt.Errorf("escape %q: %w", text, err)
	}
	return out.String(), nil
}
