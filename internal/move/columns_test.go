package move

import (
	"fmt"
	"testing"

	"github.com/sqluice/sqluice/internal/queue/engine"
)

// A column that the owner of one side or of both has added is refused by name, before a side is closed, and left behind when the caller
// says so.
func testOwnColumns(l *lab) {
	l.enqueue(l.from, 3)
	l.to.own(l.T)
	l.refused(l.config(), ErrOwnColumns, "target "+l.to.name+": sqluice_jobs.region")
	l.from.own(l.T)
	l.refused(l.config(), ErrOwnColumns, "source "+l.from.name+": sqluice_jobs.region; ", "target "+l.to.name+": sqluice_jobs.region")
	c := l.config()
	c.DropColumns = true
	report := l.moves(c)
	if have := fmt.Sprint(report.Left); have != "[sqluice_jobs.region]" {
		l.Errorf("the columns left behind are %s", have)
	}
	if n := len(l.everything(l.to).jobs); n != 3 {
		l.Errorf("the target has %d jobs", n)
	}
}

// No column of the migrations counts as one of the owner.
func testNoOwnColumns(l *lab) {
	for _, p := range []*place{l.from, l.to} {
		side := l.side(p)
		columns, err := side.Store.Columns(l.ctx)
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
	if columns, err := engine.ParseColumns(`[["t", "a\"b"]]`); err != nil || fmt.Sprint(columns) != `[{t a"b}]` {
		t.Errorf("the columns are %v, %v", columns, err)
	}
	if _, err := engine.ParseColumns("x"); err == nil {
		t.Error("another text gives no error")
	}
}
