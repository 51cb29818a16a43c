package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"strings"

	"github.com/charmbracelet/x/ansi"
	"github.com/spf13/pflag"

	safe "github.com/sqluice/sqluice/internal/printable"
)

// jsonFlag adds --json to a command.
func jsonFlag(flags *pflag.FlagSet, asJSON *bool) {
	flags.BoolVar(asJSON, "json", false, "print one JSON document")
}

// print writes a line of the command's answer. The buffer keeps the first error, which run reports.
func (a *app) print(format string, args ...any) { _, _ = fmt.Fprintf(a.out, format+"\n", args...) }

// printAndFlush prints a line and flushes it, for readers that wait for it.
func (a *app) printAndFlush(format string, args ...any) error {
	a.print(format, args...)
	return a.out.Flush()
}

// printJSON writes v as an indented document.
func (a *app) printJSON(v any) error {
	text, err := encodeJSON(v, "")
	if err != nil {
		return err
	}
	a.print("%s", text)
	return nil
}

func encodeJSON(v any, prefix string) ([]byte, error) {
	var b bytes.Buffer
	encoder := json.NewEncoder(&b)
	encoder.SetEscapeHTML(false)
	encoder.SetIndent(prefix, "  ")
	if err := encoder.Encode(v); err != nil {
		return nil, fmt.Errorf("encode the answer: %w", err)
	}
	return bytes.TrimSpace(safe.JSON(b.Bytes())), nil
}

// jsonArray writes a list of any length as one document, an element at a time.
type jsonArray struct {
	app   *app
	count int
}

func (j *jsonArray) add(v any) error {
	text, err := encodeJSON(v, "  ")
	if err != nil {
		return err
	}
	before := ",\n  "
	if j.count == 0 {
		before = "[\n  "
	}
	j.count++
	_, _ = fmt.Fprintf(j.app.out, "%s%s", before, text) // the buffer keeps the first error, as for print
	return nil
}

func (j *jsonArray) close() {
	if j.count == 0 {
		j.app.print("[]")
		return
	}
	j.app.print("\n]")
}

// table aligns rows below a header, by the width that a terminal gives their characters. It makes cells printable.
type table struct {
	out  io.Writer
	rows [][]string
}

func newTable(out io.Writer, header ...string) *table {
	t := &table{out: out}
	if len(header) > 0 {
		t.row(header...)
	}
	return t
}

func (t *table) row(cells ...string) {
	for i, cell := range cells {
		cells[i] = printable(cell)
	}
	for len(cells) > 0 && cells[len(cells)-1] == "" { // otherwise blanks fill the last column
		cells = cells[:len(cells)-1]
	}
	t.rows = append(t.rows, cells)
}

// close writes the rows.
func (t *table) close() error {
	var widths []int // the widths of all columns but the last
	for _, cells := range t.rows {
		for i := range len(cells) - 1 {
			if i == len(widths) {
				widths = append(widths, 0)
			}
			widths[i] = max(widths[i], ansi.StringWidth(cells[i]))
		}
	}
	var text strings.Builder
	for _, cells := range t.rows {
		for i, cell := range cells {
			text.WriteString(cell)
			if i < len(cells)-1 {
				text.WriteString(strings.Repeat(" ", widths[i]-ansi.StringWidth(cell)+2))
			}
		}
		text.WriteByte('\n')
	}
	_, err := io.WriteString(t.out, text.String())
	return err
}
