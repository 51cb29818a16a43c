package tsclient

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestGrafanaDashboard checks the dashboard's file against the types of Grafana's own schema, which know every field of
// a dashboard and the shared fields of its panels.
func TestGrafanaDashboard(t *testing.T) {
	folder := modules(t, "grafana.d.ts")
	text, err := os.ReadFile("../../../docs/grafana/sqluice.json")
	must(t, err)
	if output, err := checkDashboard(t, folder, text); err != nil {
		t.Errorf("Grafana's types refuse the dashboard: %v\n%s", err, output)
	}
	// The check finds a fault.
	for _, c := range []struct{ field, wrong, says string }{
		{`"schemaVersion": 39`, `"schemaVersion": "39"`, "not assignable to type 'number'"},
		{`"title": "sqluice"`, `"titel": "sqluice"`, "titel"},
	} {
		changed := bytes.Replace(text, []byte(c.field), []byte(c.wrong), 1)
		if bytes.Equal(changed, text) {
			t.Fatalf("the dashboard has no %s", c.field)
		}
		if output, err := checkDashboard(t, folder, changed); err == nil || !strings.Contains(string(output), c.says) {
			t.Errorf("of %s in place of %s Grafana's types say %v: %s", c.wrong, c.field, err, output)
		}
	}
}

func checkDashboard(t *testing.T, folder string, text []byte) (output []byte, err error) {
	t.Helper()
	program := fmt.Sprintf("import type { DashboardFile } from './grafana.js'\nexport const dashboard = %s satisfies DashboardFile\n", bytes.TrimSpace(text))
	must(t, os.WriteFile(filepath.Join(folder, "dashboard.ts"), []byte(program), 0o600))
	return run(t, folder, "node", "node_modules/typescript/bin/tsc", "--noEmit", "--strict", "--skipLibCheck", "--target", "es2022",
		"--module", "nodenext", "--moduleResolution", "nodenext", "dashboard.ts")
}
