package migration

import (
	"slices"
	"strings"
	"testing"
	"testing/fstest"
)

// set returns migrations of the project, of which the last three record themselves, and one of the owner.
func set(t *testing.T) Set {
	t.Helper()
	files := fstest.MapFS{"20261128120000_region.sql": {Data: []byte("ALTER")}}
	for _, name := range []string{
		"00001_a", "00002_a", "00003_a", "00004_a", "00005_a", "00006_a", "00007_a", "00008_a",
		"00009_a", "00010_a", "00011_a", "00012_a", "00013_a", "00014_a", "00015_a", "00016_a",
	} {
		files[name+".sql"] = &fstest.MapFile{}
	}
	for name, row := range map[string]string{"00017_a": "(17, 17)", "00018_a": "(18, 17)", "00019_a": "(19, 19)"} {
		files[name+".sql"] = &fstest.MapFile{Data: []byte("INSERT INTO sqluice_schema_versions (version, runs_from) VALUES " + row + ";")}
	}
	s, err := Read(files)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

const to16 = "1,2,3,4,5,6,7,8,9,10,11,12,13,14,15,16"

func TestCompare(t *testing.T) {
	for name, test := range map[string]struct {
		applied, recorded string
		have, refuses     int64
		pending, own      []int64
		fault             string
	}{
		"no schema":                   {"", "", 0, 0, []int64{1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20261128120000}, nil, "has no sqluice schema"},
		"before the rule":             {to16, "", 16, 19, []int64{17, 18, 19, 20261128120000}, nil, "version 16, older than the 19"},
		"up to date":                  {to16 + ",17,18,19,20261128120000", "17:17,18:17,19:19", 19, 0, nil, []int64{20261128120000}, ""},
		"in another order":            {"20261128120000,19,18,17," + to16, "19:19,18:17,17:17", 19, 0, nil, []int64{20261128120000}, ""},
		"an own one is missing":       {to16 + ",17,18,19", "17:17,18:17,19:19", 19, 0, []int64{20261128120000}, nil, "lacks the migration 20261128120000"},
		"one below an own one":        {to16 + ",17,20261128120000", "17:17", 17, 19, []int64{18, 19}, []int64{20261128120000}, "version 17, older than the 19"},
		"another own one":             {to16 + ",17,18,19,20261128120000,20270101000000", "17:17,18:17,19:19", 19, 0, nil, []int64{20261128120000, 20270101000000}, ""},
		"a hole":                      {to16 + ",18,19,20261128120000", "18:17,19:19", 16, 17, []int64{17}, []int64{20261128120000}, "version 16, older than the 19"},
		"newer and compatible":        {to16 + ",17,18,19,20,20261128120000", "17:17,18:17,19:19,20:19", 20, 0, nil, []int64{20261128120000}, ""},
		"newer and not compatible":    {to16 + ",17,18,19,20,21,20261128120000", "17:17,18:17,19:19,20:20,21:19", 21, 0, nil, []int64{20261128120000}, "newer than the 19 this program knows, and runs programs from version 20 on"},
		"newer, with a hole above":    {to16 + ",17,18,19,21,20261128120000", "17:17,18:17,19:19,21:20", 21, 0, nil, []int64{20261128120000}, "newer than the 19"},
		"newer, an own one is absent": {to16 + ",17,18,19,20", "17:17,18:17,19:19,20:19", 20, 0, []int64{20261128120000}, nil, "lacks the migration 20261128120000"},
	} {
		t.Run(name, func(t *testing.T) {
			found, err := set(t).Compare(test.applied, test.recorded)
			if err != nil {
				t.Fatal(err)
			}
			if found.Have != test.have || found.Want != 19 || found.Refuses != test.refuses {
				t.Errorf("the schema is %+v", found)
			}
			if !slices.Equal(found.Pending, test.pending) || !slices.Equal(found.Own, test.own) {
				t.Errorf("pending %v, the owner's %v", found.Pending, found.Own)
			}
			switch err := found.Check(); {
			case test.fault == "" && err != nil:
				t.Errorf("the program is refused: %v", err)
			case test.fault != "" && (err == nil || !strings.Contains(err.Error(), test.fault)):
				t.Errorf("the program gets %v, not %q", err, test.fault)
			}
		})
	}
}

// A version in the range of the project that added no row is no migration of the project.
func TestCompareNamesForeignVersions(t *testing.T) {
	for applied, recorded := range map[string]string{to16 + ",17,18": "17:17", to16 + ",17,18,19,20": "17:17,18:17,19:19", to16 + ",17": ""} {
		if _, err := set(t).Compare(applied, recorded); err == nil || !strings.Contains(err.Error(), "is not of sqluice") {
			t.Errorf("%s gives %v", applied, err)
		}
	}
}

func TestCompareRefusesOtherTexts(t *testing.T) {
	for _, texts := range [][2]string{{"1,x", ""}, {"1", "17"}, {"1", "x:17"}, {"1", "17:x"}} {
		if _, err := set(t).Compare(texts[0], texts[1]); err == nil {
			t.Errorf("%q is taken", texts)
		}
	}
}

func TestReadRefusesOtherNames(t *testing.T) {
	for _, name := range []string{"jobs.sql", "x_jobs.sql", "00000_jobs.sql", "-1_jobs.sql"} {
		if _, err := Read(fstest.MapFS{name: {}}); err == nil {
			t.Errorf("%s is taken", name)
		}
	}
}

func TestRunsFromNamesFilesWithoutARow(t *testing.T) {
	for name, text := range map[string]string{
		"00018_none.sql":  "ALTER TABLE",
		"00018_other.sql": "INSERT INTO sqluice_schema_versions (version, runs_from) VALUES (17, 17);",
	} {
		s, err := Read(fstest.MapFS{name: {Data: []byte(text)}})
		if err != nil {
			t.Fatal(err)
		}
		if _, err := s.RunsFrom(18); err == nil || !strings.Contains(err.Error(), name) {
			t.Errorf("%s gives %v", name, err)
		}
	}
	if _, err := set(t).RunsFrom(99); err == nil {
		t.Error("a migration that is not there is taken")
	}
}
