package main

import (
	"math/big"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"
	"unicode"

	"github.com/sqluice/sqluice/cmd/sqluice/internal/address"
)

// Words with the quotes of a shell are split into the same words, for any bytes: names of files are bytes.
func FuzzSplitWords(f *testing.F) {
	for _, seed := range [][2]string{
		{"a", "b c"}, {"", `it's "so"`}, {`\`, "\t\n"}, {"caf\xe9", "grüße 世界"}, {"--x=y z", "$HOME *"}, {"\x00", "\xff\xfe"}, {"'a", `b"`},
	} {
		f.Add(seed[0], seed[1])
	}
	quotes := map[string]func(string) string{
		"single": func(s string) string { return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'" },
		"double": func(s string) string {
			return `"` + strings.ReplaceAll(strings.ReplaceAll(s, `\`, `\\`), `"`, `\"`) + `"`
		},
		"backslashes": func(s string) string {
			if s == "" {
				return "''"
			}
			var b strings.Builder
			for _, c := range []byte(s) {
				if c < 0x80 {
					b.WriteByte('\\')
				}
				b.WriteByte(c)
			}
			return b.String()
		},
	}
	f.Fuzz(func(t *testing.T, one, two string) {
		for name, quote := range quotes {
			line := " " + quote(one) + " \t" + quote(two) + quote(one) + "\n"
			if got, err := splitWords(line); err != nil || !slices.Equal(got, []string{one, two + one}) {
				t.Errorf("%s: splitWords(%q) = %q, %v", name, line, got, err)
			}
		}
		// Every line can be split, or has something that is not closed.
		if words, err := splitWords(one); err != nil && !strings.ContainsAny(one, `'"\`) {
			t.Errorf("splitWords(%q) = %q, %v", one, words, err)
		}
	})
}

// A valid duration is the sum of its days and its rest, and does not overflow.
func FuzzParseDuration(f *testing.F) {
	for _, seed := range []string{"90s", "7d", "1d12h", "1h30m", "-5d", "-1h", "1.5h", "106751d", "106751d23h47m16.854775807s", "106752d", "106751d24h", "d", "1d-1h", "1dd", "+3d", "0", "٣d", "9223372036854775807d", "1e3s"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		d, err := parseDuration(text)
		if err != nil {
			return
		}
		want, rest := new(big.Int), text
		if days, after, ok := strings.Cut(text, "d"); ok {
			n, ok := want.SetString(days, 10)
			if !ok {
				t.Fatalf("%q is taken for %s", text, d)
			}
			want.Mul(n, big.NewInt(int64(24*time.Hour)))
			if rest = after; rest == "" {
				rest = "0"
			}
		}
		part, err := time.ParseDuration(rest)
		if err != nil {
			t.Fatalf("%q is taken for %s, though %v", text, d, err)
		}
		if want.Add(want, big.NewInt(int64(part))); want.Cmp(big.NewInt(int64(d))) != 0 {
			t.Errorf("%q is taken for %d, and is %s", text, d, want)
		}
		if again, err := parseDuration(d.String()); err != nil || again != d {
			t.Errorf("%q is %s, which is taken for %s, %v", text, d, again, err)
		}
	})
}

// Flags refuse invalid values with a phrase that follows "must", and accept only values within their bounds.
func FuzzFlagValues(f *testing.F) {
	for _, seed := range []string{"", "1", "-1", "0x10", "1_000", "50", "200ms", "1h", "2030-01-31T15:04:05+01:00", "0000-01-01T00:00:00Z", "default=4", "a=b=5", "=3", "q=0", "q=99999", "\xff", "\x1b[2J"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		check := func(err error) bool {
			if err != nil && (err.Error() == "" || strings.ContainsAny(err.Error(), "\x1b\n")) {
				t.Errorf("%q is refused with %q", text, err)
			}
			return err == nil
		}
		var n int
		if check((&intValue{&n, 1, 50}).Set(text)) && (n < 1 || n > 50) {
			t.Errorf("%q is the number %d", text, n)
		}
		var d time.Duration
		if check((&durationValue{&d, time.Second, time.Hour}).Set(text)) && (d < time.Second || d > time.Hour) {
			t.Errorf("%q is the duration %s", text, d)
		}
		if check((&durationValue{value: &d}).Set(text)) && d < 0 {
			t.Errorf("%q is the duration %s", text, d)
		}
		var id int64
		if check((&cursorValue{&id}).Set(text)) && id < 1 {
			t.Errorf("%q is the cursor %d", text, id)
		}
		var at time.Time
		if check((&timeValue{&at}).Set(text)) && (at.Year() < -1 || at.Year() > 10_000) {
			t.Errorf("%q is the time %s", text, at)
		}
		queues := map[string]int{}
		if check((&queueValue{queues}).Set(text)) {
			for name, n := range queues {
				if name == "" || n < 0 || n > maxConcurrency || n > 0 && text != name+"="+strings.TrimPrefix(text, name+"=") {
					t.Errorf("%q is the queue %q with %d", text, name, n)
				}
			}
		}
		var name string
		if check((&nameValue{&name}).Set(text)) && (name != text || strings.ContainsFunc(name, unicode.IsControl)) {
			t.Errorf("%q is the name %q", text, name)
		}
		if id, err := parseID(text); err == nil && strconv.FormatInt(id, 10) != strings.TrimLeft(text, "+0") {
			t.Errorf("%q is the id %d", text, id)
		}
	})
}

// The shown form of a database has no password, and names the same database.
func FuzzParseDatabase(f *testing.F) {
	const secret = "s3cr3tw0rd"
	for _, seed := range [][2]string{
		{"postgres://u:", "@h/n"}, {"postgres://", "@h/n"}, {"postgresql://h/n?password=", ""}, {"postgres:///n?sslpassword=", "&user=u"},
		{"POSTGRES://u:", "@h1:1,h2:2/n?a=b"}, {"sqlite:", ".db"}, {"./a:", "@b"}, {"host=h password=", ""}, {"file:", ""}, {"\npostgres://u:", "@h"},
		{"postgres://u:a%40", "@[::1]:5/n"}, {"postgres://u:;", "@h/n?x;y"}, {`C:\`, "@x"}, {"postgres:///%40", ""}, {"postgres://h/a%2Fb%3F", "%23"}, {"postgres:///%40", `"`},
	} {
		f.Add(seed[0], seed[1])
	}
	f.Fuzz(func(t *testing.T, before, after string) {
		if strings.Contains(before+after, secret) {
			return
		}
		d, err := address.Parse(before + secret + after)
		if err != nil {
			if strings.Contains(err.Error(), secret) {
				t.Errorf("%q, %q: the error is %v", before, after, err)
			}
			return
		}
		if !d.Postgres() {
			if want := strings.TrimPrefix(before+secret+after, "sqlite:"); d.String() != want {
				t.Errorf("%q, %q: the path is %q", before, after, d)
			}
			return
		}
		parsed, err := url.Parse(d.URL)
		if err != nil {
			t.Fatalf("%q, %q: taken, though %v", before, after, err)
		}
		password, _ := parsed.User.Password()
		for name, values := range parsed.Query() {
			if strings.Contains(strings.ToLower(name), "pass") {
				password += strings.Join(values, "")
			}
		}
		if strings.Contains(password, secret) && strings.Contains(d.String(), secret) {
			t.Errorf("%q, %q: shown as %q", before, after, d)
		}
		again, err := address.Parse(d.String())
		if err != nil || again.String() != d.String() {
			t.Errorf("%q, %q: shown as %q, which is shown as %q: %v", before, after, d, again, err)
		}
	})
}
