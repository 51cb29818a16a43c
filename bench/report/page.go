package main

import (
	_ "embed"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"text/template"
)

//go:embed page.md.tmpl
var pageTemplate string

// pageData is the data of the template.
type pageData struct {
	Machine      machine
	Introduction string
	Method       string
	Ahead        string // workloads where another queue is faster
	Targets      string
	Limits       []limitNote
	Sections     []section
	Remarks      []string
}

// limitNote says why a target was missed.
type limitNote struct{ Title, Text string }

// section is a workload.
type section struct {
	Title, Picture, Alternative, Table string
	Failures                           []string
}

func page(all results, workloads []workload, texts notes, folder string) ([]byte, error) {
	data := pageData{Machine: all.machine, Introduction: texts[introduction], Method: texts[method], Ahead: texts[ahead]}
	data.Targets, data.Limits = targetTable(workloads, texts)
	for _, w := range workloads {
		data.Sections = append(data.Sections, section{
			Title: capital(w.name), Picture: folder + "/" + w.file(), Alternative: plainText().Replace(describe(w)), Table: w.table(), Failures: w.failures(),
		})
	}
	for _, remark := range all.remarks {
		if strings.Contains(remark, "NOT MEASURED") {
			data.Remarks = append(data.Remarks, remark)
		}
	}
	parsed, err := template.New("page").Funcs(template.FuncMap{"number": number}).Parse(pageTemplate)
	if err != nil {
		return nil, err
	}
	var out strings.Builder
	if err := parsed.Execute(&out, data); err != nil {
		return nil, err
	}
	return []byte(out.String()), nil
}

// failures names the rows that lack rounds, with the reason.
func (w workload) failures() []string {
	var list []string
	for _, r := range w.rows {
		for _, why := range r.failures {
			list = append(list, plainText().Replace(groupOf(r)+", "+nameOf(r)+": "+why))
		}
	}
	return list
}

func capital(text string) string { return strings.ToUpper(text[:1]) + text[1:] }

// targetTable returns the table of targets with the measured figures, and the notes on the missed ones.
func targetTable(workloads []workload, texts notes) (string, []limitNote) {
	var missed []limitNote
	t := table{header: []string{"workload", "figure", "target", "reached", "", "best settings", "raw loop", "best peer"}, left: 2}
	for _, wanted := range targets() {
		o := wanted.check(workloads)
		cells := []string{wanted.title(), wanted.figure.name, bound(wanted), "not measured", "", "", "", ""}
		if o.row != nil {
			cells[3], cells[4] = wanted.figure.show(o.value), "met"
			if !o.isMet {
				cells[4] = "**missed**"
				missed = addNote(missed, wanted.title(), texts)
			}
			cells[5] = beside(o, o.tuned, false)
			if !wanted.figure.isRatio {
				cells[6] = beside(o, o.workload.limitOf(o.row), false)
				cells[7] = beside(o, o.workload.peerOf(o.row), true)
			}
		}
		t.rows = append(t.rows, cells)
	}
	return t.String(), missed
}

func bound(t target) string {
	sign := "at least "
	if t.figure.isMost {
		sign = "at most "
	}
	return sign + thousands(strconv.FormatFloat(t.bound, 'f', -1, 64))
}

func addNote(list []limitNote, title string, texts notes) []limitNote {
	if slices.ContainsFunc(list, func(n limitNote) bool { return n.Title == title }) {
		return list
	}
	text := texts[title]
	if text == "" {
		text = "What limits this has not been written down yet."
	}
	return append(list, limitNote{title, text})
}

// beside returns the same figure of another row.
func beside(o outcome, other *row, isNamed bool) string {
	if other == nil {
		return ""
	}
	value, ok := o.figure.of(o.workload, other)
	if !ok {
		return ""
	}
	text := o.figure.show(value)
	if isNamed {
		text += " (" + other.System + ")"
	}
	return text
}

// column is a column of a workload's table. It is left out where no row has a value for it.
type column struct {
	title string
	cell  func(workload, *row) string
}

