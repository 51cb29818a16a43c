package top

import (
	"fmt"
	"slices"
	"strings"

	"github.com/charmbracelet/x/ansi"
)

// column is a column of a grid.
type column struct {
	title string
	right bool // aligned to the right, as numbers
	least int  // the least width to which it may be cut; 0 means never
	worth int  // columns of the least worth are left out first
}

// cell is a text with its style.
type cell struct {
	text  string
	style style
}

// row is a row of a grid; chosen marks the row that keys act on.
type row struct {
	cells  []cell
	chosen bool
}

// grid is a table for terminals that fits any width. Its texts are printable.
type grid struct {
	columns []column
	rows    []row
	none    string // shown if there are no rows
	more    string // shown after the rows: what they leave out
}

// window keeps so many rows around the chosen one, and shows in the header which rows they are.
func (g *grid) window(most int) {
	all := len(g.rows)
	if all <= most {
		return
	}
	chosen := max(0, slices.IndexFunc(g.rows, func(r row) bool { return r.chosen }))
	first := max(0, min(chosen-most/2, all-most))
	g.rows = g.rows[first : first+most]
	g.columns = slices.Clone(g.columns)
	if most > 0 {
		title := &g.columns[0]
		title.title = fmt.Sprintf("%s %d-%d/%d", title.title, first+1, first+most, all)
		title.least = max(title.least, len(title.title))
	}
}

const gap = 2 // blanks between columns

// lines returns the header and the rows, at most width wide; 0 means no limit.
func (g *grid) lines(width int, paint painter) []string {
	shown, widths := g.fit(width)
	line := func(cellOf func(i int) cell, chosen bool) string {
		var b strings.Builder
		for n, i := range shown {
			c := cellOf(i)
			text := pad(c.text, widths[n], g.columns[i].right)
			if n == len(shown)-1 && !chosen {
				text = strings.TrimRight(text, " ")
			}
			if chosen {
				c.style = selected
			}
			b.WriteString(paint(c.style, text))
			if n < len(shown)-1 {
				blanks := strings.Repeat(" ", gap)
				if chosen {
					blanks = paint(selected, blanks)
				}
				b.WriteString(blanks)
			}
		}
		if chosen {
			return cut(paint(selected, "> ")+b.String(), width)
		}
		return cut("  "+b.String(), width)
	}
	lines := []string{line(func(i int) cell { return cell{g.columns[i].title, heading} }, false)}
	for _, r := range g.rows {
		lines = append(lines, line(func(i int) cell { return r.cells[i] }, r.chosen))
	}
	return lines
}

// fit chooses the columns that fit into a width, and the width of each; 0 means no limit.
func (g *grid) fit(width int) (shown, widths []int) {
	whole, narrow := g.widths()
	for i := range g.columns {
		shown = append(shown, i)
	}
	if width == 0 {
		return shown, whole
	}
	room := func() int {
		room := width - gap*len(shown) // one gap before the first column, for the mark
		for _, i := range shown {
			room -= narrow[i]
		}
		return room
	}
	for room() < 0 && len(shown) > 1 {
		shown = g.withoutWorst(shown)
	}
	wanted := make([]int, len(shown))
	for n, i := range shown {
		wanted[n] = whole[i] - narrow[i]
	}
	widths = share(room(), wanted)
	for n, i := range shown {
		widths[n] += narrow[i]
	}
	return shown, widths
}

// widths returns for each column the width at which nothing is cut, and the least width.
func (g *grid) widths() (whole, narrow []int) {
	for i, c := range g.columns {
		width := ansi.StringWidth(c.title)
		for _, r := range g.rows {
			width = max(width, ansi.StringWidth(r.cells[i].text))
		}
		whole = append(whole, width)
		if c.least > 0 {
			width = min(c.least, width)
		}
		narrow = append(narrow, width)
	}
	return whole, narrow
}

// withoutWorst leaves out the first column of the least worth.
func (g *grid) withoutWorst(shown []int) []int {
	worst := slices.MinFunc(shown, func(a, b int) int { return g.columns[a].worth - g.columns[b].worth })
	return slices.DeleteFunc(shown, func(i int) bool { return i == worst })
}

// pad fills a text with blanks to a width in columns of a terminal; some characters take two.
func pad(text string, width int, right bool) string {
	text = cut(text, width)
	blanks := strings.Repeat(" ", max(0, width-ansi.StringWidth(text)))
	if right {
		return blanks + text
	}
	return text + blanks
}

// cut shortens a line with its styles to width; 0 means no limit.
func cut(text string, width int) string {
	if width == 0 {
		return text
	}
	return ansi.Truncate(text, width, "…")
}

// wrap breaks a text into at most most lines of a width, and shortens the last one; 0 means no limit.
func wrap(text string, width, most int) []string {
	if width == 0 {
		return []string{text}
	}
	lines := strings.Split(ansi.Wrap(text, width, ""), "\n")
	if len(lines) > most {
		lines = append(lines[:most-1], cut(strings.Join(lines[most-1:], " "), width))
	}
	for i := range lines {
		lines[i] = cut(lines[i], width) // a character may be wider than the terminal
	}
	return lines
}
