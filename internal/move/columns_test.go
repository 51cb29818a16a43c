package move

import (
	"fmt"
	"testing"

	"github.com/sqluice/sqluice/internal/queue/engine"
)

// Columns that the owners of both sides have added are copied and compared. A column of one side is refused by name, before a side is closed.
func testOwnColumns(l *lab) {
	l.enqueue(l.from, 3)
	l.from.own(l.T)
	l.from.values(l.T)
	l.refused(l.config(), ErrOwnColumns, "source "+l.from.name+": sqluice_jobs.region, sqluice_jobs.size, sqluice_jobs.share")
	l.to.own(l.T)
	if report := l.moves(l.config()); len(report.Left) > 0 {
		l.Errorf("the columns left behind are %s", report.Left)
	}
	for name, wanted := range map[string][]string{
		"region": {`"north"`, `"so\"uth 2"`, `"so\"uth 3"`}, "size": {"null", "2000", "3000"}, "share": {"null", "0.1", "0.1"},
	} {
		values, err := l.side(l.to).Store.Migrations().ReadColumn(l.ctx, engine.Column{Table: "sqluice_jobs", Name: name}, first, 10)
		l.must(err)
		if len(values) < len(wanted) { // one more row may keep an id from reuse
			l.Fatalf("%s has the values %v", name, values)
		}
		for i, v := range values[:len(wanted)] {
			if !sameValue(v.Value, []byte(wanted[i])) {
				l.Errorf("%s of row %d is %s, not %s", name, v.ID, v.Value, wanted[i])
			}
		}
	}
}

// The values of a column that one side has are left behind when the caller says so.
func testOwnColumnsLeft(l *lab) {
	l.enqueue(l.from, 3)
	l.from.own(l.T)
	c := l.config()
	c.DropColumns = true
	report := l.moves(c)
	if have := fmt.Sprint(report.Left); have != "[sqluice_jobs.region sqluice_jobs.share sqluice_jobs.size]" {
		l.Errorf("the columns left behind are %s", have)
	}
	if n := len(l.everything(l.to).jobs); n != 3 {
		l.Errorf("the target has %d jobs", n)
	}
}

func TestSameValue(t *testing.T) {
	for _, test := range []struct {
		a, b string
		same bool
	}{
		{"null", "null", true}, {"null", `""`, false}, {"true", "1", true}, {"false", "1", false}, {"1.50", "1.5", true}, {`"0.10000000000000001"`, "0.1", true},
		{`"a"`, `"a"`, true}, {`"a"`, `"b"`, false}, {"2000", "2001", false}, {`[1, 2]`, `"[1,2]"`, true},
	} {
		if same := sameValue([]byte(test.a), []byte(test.b)); same != test.same {
			t.Errorf("%s and %s are the same: %t", test.a, test.b, same)
		}
	}
}

// No column of the migrations counts as one of the owner.
func testNoOwnColumns(l *lab) {
	for _, p := range []*place{l.from, l.to} {
		side := l.side(p)
		columns, err := side.Store.Migrations().Columns(l.ctx)
		l.must(err)
		if len(columns) < 100 {
			l.Errorf("%s has %d columns", p.name, len(columns))
		}
		own, err := side.ownColumns(l.ctx)
		l.must(err)
		if len(own) > 0 {
			l.Errorf("the columns %v count as the owner's", own)
		}
	}
}

func TestParseColumns(t *testing.T) {
	if columns, err := engine.ParseColumns(`[["t", "a\"b"]]`); err != nil || fmt.Sprint(columns) != `[t.a"b]` {
		t.Errorf("the columns are %v, %v", columns, err)
	}
	if _, err := engine.ParseColumns("x"); err == nil {
		t.Error("another text gives no error")
	}
}
