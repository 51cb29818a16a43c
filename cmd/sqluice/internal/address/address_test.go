package address

import "testing"

func TestParseDatabase(t *testing.T) {
	for text, want := range map[string]string{
		"jobs.db":                                     "jobs.db",
		"sqlite:jobs.db":                              "jobs.db",
		"sqlite:/a/b c.db":                            "/a/b c.db",
		" jobs.db ":                                   " jobs.db ",
		"./a:b@c":                                     "./a:b@c",
		"./host=x":                                    "./host=x",
		`C:\Users\me@here\jobs.db`:                    `C:\Users\me@here\jobs.db`,
		"postgres://host/name":                        "postgres://host/name",
		"postgresql://host/name":                      "postgresql://host/name",
		" PostgreS://host/Name\n":                     "postgres://host/Name",
		"postgres://u:secret@host:5432/name":          "postgres://u@host:5432/name",
		"postgres://:secret@host/name":                "postgres://host/name",
		"postgres://u:secret@[::1]:5432/name":         "postgres://u@[::1]:5432/name",
		"postgres://u:secret@h1:1,h2:2/name":          "postgres://u@h1:1,h2:2/name",
		"postgres://u:%40%2F%3Fsecret@host/name":      "postgres://u@host/name",
		"postgres://u%40x:secret@host":                "postgres://u%40x@host",
		"postgres://h/a%40b%2Fc":                      "postgres://h/a%40b%2Fc",
		"postgres:///name":                            "postgres:///name",
		"postgres://":                                 "postgres://",
		"postgres:///name?host=%2Ftmp":                "postgres:///name?host=%2Ftmp",
		"postgres://u@/name?host=/tmp&sslmode=prefer": "postgres://u@/name?host=%2Ftmp",
		"postgres://h/n?password=secret&sslpassword=secret&user=u&schema=jobs":        "postgres://h/n?schema=jobs&user=u",
		"postgres://h/n?pasword=secret&Password=secret&options=-c%20x%3Dsecret&port=": "postgres://h/n?port=",
	} {
		d, err := Parse(text)
		if err != nil || d.String() != want {
			t.Errorf("%q is shown as %q, want %q: %v", text, d, want, err)
		}
	}
	// secretAddresses of the command lists more.
	for _, text := range []string{"", "sqlite:", ":memory:", "file:jobs.db", "http://host/jobs.db", "//host/share", "host=h"} {
		if d, err := Parse(text); err == nil {
			t.Errorf("%q is taken for the database %q", text, d)
		}
	}
}
