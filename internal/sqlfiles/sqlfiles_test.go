package sqlfiles

import (
	"strings"
	"testing"
)

func TestControl(t *testing.T) {
	for _, engine := range []string{"sqlite", "postgres"} {
		control := Control(engine)
		if text := control("begin"); !strings.HasPrefix(text, "BEGIN") || strings.TrimSpace(text) != text {
			t.Errorf("begin on %s is %q", engine, text)
		}
		allocations := testing.AllocsPerRun(100, func() { control("begin") })
		if allocations != 0 {
			t.Errorf("a statement of %s that was read before takes %v allocations", engine, allocations)
		}
		func() {
			defer func() {
				if p := recover(); p != "no statement of "+engine+" is called nothing" {
					t.Errorf("a missing statement of %s: %v", engine, p)
				}
			}()
			control("nothing")
		}()
	}
}
