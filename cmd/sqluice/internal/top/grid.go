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
	right bool // aligned to the right
	least int  // the minimum width in characters; 0 means that no cell is cut
	worth int  // a narrow grid omits the columns with the lowest worth
}

// cell is a printable text with its style.
type cell struct {
	text  string
	style style
}

// row is a row of a grid. Keys act on the chosen row.
type row struct {
	cells  []cell
	chosen bool
}

// grid is a table that fits a terminal of any width.
type grid struct {
	columns []column
	rows    []row
	none    string // shown in place of rows if there are none
	more    string // shown after the rows: a summary of the rows that bound removed
}

// window keeps at most most rows around the chosen one. If it removes rows, the header shows the numbers of the others.
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

const gap = 2 // blanks between two columns

// lines returns the header and the rows, each at most width characters wide; width 0 means no limit.
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

// fit returns the indexes of the columns that fit into width, and their widths; width 0 means no limit.
func (g *grid) fit(width int) (shown, widths []int) {
	whole, narrow := g.widths()
	for i := range g.columns {
		shown = append(shown, i)
	}
	if width == 0 {
		return shown, whole
	}
	room := func() int {
		room := width - gap*len(shown) // the mark of the chosen row takes a gap before the first column
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

// widths returns for each column the width of its longest cell, and its minimum width.
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

// withoutWorst removes the column with the lowest worth from shown, and the first of several.
func (g *grid) withoutWorst(shown []int) []int {
	worst := slices.MinFunc(shown, func(a, b int) int { return g.columns[a].worth - g.columns[b].worth })
	return slices.DeleteFunc(shown, func(i int) bool { return i == worst })
}

// pad cuts or fills a text to exactly width columns of a terminal. Some characters take two columns.
func pad(text string, width int, right bool) string {
	text = cut(text, width)
	blanks := strings.Repeat(" ", max(0, width-ansi.StringWidth(text)))
	if right {
		return blanks + text
	}
	return text + blanks
}

// cut shortens a line, which may have styles, to width columns; width 0 means no limit.
func cut(text string, width int) string {
	if width == 0 {
		return text
	}
	return ansi.Truncate(text, width, "…")
}

// wrap breaks a text into at most most lines of width columns, and cuts the last one; width 0 means one line without limit.
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
