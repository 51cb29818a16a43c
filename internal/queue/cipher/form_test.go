package cipher

import (
	"bytes"
	"errors"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"

	"github.com/sqluice/sqluice/jobs/jobtype"
)

func newCipher(t *testing.T) *Cipher {
	t.Helper()
	c, err := New([]jobtype.Key{{ID: "a", Secret: bytes.Repeat([]byte{7}, jobtype.KeySize)}})
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// in returns a copy of the cipher that encrypts in a form.
func (c *Cipher) in(f form) *Cipher {
	k := c.keys[c.current]
	k.form = f
	return &Cipher{c.current, map[string]key{c.current: k}}
}

// TestForms checks that each form is opened whichever form is in use for new values, and that each refuses changed values.
func TestForms(t *testing.T) {
	c := newCipher(t)
	forms := []form{ctr}
	if f := c.keys["a"].form; f != ctr {
		forms = append(forms, f)
	}
	for _, f := range forms {
		for _, value := range []string{"", "x", strings.Repeat("long ", 1000)} {
			stored, err := c.in(f).JSON("k", Payload, []byte(value))
			if err != nil {
				t.Fatal(err)
			}
			if !Encrypted(stored) || KeyOf(stored) != "a" || !strings.HasPrefix(stored, `"sqluice:encrypted:`+string(f)+`:a:`) {
				t.Errorf("form %s stores %.40s", f, stored)
			}
			for _, reader := range []*Cipher{c.in(gcm), c.in(ctr)} {
				if got, err := reader.Open("k", Payload, stored); err != nil || got != value {
					t.Errorf("form %s: %.20q, %v", f, got, err)
				}
			}
			if _, err := c.Open("k", Result, stored); !errors.Is(err, jobtype.ErrKey) || errors.Is(err, ErrNoKey) {
				t.Errorf("form %s in another column: %v", f, err)
			}
			at := len(stored) - 6
			changed := stored[:at] + string(stored[at]^1) + stored[at+1:]
			if _, err := c.Open("k", Payload, changed); !errors.Is(err, jobtype.ErrKey) {
				t.Errorf("form %s, changed: %v", f, err)
			}
		}
		one, err := c.in(f).Text("k", Error, "no")
		if err != nil {
			t.Fatal(err)
		}
		if two, err := c.in(f).Text("k", Error, "no"); err != nil || one != two {
			t.Errorf("form %s stores equal texts as %s and %s, %v", f, one, two, err)
		}
	}
	if _, err := c.Open("k", Payload, `"sqluice:encrypted:3:a:AAAA"`); !errors.Is(err, ErrNoKey) || !strings.Contains(err.Error(), `in the form "3"`) {
		t.Errorf("a form of the future: %v", err)
	}
}

// TestUnderFIPS runs the tests of this package in the mode in which Go's cryptography allows approved algorithms alone.
func TestUnderFIPS(t *testing.T) {
	const mode = "fips140=only"
	if os.Getenv("GODEBUG") == mode {
		if f := newCipher(t).keys["a"].form; f != ctr {
			t.Errorf("the form is %s", f)
		}
		old := `"sqluice:encrypted:1:a:` + fromGCM + `"`
		if got, err := newCipher(t).Open("k", Payload, old); err != nil || got != `{"to":"ann"}` {
			t.Errorf("a value of the form 1: %q, %v", got, err)
		}
		return
	}
	cmd := exec.Command(os.Args[0], "-test.run=.", "-test.short")
	cmd.Env = append(os.Environ(), "GODEBUG="+mode)
	out, err := cmd.CombinedOutput()
	if errors.Is(err, syscall.ENOEXEC) {
		t.Skip("this program runs under an emulator, and the system does not start it again")
	}
	if err != nil {
		t.Errorf("%v\n%s", err, out)
	}
}

const fromGCM = "FYJ+z3BYT2zXINoOlbfh2khATI/MQS9eyCFnT22/caEpE7HdcoCL9AWQ6W3qn+A77aJTBc4EJrygAVZk"
