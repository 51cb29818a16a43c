package main

import (
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
)

// execFlag returns a value of --exec that runs a test program.
func execFlag(t *testing.T, kind string, words ...string) string {
	t.Helper()
	binary, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	line := kind + "="
	for _, word := range append([]string{binary, asProgram}, words...) {
		line += "'" + word + "' "
	}
	return line
}

// testProgram is the test binary as a program that a worker runs; it returns the exit code.
func testProgram(name string, args []string) int {
	switch name {
	case "echo":
		_, err := io.Copy(os.Stdout, os.Stdin)
		return codeOf(err)
	case "print": // one escaped Go string
		text, err := strconv.Unquote(`"` + args[0] + `"`)
		fmt.Print(text)
		return codeOf(err)
	case "flood": // a number of kilobytes for standard output
		n, err := strconv.Atoi(args[0])
		for range n {
			fmt.Print(strings.Repeat("x", 1<<10))
		}
		return codeOf(err)
	case "fail": // exit code, a line for standard error, and its repetitions
		code, err := strconv.Atoi(args[0])
		times, timesErr := strconv.Atoi(args[2])
		for i := range times {
			fmt.Fprintf(os.Stderr, "%d %s\n", i, args[1])
		}
		if err != nil || timesErr != nil {
			return 99
		}
		return code
	case "env":
		set := map[string]string{}
		for _, variable := range os.Environ() {
			if name, value, _ := strings.Cut(variable, "="); strings.HasPrefix(name, "SQLUICE_") {
				set[name] = value
			}
		}
		return codeOf(json.NewEncoder(os.Stdout).Encode(set))
	case "names": // of all variables
		names := []string{}
		for _, variable := range os.Environ() {
			name, _, _ := strings.Cut(variable, "=")
			names = append(names, name)
		}
		return codeOf(json.NewEncoder(os.Stdout).Encode(names))
	case "tell": // a kind of telling on standard error, of the field "key" of the payload
		var payload struct{ Key string }
		if err := json.NewDecoder(os.Stdin).Decode(&payload); err != nil {
			return codeOf(err)
		}
		return tell(args[0], payload.Key)
	case "hang": // at the first attempt only; says in a folder that it runs
		if os.Getenv("SQLUICE_ATTEMPT") == "1" {
			hang(filepath.Join(args[0], "hang-"+os.Getenv("SQLUICE_JOB_ID")))
		}
		return 0
	case "stubborn": // with a child, neither of which heeds TERM
		signal.Ignore(syscall.SIGTERM)
		child := exec.Command(os.Args[0], asProgram, "stubborn-child", args[0])
		child.Stdout, child.Stderr = os.Stdout, os.Stderr
		if err := child.Start(); err != nil {
			return codeOf(err)
		}
		hang(filepath.Join(args[0], "stubborn"))
	case "stubborn-child":
		signal.Ignore(syscall.SIGTERM)
		hang(filepath.Join(args[0], "stubborn-child"))
	}
	fmt.Fprintln(os.Stderr, "no such test program:", name)
	return 98
}

// tell writes a secret to standard error in one of the ways in which programs do, and returns exit code 1.
func tell(how, secret string) int {
	write := func(texts ...string) {
		for _, text := range texts {
			os.Stderr.WriteString(text)
		}
	}
	inJSON, err := json.Marshal(secret)
	if err != nil {
		return codeOf(err)
	}
	switch how {
	case "plain":
		write(secret, "\n")
	case "last":
		write(strings.Repeat("a line before it\n", 5000), secret)
	case "long before":
		write(secret, strings.Repeat("z", errorLimit-50))
	case "pieces":
		for len(secret) > 0 {
			n := min(7, len(secret))
			write(secret[:n])
			secret = secret[n:]
		}
	case "JSON":
		write(`{"error": `, string(inJSON), "}\n")
	case "flood":
		write(strings.Repeat(secret, 100), "\n")
	case "unfinished":
		write("the key is ", secret[:len(secret)/2])
	}
	return 1
}

// hang writes the process id to a file and then waits for a signal to end the process.
func hang(path string) {
	// In two steps, because the test reads the file as soon as it exists.
	if err := os.WriteFile(path+".new", []byte(strconv.Itoa(os.Getpid())), 0o600); err != nil {
		panic(err)
	}
	if err := os.Rename(path+".new", path); err != nil {
		panic(err)
	}
	block, unused, err := os.Pipe()
	if err != nil {
		panic(err)
	}
	_, err = io.Copy(io.Discard, block) // the other end is never closed
	panic(fmt.Sprint("the pipe ended: ", unused.Name(), err))
}

func codeOf(err error) int {
	if err == nil {
		return 0
	}
	fmt.Fprintln(os.Stderr, err)
	return 97
}
