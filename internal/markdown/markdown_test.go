package markdown_test

import (
	"reflect"
	"testing"

	"github.com/sqluice/sqluice/internal/markdown"
)

const page = "# A page\n\nSee [b](b.md#x) and `[no](link.md)`.\n\n## What `sqluice work --exec` does, twice\n\n<!-- not run: it is slow -->\n```sh\n" +
	"make # [no](c.md)\n```\n\n- item\n\n  ```\n  text\n  ```\n\n## Same\n## Same\n\n    code\n\n1. item\n\n    its text\n"

func TestPartsAreFound(t *testing.T) {
	fences := []markdown.Fence{
		{Line: 9, Language: "sh", Text: "make # [no](c.md)\n", Note: "not run: it is slow"}, {Line: 15, Text: "text\n"},
	}
	if got := markdown.Fences(page); !reflect.DeepEqual(got, fences) {
		t.Errorf("fences %+v", got)
	}
	if got := markdown.Anchors(page); !reflect.DeepEqual(got, []string{"a-page", "what-sqluice-work---exec-does-twice", "same", "same-1"}) {
		t.Errorf("anchors %q", got)
	}
	if got := markdown.Links(page); !reflect.DeepEqual(got, []markdown.Link{{3, "b.md#x"}}) {
		t.Errorf("links %+v", got)
	}
	if got := markdown.IndentedCode(page); !reflect.DeepEqual(got, []int{21}) {
		t.Errorf("indented code %v", got)
	}
	if got := markdown.Title(page); got != "A page" {
		t.Errorf("title %q", got)
	}
	want := "[b](c.md) `[d](d.md)`"
	if got := markdown.Relink("[b](b.md) `[d](d.md)`", func(string) string { return "c.md" }); got != want {
		t.Errorf("relinked %q", got)
	}
}
