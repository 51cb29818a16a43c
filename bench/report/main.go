// Command report turns the results of the benchmarks, JSON lines, into docs/performance.md.
//
//	go run ./report -machine >results/machine.json    # the first line: what the machine is
//	go run . -peers -all -out results/run.jsonl
//	cat results/machine.json results/run.jsonl >results/latest.jsonl
//	go run ./report -in results/latest.jsonl -out ../docs/performance.md
//
// The same input gives the same output, byte for byte. Text other than figures is in notes.md.
package main

import (
	"context"
	_ "embed"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"os"
)

//go:embed notes.md
var notesFile string

func main() {
	var in, out string
	var describe bool
	flag.StringVar(&in, "in", "", "the file of results")
	flag.StringVar(&out, "out", "", "the Markdown file to write")
	flag.BoolVar(&describe, "machine", false, "print the line that describes this machine, and nothing else")
	flag.Parse()
	if err := run(in, out, describe); err != nil {
		fmt.Fprintln(os.Stderr, "report:", err)
		os.Exit(1)
	}
}

func run(in, out string, describe bool) error {
	if describe {
		m, err := describeMachine(context.Background())
		if err != nil {
			return err
		}
		return json.NewEncoder(os.Stdout).Encode(machineLine{Machine: m})
	}
	if in == "" || out == "" {
		return errors.New("-in and -out are needed, or -machine alone")
	}
	file, err := os.Open(in)
	if err != nil {
		return err
	}
	defer file.Close()
	all, err := read(file)
	if err != nil {
		return fmt.Errorf("%s: %w", in, err)
	}
	return write(all, out)
}

// write writes the page.
func write(all results, out string) error {
	notes, err := parseNotes(notesFile)
	if err != nil {
		return err
	}
	text, err := page(all, arrange(all.list), notes)
	if err != nil {
		return err
	}
	return os.WriteFile(out, text, 0o644)
}
