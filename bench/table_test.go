package main

import (
	"strings"
	"testing"
)

// cells returns the cells of the table, without its heads.
func cells(t *testing.T, all []result) [][]string {
	t.Helper()
	var out strings.Builder
	if err := table(&out, all); err != nil {
		t.Fatal(err)
	}
	_, body, _ := strings.Cut(out.String(), "duplicates\n")
	var rows [][]string
	for line := range strings.Lines(body) {
		var row []string
		for _, cell := range strings.Split(strings.TrimRight(line, "\n"), "  ") {
			if cell = strings.TrimSpace(cell); cell != "" {
				row = append(row, cell)
			}
		}
		rows = append(rows, row)
	}
	return rows
}

// The columns that the tests look at.
const (
	columnWorkload, columnSystem, columnSettings, columnRate, columnRatio = 1, 2, 3, 5, 6

	columnShare, columnErrors, columnDuplicates = 16, 17, 18
)

func TestTable(t *testing.T) {
	share := func(f float64) *float64 { return &f }
	one := func(system, workload string, perSecond float64) result {
		return result{System: system, Engine: onSQLite, Settings: "default", Workload: workload, Durability: durabilityNormal, JobsPerSecond: perSecond, Seconds: 1}
	}
	broken := one(sqluice, "drain", 1)
	broken.Error, broken.Errors = "it hung", 1
	all := []result{
		one(rawLoop, "drain", 100), one(sqluice, "drain", 50), one(sqluice, "idle", 0),
		one(sqluice, "drain", 90), one(rawLoop, "drain", 300), broken, // systems take turns
		one(rawLoop, "drain", 200), one(sqluice, "drain", 60),
	}
	all[1].LeastShare, all[3].LeastShare, all[3].Duplicates = share(0.5), share(0), 2
	full := one(sqluice, "drain", 40)
	full.Durability = durabilityFull
	all = append(all, full)
	rows := cells(t, all)
	want := [][]string{ // system, workload, rate, ratio, least share, errors, duplicates
		{rawLoop, "drain", "200", "1.00", "-", "0", "0"},
		{sqluice, "drain", "60", "0.30", "0.00", "1", "2"},
		{sqluice, "idle", "-", "-", "-", "0", "0"},
		{sqluice, "drain", "40", "1.00", "-", "0", "0"}, // full durability is compared with itself
	}
	if len(rows) != len(want) {
		t.Fatalf("%d lines, not %d: %q", len(rows), len(want), rows)
	}
	for i, row := range rows {
		got := []string{row[columnSystem], row[columnWorkload], row[columnRate], row[columnRatio], row[columnShare], row[columnErrors], row[columnDuplicates]}
		if strings.Join(got, "|") != strings.Join(want[i], "|") {
			t.Errorf("line %d is %q, not %q", i+1, got, want[i])
		}
	}
}

func TestTableOfWorkloadsAlone(t *testing.T) {
	one := func(system, settings string, perSecond float64) result {
		return result{System: system, Settings: settings, Workload: "drain beside a backlog", JobsPerSecond: perSecond, alone: true}
	}
	rows := cells(t, []result{
		one(rawLoop, "empty", 100), one(rawLoop, "beside", 90), one(sqluice, "empty", 50), one(sqluice, "beside", 48),
	})
	var got []string
	for _, row := range rows {
		// engine and durability are empty here, and empty cells are left out
		got = append(got, row[1]+" "+row[2]+" "+row[4])
	}
	if want := "raw loop empty 1.00, raw loop beside 0.90, sqluice empty 1.00, sqluice beside 0.96"; strings.Join(got, ", ") != want {
		t.Errorf("%s, not %s", strings.Join(got, ", "), want)
	}
}
