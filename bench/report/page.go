package main

import (
	_ "embed"
	"fmt"
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
	Targets      string
	Causes       []cause
	Workloads    string
	Failures     []string
	LeftOut      []string
}

// cause says why a target was missed.
type cause struct{ Title, Text string }

func page(all results, workloads []workload, texts notes) ([]byte, error) {
	data := pageData{
		Machine: all.machine, Introduction: texts[introduction], Method: texts[method],
		Workloads: workloadTable(workloads), Failures: failures(workloads), LeftOut: leftOut(all.remarks),
	}
	data.Targets, data.Causes = targetTable(workloads, texts)
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

// targetTable returns the table of targets with the measured figures, and the causes of the missed ones.
func targetTable(workloads []workload, texts notes) (string, []cause) {
	var causes []cause
	t := table{header: []string{"workload", "figure", "target", "reached", "result"}, left: 2}
	for _, wanted := range targets() {
		o := wanted.check(workloads)
		cells := []string{wanted.title(), wanted.figure.name, bound(wanted), "not measured", ""}
		if o.value != 0 {
			cells[3], cells[4] = wanted.figure.show(o.value), "met"
			if o.other != nil {
				cells[3] += " (" + o.other.System + ")"
			}
			if !o.isMet {
				cells[4] = "**missed**"
				causes = addCause(causes, wanted.title(), texts)
			}
		}
		t.rows = append(t.rows, cells)
	}
	return t.String(), causes
}

func bound(t target) string {
	sign := "at least "
	if t.figure.isMost {
		sign = "at most "
	}
	return sign + strconv.FormatFloat(t.bound, 'f', -1, 64)
}

func addCause(list []cause, title string, texts notes) []cause {
	if slices.ContainsFunc(list, func(c cause) bool { return c.Title == title }) {
		return list
	}
	text := texts[title]
	if text == "" {
		text = "The cause has not been written down yet."
	}
	return append(list, cause{title, text})
}

// workloadTable returns the table of all workloads: a row for each engine, durability and variant of each.
func workloadTable(workloads []workload) string {
	t := table{header: []string{
		"workload", "engine", "sqluice", "min .. max", "raw loop", "sqluice / raw loop", "best peer", "sqluice / peer", "CPU, us a job", "rounds",
	}, left: 2}
	for _, w := range workloads {
		for i, r := range w.rows {
			if !slices.ContainsFunc(w.rows[:i], func(former *row) bool { return isComparable(former, r) }) {
				t.rows = append(t.rows, w.cells(r))
			}
		}
	}
	return t.String()
}

// cells returns the cells for sqluice, the raw loop and the best peer that are comparable with a row.
func (w workload) cells(r *row) []string {
	own, loop, peer := w.oursOf(r), w.limitOf(r), w.peerOf(r)
	cells := []string{w.name, engineOf(r), "", "", w.figure(loop), factorText(w.ratio(own, loop)), "", factorText(w.ratio(own, peer)), "", ""}
	if r.variant != "" {
		cells[0] += ": " + r.variant
	}
	if peer != nil {
		cells[6] = w.figure(peer) + " (" + nameOf(peer) + ")"
	}
	if own == nil {
		return cells
	}
	if cells[2] = w.figure(own); own.counted == 0 {
		cells[2] = "failed"
	}
	if own.counted > 1 {
		cells[3] = number(own.min) + " .. " + number(own.max)
	}
	cells[8], cells[9] = w.perJob(own), roundsOf(own)
	return cells
}

// figure returns the main figure of a row with its unit, which rates lack.
func (w workload) figure(r *row) string {
	if w.value(r) == 0 {
		return ""
	}
	return number(w.value(r)) + w.metric.unit
}

// perJob returns the processor time of a job, of the clients and of the server. A workload that is nearly idle has none.
func (w workload) perJob(r *row) string {
	if r.PerSecond == 0 || r.N == 0 {
		return ""
	}
	text := number(r.CPU * 1e6 / float64(r.N))
	if r.ServerCPU > 0 {
		text += " + " + number(r.ServerCPU*1e6/float64(r.N))
	}
	return text
}

func roundsOf(r *row) string {
	if r.counted < r.rounds {
		return fmt.Sprintf("%d of %d", r.counted, r.rounds)
	}
	return strconv.Itoa(r.rounds)
}

// engineOf names the durability where it is not the engine's default.
func engineOf(r *row) string {
	if sameDurability(r, &row{result: result{Engine: r.Engine}}) {
		return r.Engine
	}
	return r.Engine + ", durability " + r.Durability
}

// nameOf names a peer with its version, and its settings when they are not the best ones.
func nameOf(r *row) string {
	name := strings.TrimSpace(r.System + " " + r.Version)
	if r.Settings == "best" {
		return name
	}
	return name + ", " + r.Settings
}

// failures names the rows of all systems with errors, duplicates, or rounds without a figure.
func failures(workloads []workload) []string {
	var list []string
	for _, w := range workloads {
		for _, r := range w.rows {
			var what []string
			if r.counted < r.rounds {
				what = append(what, "rounds with a figure: "+roundsOf(r))
			}
			if r.Errors > 0 {
				what = append(what, "errors: "+count(r.Errors))
			}
			if r.Duplicates > 0 {
				what = append(what, "duplicates: "+count(r.Duplicates))
			}
			if what = append(what, r.failures...); len(what) > 0 {
				list = append(list, plainText().Replace(w.name+", "+engineOf(r)+", "+nameOf(r)+": "+strings.Join(what, "; ")))
			}
		}
	}
	return list
}

// leftOut returns the remarks on what was not measured. Workloads that a system leaves out for one reason share a line.
func leftOut(remarks []string) []string {
	var list []string
	places := map[string]int{} // of the first workload's line, by the system and the reason
	for _, remark := range remarks {
		text, ok := strings.CutPrefix(remark, "NOT MEASURED")
		if !ok {
			continue
		}
		text = strings.TrimPrefix(strings.TrimPrefix(text, ": "), " on ")
		who, rest, _ := strings.Cut(text, `, in "`)
		workload, why, isOfWorkload := strings.Cut(rest, `": `)
		if at, ok := places[who+why]; ok && isOfWorkload {
			list[at] = strings.TrimSuffix(list[at], ": "+why) + "; " + workload + ": " + why
			continue
		}
		if isOfWorkload {
			places[who+why] = len(list)
			text = who + ", in " + workload + ": " + why
		}
		list = append(list, text)
	}
	for i := range list {
		list[i] = plainText().Replace(list[i])
	}
	return list
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
