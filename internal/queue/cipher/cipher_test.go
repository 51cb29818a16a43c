package cipher_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/sqluice/sqluice/internal/queue/cipher"
	"github.com/sqluice/sqluice/jobs/jobtype"
)

func made(t *testing.T, ids ...string) *cipher.Cipher {
	t.Helper()
	var keys []jobtype.Key
	for _, id := range ids {
		keys = append(keys, jobtype.Key{ID: id, Secret: []byte(strings.Repeat(id[:1], jobtype.KeySize))})
	}
	c, err := cipher.New(keys)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func TestRoundTrip(t *testing.T) {
	c := made(t, "2026-11.a_b", "b")
	for _, value := range []string{"", "{}", `"\u00e9"`, strings.Repeat("x", jobtype.MaxPayload)} {
		stored, err := c.JSON("k", cipher.Payload, []byte(value))
		if err != nil {
			t.Fatal(err)
		}
		if !cipher.Encrypted(stored) || !cipher.Encrypted([]byte(stored)) || cipher.KeyOf(stored) != "2026-11.a_b" || !c.Current(stored) || made(t, "b").Current(stored) {
			t.Errorf("of %.20q became %.60q", value, stored)
		}
		if len(stored) > 3<<19 {
			t.Errorf("%d bytes became %d, more than the schema takes", len(value), len(stored))
		}
		if text, err := made(t, "b", "2026-11.a_b").Open("k", cipher.Payload, stored); err != nil || text != value {
			t.Errorf("opened is %.20q, %v", text, err)
		}
	}
}

// Equal values are stored differently, except error texts and schedules' payloads of one kind and column.
func TestWhatIsAlike(t *testing.T) {
	c := made(t, "a")
	alike := func(first, second string, err error) bool {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		return first == second
	}
	stored := func(kind string, column cipher.Column) (string, error) { return c.JSON(kind, column, []byte("1")) }
	text := func(kind string, column cipher.Column) (string, error) { return c.Text(kind, column, "no") }
	schedule := func(kind string, _ cipher.Column) (string, error) { return c.Schedule(kind, []byte("1")) }
	for name, test := range map[string]struct {
		make       func(string, cipher.Column) (string, error)
		same, kind bool
	}{"JSON": {stored, false, false}, "Text": {text, true, false}, "Schedule": {schedule, true, false}} {
		first, err := test.make("k", cipher.Error)
		second, err2 := test.make("k", cipher.Error)
		other, err3 := test.make("other", cipher.Error)
		if alike(first, second, errors.Join(err, err2)) != test.same {
			t.Errorf("%s of equal values: %s and %s", name, first, second)
		}
		if alike(first, other, err3) != test.kind {
			t.Errorf("%s of two kinds: %s and %s", name, first, other)
		}
	}
}

// A value that was moved, changed or encrypted with another key is not opened, and no error has any part of it.
func TestNotOpened(t *testing.T) {
	c := made(t, "a")
	stored, err := c.JSON("k", cipher.Payload, []byte(`"secret"`))
	if err != nil {
		t.Fatal(err)
	}
	changed := []byte(stored)
	changed[len(changed)-10] ^= 1
	another, err := cipher.New([]jobtype.Key{{ID: "a", Secret: []byte(strings.Repeat("z", jobtype.KeySize))}})
	if err != nil {
		t.Fatal(err)
	}
	for name, open := range map[string]func() (string, error){
		"another kind":        func() (string, error) { return c.Open("other", cipher.Payload, stored) },
		"another column":      func() (string, error) { return c.Open("k", cipher.Result, stored) },
		"a changed value":     func() (string, error) { return c.Open("k", cipher.Payload, string(changed)) },
		"a short value":       func() (string, error) { return c.Open("k", cipher.Payload, `"sqluice:encrypted:1:a:AAAA"`) },
		"no base64":           func() (string, error) { return c.Open("k", cipher.Payload, `"sqluice:encrypted:1:a:!"`) },
		"no key":              func() (string, error) { return c.Open("k", cipher.Payload, `"sqluice:encrypted:1:"`) },
		"another secret":      func() (string, error) { return another.Open("k", cipher.Payload, stored) },
		"a key that is not":   func() (string, error) { return made(t, "b").Open("k", cipher.Payload, stored) },
		"a cipher that is no": func() (string, error) { return (*cipher.Cipher)(nil).Open("k", cipher.Payload, stored) },
	} {
		text, err := open()
		if !errors.Is(err, jobtype.ErrKey) || text != "" || strings.Contains(fmt.Sprint(err), "secret") {
			t.Errorf("%s: %q, %v", name, text, err)
		}
	}
}

// Without a cipher, and for a plain value, everything stays as it is.
func TestPlain(t *testing.T) {
	var none *cipher.Cipher
	stored, err := none.JSON("k", cipher.Payload, []byte("1"))
	text, err2 := none.Text("k", cipher.Error, "no")
	schedule, err3 := none.Schedule("k", []byte("1"))
	if err := errors.Join(err, err2, err3); err != nil || stored != "1" || text != "no" || schedule != "1" || none.Current("1") {
		t.Errorf("%q, %q, %q, %v", stored, text, schedule, err)
	}
	for _, plain := range []string{"", "{}", `"sqluice"`, "no", `"sqluice:encrypted:1"`} {
		if got, err := made(t, "a").Open("k", cipher.Payload, plain); err != nil || got != plain || cipher.Encrypted(plain) || cipher.KeyOf(plain) != "" {
			t.Errorf("of %q became %q, %v", plain, got, err)
		}
	}
}

func TestNoSecretInTexts(t *testing.T) {
	k := jobtype.Key{ID: "a", Secret: []byte("do-not-print")}
	for _, text := range []string{fmt.Sprint(k), fmt.Sprintf("%v %+v %#v %s %q", k, k, k, k, k), k.LogValue().String()} {
		if strings.Contains(text, "do-not-print") {
			t.Error(text)
		}
	}
}
