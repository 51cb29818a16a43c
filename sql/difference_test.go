package sql_test

import (
	"fmt"
	"strings"
	"testing"
)

// mostBlocks is the largest number of differing blocks that are printed.
const mostBlocks = 8

// difference returns the blocks of two golden texts that differ. Empty lines separate blocks, and the first line of each is its
// name: a query and its plan, or a statement of the schema. Lines that only one text has begin with a minus (file) or a plus.
func difference(file, have string) string {
	names, wants := goldenBlocks(file)
	haveNames, haves := goldenBlocks(have)
	for _, name := range haveNames {
		if _, both := wants[name]; !both {
			names = append(names, name)
		}
	}
	var text strings.Builder
	count := 0
	for _, name := range names {
		lines := changedLines(wants[name], haves[name])
		if lines == nil {
			continue
		}
		if count++; count <= mostBlocks {
			fmt.Fprintf(&text, "\n%s\n%s", name, strings.Join(lines, "\n"))
		}
	}
	if count > mostBlocks {
		fmt.Fprintf(&text, "\nand %d more", count-mostBlocks)
	}
	return text.String()
}

func goldenBlocks(text string) (names []string, blocks map[string][]string) {
	blocks = map[string][]string{}
	for block := range strings.SplitSeq(text, "\n\n") {
		lines := strings.Split(strings.TrimRight(block, "\n"), "\n")
		if _, twice := blocks[lines[0]]; !twice {
			names = append(names, lines[0])
		}
		blocks[lines[0]] = append(blocks[lines[0]], lines[1:]...)
	}
	return names, blocks
}

// changedLines returns the lines that only one of two lists has, in their order: nil when both are the same. Lines that moved to another
// depth count as the same, unless nothing else changed.
func changedLines(old, fresh []string) []string {
	lines := onlyIn(old, fresh, strings.TrimSpace)
	if lines == nil {
		lines = onlyIn(old, fresh, func(line string) string { return line })
	}
	return lines
}

func onlyIn(old, fresh []string, key func(string) string) (lines []string) {
	same := func(i, j int) bool { return key(old[i]) == key(fresh[j]) }
	// common[i][j] is the length of the longest list of lines that old[i:] and fresh[j:] both have.
	common := make([][]int, len(old)+1)
	for i := range common {
		common[i] = make([]int, len(fresh)+1)
	}
	for i := len(old) - 1; i >= 0; i-- {
		for j := len(fresh) - 1; j >= 0; j-- {
			if common[i][j] = max(common[i+1][j], common[i][j+1]); same(i, j) {
				common[i][j] = common[i+1][j+1] + 1
			}
		}
	}
	i, j := 0, 0
	for i < len(old) || j < len(fresh) {
		switch {
		case i < len(old) && j < len(fresh) && same(i, j):
			i, j = i+1, j+1
		case j == len(fresh) || i < len(old) && common[i+1][j] >= common[i][j+1]:
			lines = append(lines, "- "+old[i])
			i++
		default:
			lines = append(lines, "+ "+fresh[j])
			j++
		}
	}
	return lines
}

func TestDifference(t *testing.T) {
	const file = "Header\n\nClaim\n  SEARCH j\n  SORT\n\nCount\n  SCAN j\n"
	for have, want := range map[string]string{
		file: "",
		"Header\n\nClaim\n  SEARCH j\n  SCAN k\n  SORT\n\nCount\n  SCAN j\n":   "\nClaim\n+   SCAN k",
		"Header\n\nClaim\n  SEARCH i\n  SORT\n\nCount\n  SCAN j\n":             "\nClaim\n-   SEARCH j\n+   SEARCH i",
		"Header\n\nClaim\n    SEARCH j\n  SCAN k\n  SORT\n\nCount\n  SCAN j\n": "\nClaim\n+   SCAN k",
		"Header\n\nClaim\n    SEARCH j\n  SORT\n\nCount\n  SCAN j\n":           "\nClaim\n-   SEARCH j\n+     SEARCH j",
		"Header\n\nCount\n  SCAN j\n\nNew\n  SCAN n\n":                         "\nClaim\n-   SEARCH j\n-   SORT\nNew\n+   SCAN n",
	} {
		if got := difference(file, have); got != want {
			t.Errorf("the difference to %q is %q, not %q", have, got, want)
		}
	}
}