func columns(w workload) []column {
	list := []column{
		{"system", func(_ workload, r *row) string { return versioned(r) }},
		{"engine", func(_ workload, r *row) string { return r.Engine }},
		{"durability", func(_ workload, r *row) string { return r.Durability }},
		{"settings", func(_ workload, r *row) string { return r.Settings }},
		{"jobs/s", func(_ workload, r *row) string { return number(r.PerSecond) }},
		{"p50 ms", func(_ workload, r *row) string { return number(r.P50) }},
		{"p99 ms", func(_ workload, r *row) string { return number(r.P99) }},
		{"p99.9 ms", func(_ workload, r *row) string { return number(r.P999) }},
	}
	if w.metric.unit == cost.unit {
		list = append(list, column{cost.unit, func(_ workload, r *row) string { return number(cost.value(r.result)) }})
	}
	list = append(list,
		column{spread(w.metric), func(_ workload, r *row) string {
			if r.counted < 2 {
				return ""
			}
			return number(r.min) + " .. " + number(r.max)
		}},
		column{"of the raw loop", func(w workload, r *row) string {
			l := w.limitOf(r)
			if l == nil || l == r {
				return ""
			}
			if w.metric.isLess {
				return factorText(w.value(r) / w.value(l))
			}
			return factorText(w.factor(r, l))
		}},
		column{"of the first variant", func(w workload, r *row) string {
			plain := w.plainOf(r)
			if plain == nil || plain == r {
				return ""
			}
			if w.metric.isLess {
				return factorText(w.value(r) / w.value(plain))
			}
			return factorText(w.factor(r, plain))
		}},
		column{"over the best peer", func(w workload, r *row) string {
			p := w.peerOf(r)
			if r.System != ours || p == nil {
				return ""
			}
			return factorText(w.factor(r, p)) + " (" + p.System + ")"
		}},
		column{"CPU/job us", func(w workload, r *row) string { return microsecondsPerJob(w, r, r.CPU) }},
		column{"server's us", func(w workload, r *row) string { return microsecondsPerJob(w, r, r.ServerCPU) }},
		column{"peak MB", func(_ workload, r *row) string { return number(r.PeakRSS) }},
		column{"least share", func(_ workload, r *row) string {
			if r.LeastShare == nil {
				return ""
			}
			return share(*r.LeastShare)
		}},
		column{"errors", func(_ workload, r *row) string { return count(r.Errors) }},
		column{"duplicates", func(_ workload, r *row) string { return count(r.Duplicates) }},
		column{"n", func(_ workload, r *row) string { return count(r.N) }},
		column{"processes", func(_ workload, r *row) string { return count(r.Processes) }},
		column{"slots", func(_ workload, r *row) string { return count(r.Concurrent) }},
		column{"rounds", func(_ workload, r *row) string {
			if r.counted < r.rounds {
				return fmt.Sprintf("%d of %d", r.counted, r.rounds)
			}
			return count(r.rounds)
		}},
	)
	others := map[string]bool{}
	for _, r := range w.rows {
		for key := range r.Others {
			others[key] = true
		}
	}
	for _, key := range slices.Sorted(maps.Keys(others)) {
		list = append(list, column{key, func(_ workload, r *row) string {
			if v, ok := r.Others[key]; ok && v == 0 {
				return "0"
			}
			return number(r.Others[key])
		}})
	}
	return list
}

// versioned leaves out the version of sqluice: the revision stands above.
func versioned(r *row) string {
	if !isPeer(r) {
		return r.System
	}
	return strings.TrimSpace(r.System + " " + r.Version)
}

// spread names the column of the least and the greatest round.
func spread(m metric) string {
	if m.unit == latency.unit {
		return "p50 min .. max"
	}
	return "min .. max"
}

func factorText(v float64) string {
	if v == 0 {
		return ""
	}
	if v >= 10 {
		return number(v)
	}
	return fmt.Sprintf("%.2f", v)
}

func microsecondsPerJob(w workload, r *row, seconds float64) string {
	if w.metric.unit == cost.unit || w.metric.unit == latency.unit && r.PerSecond == 0 || r.N == 0 {
		return "" // it was nearly idle
	}
	return number(seconds * 1e6 / float64(r.N))
}

// table returns the table of the workload.
func (w workload) table() string {
	var t table
	t.left = 4
	t.rows = make([][]string, len(w.rows))
	for _, c := range columns(w) {
		cells := make([]string, len(w.rows))
		isEmpty := true
		for i, r := range w.rows {
			cells[i] = c.cell(w, r)
			isEmpty = isEmpty && cells[i] == ""
		}
		if isEmpty {
			if len(t.header) < t.left {
				t.left--
			}
			continue
		}
		t.header = append(t.header, c.title)
		for i, cell := range cells {
			t.rows[i] = append(t.rows[i], cell)
		}
	}
	return t.String()
}

// plainText escapes Markdown.
func plainText() *strings.Replacer {
	return strings.NewReplacer("|", `\|`, "<", "&lt;", "[", `\[`, "]", `\]`)
}

// table formats a table in Markdown; the first columns, which hold words, are aligned to the left.
type table struct {
	header []string
	left   int
	rows   [][]string
}

func (t table) String() string {
	var out strings.Builder
	plain := plainText()
	line := func(cells []string) {
		for _, cell := range cells {
			if cell != "" {
				cell = " " + plain.Replace(cell)
			}
			out.WriteString("|" + cell + " ")
		}
		out.WriteString("|\n")
	}
	line(t.header)
	for i := range t.header {
		if i < t.left {
			out.WriteString("| --- ")
		} else {
			out.WriteString("| ---: ")
		}
	}
	out.WriteString("|\n")
	for _, cells := range t.rows {
		line(cells)
	}
	return out.String()
}
