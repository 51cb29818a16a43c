package main

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
)

// result is a line: a run of a system in a workload. Lines have more figures, which the page leaves out.
type result struct {
	System     string  `json:"system"`
	Version    string  `json:"version"`
	Engine     string  `json:"engine"`
	Settings   string  `json:"settings"`
	Workload   string  `json:"workload"`
	Durability string  `json:"durability"`
	Round      int     `json:"round"`
	N          int     `json:"n"`
	PerSecond  float64 `json:"jobs_per_second"`
	P50        float64 `json:"p50_ms"`
	P99        float64 `json:"p99_ms"`
	CPU        float64 `json:"cpu_seconds"`
	ServerCPU  float64 `json:"server_cpu_seconds"`
	Seconds    float64 `json:"seconds"`
	Errors     int     `json:"errors"`
	Duplicates int     `json:"duplicates"`
	Error      string  `json:"error"` // why there are no figures
}

// machineLine is the first line.
type machineLine struct {
	Machine machine `json:"machine"`
}

// results holds the lines of a file.
type results struct {
	machine machine
	list    []result
	remarks []string // remarks of the harness on systems that it could not measure
}

// read reads JSON lines. Lines that begin with # are remarks of the harness.
func read(in io.Reader) (results, error) {
	var all results
	lines := bufio.NewScanner(in)
	lines.Buffer(nil, 1<<20)
	for number := 1; lines.Scan(); number++ {
		line := strings.TrimSpace(lines.Text())
		if remark, ok := strings.CutPrefix(line, "#"); ok {
			if remark = strings.TrimSpace(remark); !slices.Contains(all.remarks, remark) {
				all.remarks = append(all.remarks, remark)
			}
			continue
		}
		if line == "" {
			continue
		}
		if err := all.add([]byte(line)); err != nil {
			return results{}, fmt.Errorf("line %d: %w", number, err)
		}
	}
	if err := lines.Err(); err != nil {
		return results{}, err
	}
	if all.machine == (machine{}) {
		return results{}, errors.New("no line describes the machine")
	}
	if len(all.list) == 0 {
		return results{}, errors.New("no line has a result")
	}
	return all, nil
}

func (all *results) add(line []byte) error {
	var fields map[string]json.RawMessage
	if err := json.Unmarshal(line, &fields); err != nil {
		return err
	}
	if _, ok := fields["machine"]; ok {
		if all.machine != (machine{}) {
			return errors.New("the machine is described twice: are these results of two runs?")
		}
		var m machineLine
		err := json.Unmarshal(line, &m)
		all.machine = m.Machine
		return err
	}
	var r result
	if err := json.Unmarshal(line, &r); err != nil {
		return err
	}
	if r.System == "" || r.Engine == "" || r.Workload == "" || r.Round == 0 {
		return errors.New("a result must have a system, an engine, a workload and a round")
	}
	all.list = append(all.list, r)
	return nil
}
