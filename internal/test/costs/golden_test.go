package costs

import (
	"flag"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
)

var update = flag.Bool("update", false, "write the golden files anew")

// figure is the cost of something.
type figure struct {
	name  string
	value float64
}

// figures of one sort. Those that vary between runs may exceed the golden file by a share.
type figures struct {
	more float64 // 0 means exactly
	list []figure
	few  float64 // this much more is allowed as well, for small figures
}

// add records a figure, to a tenth.
func (f *figures) add(value float64, name string) {
	f.list = append(f.list, figure{name, math.Round(10*value) / 10})
}

func (f *figures) head(file string) string {
	rule := "The figures hold exactly."
	if f.more > 0 {
		rule = fmt.Sprintf("The figures may be up to %.0f %% more.", 100*f.more)
		if f.few > 0 {
			rule = fmt.Sprintf("The figures may be up to %.0f %% more, or %.0f.", 100*f.more, f.few)
		}
	}
	return fmt.Sprintf("%s: written by `go test ./internal/test/costs -update`. DO NOT EDIT. %s\n\n", file, rule)
}

func (f *figures) text(file string) string {
	var text strings.Builder
	text.WriteString(f.head(file))
	for _, one := range f.list {
		fmt.Fprintf(&text, "%-70s %s\n", one.name, number(one.value))
	}
	return text.String()
}

func number(v float64) string { return strconv.FormatFloat(v, 'f', -1, 64) }

// faults returns the differences between the figures and a golden file's text.
func (f *figures) faults(file, golden string) ([]string, error) {
	body, ok := strings.CutPrefix(golden, f.head(file))
	if !ok {
		return []string{"the head is another"}, nil
	}
	wants := map[string]float64{}
	for line := range strings.Lines(body) {
		name, value, ok := cutLast(strings.TrimSpace(line))
		v, err := strconv.ParseFloat(value, 64)
		if !ok || err != nil {
			return nil, fmt.Errorf("the line %q holds no figure", line)
		}
		wants[name] = v
	}
	var list []string
	for _, one := range f.list {
		want, ok := wants[one.name]
		delete(wants, one.name)
		switch {
		case !ok:
			list = append(list, fmt.Sprintf("%s: %s, which the file does not have", one.name, number(one.value)))
		case f.more == 0 && one.value != want:
			list = append(list, fmt.Sprintf("%s: %s, in the file %s", one.name, number(one.value), number(want)))
		case one.value > max(want*(1+f.more), want+f.few):
			list = append(list, fmt.Sprintf("%s: %s, in the file %s, and at most %.0f %% more is allowed",
				one.name, number(one.value), number(want), 100*f.more))
		}
	}
	for name, want := range wants {
		list = append(list, fmt.Sprintf("%s: no such figure any more, in the file %s", name, number(want)))
	}
	return list, nil
}

// cutLast cuts a line before its last word.
func cutLast(line string) (before, last string, ok bool) {
	i := strings.LastIndexByte(line, ' ')
	if i < 0 {
		return "", "", false
	}
	return strings.TrimSpace(line[:i]), line[i+1:], true
}

// tries is the number of measurements before a cost counts as higher: on a machine that stands still for seconds the
// queue's work by the clock adds to it, but a real rise shows each time.
const tries = 3

// hold compares the measured figures with a golden file, or writes the file with -update.
func hold(t *testing.T, file string, measure func() *figures) {
	t.Helper()
	path := filepath.Join("testdata", file)
	if *update {
		must(t, os.WriteFile(path, []byte(measure().text(file)), 0o644))
		return
	}
	golden, err := os.ReadFile(path)
	must(t, err)
	var faults []string
	for range tries {
		faults, err = measure().faults(file, string(golden))
		must(t, err)
		if len(faults) == 0 {
			return
		}
		t.Logf("measured again because of: %s", strings.Join(faults, "; "))
	}
	for _, fault := range faults {
		t.Error(fault)
	}
	t.Errorf("%s is not what was measured, %d times; if that is as it should be: go test ./internal/test/costs -update", path, tries)
}

func TestGoldenFilesTellWhatIsDearer(t *testing.T) {
	text := func(more float64, list ...figure) string { return (&figures{more: more, list: list}).text("x.txt") }
	few := func(list ...figure) string { return (&figures{more: 0.1, few: 3, list: list}).text("x.txt") }
	for name, test := range map[string]struct {
		have   figures
		golden string
		want   int
	}{
		"the same":            {figures{more: 0, list: []figure{{"a b", 1}}}, text(0, figure{"a b", 1}), 0},
		"more":                {figures{more: 0, list: []figure{{"a b", 2}}}, text(0, figure{"a b", 1}), 1},
		"less":                {figures{more: 0, list: []figure{{"a b", 0.5}}}, text(0, figure{"a b", 1}), 1},
		"a new one":           {figures{more: 0, list: []figure{{"a b", 1}, {"c", 0}}}, text(0, figure{"a b", 1}), 1},
		"one that is gone":    {figures{}, text(0, figure{"a b", 1}), 1},
		"a little more":       {figures{more: 0.1, list: []figure{{"a b", 109.9}}}, text(0.1, figure{"a b", 100}), 0},
		"too much more":       {figures{more: 0.1, list: []figure{{"a b", 110.1}}}, text(0.1, figure{"a b", 100}), 1},
		"less than it was":    {figures{more: 0.1, list: []figure{{"a b", 10}}}, text(0.1, figure{"a b", 100}), 0},
		"a few more":          {figures{more: 0.1, few: 3, list: []figure{{"a b", 8}}}, few(figure{"a b", 5}), 0},
		"more than a few":     {figures{more: 0.1, few: 3, list: []figure{{"a b", 9}}}, few(figure{"a b", 5}), 1},
		"a wider rule":        {figures{more: 0.2, list: []figure{{"a b", 1}}}, text(0.1, figure{"a b", 1}), 1},
		"no rule in the file": {figures{more: 0.1, list: []figure{{"a b", 1}}}, text(0, figure{"a b", 1}), 1},
	} {
		faults, err := test.have.faults("x.txt", test.golden)
		if err != nil || len(faults) != test.want {
			t.Errorf("%s: %d faults, want %d: %q, %v", name, len(faults), test.want, faults, err)
		}
	}
	if _, err := (&figures{}).faults("x.txt", text(0)+"nothing\n"); err == nil {
		t.Error("a line without a figure is taken")
	}
}
