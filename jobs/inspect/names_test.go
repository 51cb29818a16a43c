package inspect

import "testing"

func TestNearest(t *testing.T) {
	known := map[string]bool{"a": true, "mail": true, "Import": true, "resize": true, "r\u00e9sum\u00e9": true}
	for name, want := range map[string]string{
		"mial": "mail", "mai": "mail", "mails": "mail", "main": "mail", "import": "Import", "imprt": "Import", "rezise": "resize",
		"resum\u00e9": "r\u00e9sum\u00e9", "x": "", "zz": "", "b": "", "A": "a", "thumbnail": "", "males": "",
	} {
		if got := nearest(name, known); got != want {
			t.Errorf("nearest to %q is %q, not %q", name, got, want)
		}
	}
}

func TestEdits(t *testing.T) {
	for _, test := range []struct {
		a, b string
		want int
	}{{"", "", 0}, {"", "abc", 3}, {"abc", "abc", 0}, {"abc", "acb", 1}, {"ca", "abc", 3}, {"kitten", "sitting", 3}, {"\u00e9", "e", 1}} {
		if a, b := edits(test.a, test.b), edits(test.b, test.a); a != test.want || b != test.want {
			t.Errorf("from %q to %q take %d edits, and back %d, not %d", test.a, test.b, a, b, test.want)
		}
	}
}
