package main

import (
	"context"
	"fmt"
	"io"
	"slices"
)

// comparison is a workload on an engine with the measured systems.
type comparison struct {
	workload
	engine  string
	systems []contender
}

func (c comparison) title() string { return c.engine + " " + c.name }

// choose selects the comparisons that the command line asks for. It prints on out the systems that are left out, and why.
func choose(s settings, all []workload, contenders []contender, out io.Writer) []comparison {
	var engines []string
	for _, c := range contenders {
		if !slices.Contains(engines, c.engine) {
			engines = append(engines, c.engine)
		}
	}
	var chosen []comparison
	for _, engine := range engines {
		for _, w := range all {
			c := comparison{workload: w, engine: engine}
			if w.long && !s.all && !s.narrowed || w.engines != nil && !slices.Contains(w.engines, engine) ||
				!s.titles.MatchString(c.title()) {
				continue
			}
			for _, system := range contenders {
				if system.engine == engine && s.asksFor(system) && takesPart(system, w, out) {
					c.systems = append(c.systems, system)
				}
			}
			if len(c.systems) > 0 {
				chosen = append(chosen, c)
			}
		}
	}
	return chosen
}

// asksFor reports whether the command line asks for a system, by its name or with its settings.
func (s settings) asksFor(c contender) bool {
	return s.systems.MatchString(c.name) || s.systems.MatchString(c.name+", "+c.settings)
}

func takesPart(c contender, w workload, out io.Writer) bool {
	if !c.plays(w.needs...) || c.only != nil && !slices.Contains(c.only, w.name) {
		return false
	}
	if why, ok := c.without[w.name]; ok {
		fmt.Fprintf(out, "# NOT MEASURED: %s, %s, on %s, in %q: %s\n", c.name, c.settings, c.engine, w.name, why)
		return false
	}
	return true
}

// whoIsThere removes the systems that cannot be measured here, and prints the reason.
func whoIsThere(ctx context.Context, chosen []comparison, out io.Writer) []comparison {
	missing := map[string]bool{}
	isThere := func(c contender) bool {
		gone, known := missing[c.key()]
		if known || c.present == nil {
			return !gone
		}
		err := c.present(ctx)
		if err != nil {
			fmt.Fprintf(out, "# NOT MEASURED: %s, %s, on %s: %v\n", c.name, c.settings, c.engine, err)
		}
		missing[c.key()] = err != nil
		return err == nil
	}
	var left []comparison
	for _, c := range chosen {
		c.systems = slices.DeleteFunc(slices.Clone(c.systems), func(system contender) bool { return !isThere(system) })
		if len(c.systems) > 0 {
			left = append(left, c)
		}
	}
	return left
}
