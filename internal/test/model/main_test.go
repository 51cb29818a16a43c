package model

import (
	"flag"
	"os"
	"testing"
)

// fewChecks is the default number of sequences: rapid's own default takes too long for every run.
const fewChecks = "30"

func TestMain(m *testing.M) {
	flag.Parse()
	checks := flag.Lookup("rapid.checks")
	given := checks.DefValue != "100" // by RAPID_CHECKS
	flag.Visit(func(f *flag.Flag) { given = given || f == checks })
	if !given {
		if err := checks.Value.Set(fewChecks); err != nil {
			panic(err)
		}
	}
	os.Exit(m.Run())
}
