package errorpattern

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

const (
	// MaxLength is the number of characters that a pattern has at most. [Of] cuts off the rest.
	MaxLength = 1000

	// maxQuoted is the number of bytes of a quotation that is masked as a whole. It bounds the time for a text of many quotation marks.
	maxQuoted = 200
)

const (
	number = '#' // stands for a number, an id or hexadecimal digits
	inside = "…" // stands for a quoted text
)

// Of returns the pattern of a text: numbers, times, addresses, hexadecimal digits and ids of letters and digits become "#", and
// quoted words become "…" in their quotation marks. Bytes that are no UTF-8 become U+FFFD.
func Of(text string) string {
	m := masker{rest: strings.ToValidUTF8(text, string(utf8.RuneError))}
	for m.rest != "" && len(m.out) < MaxLength*utf8.UTFMax {
		m.step()
	}
	n := 0
	for i := range string(m.out) {
		if n++; n > MaxLength {
			return string(m.out[:i])
		}
	}
	return string(m.out)
}

// masker writes the pattern of a text part by part.
type masker struct {
	rest   string
	out    []byte
	before rune // the last character of the text before rest; 0 at the start
	joined int  // the length of out up to its last number, if at most one mark follows that; else 0
}

// step masks or copies one word, one quotation or one other character.
func (m *masker) step() {
	if n := uuidLength(m.rest); n > 0 && !isWord(m.before) {
		m.cut(n)
		m.number()
		return
	}
	first, size := utf8.DecodeRuneInString(m.rest)
	if isWord(first) {
		m.word(m.cut(wordLength(m.rest)))
		return
	}
	if closing := closingMark(first); closing != 0 && !(isWord(m.before) && first == closing) {
		if n := quotedLength(m.rest[size:], first, closing); n > 0 {
			m.cut(size + n)
			if n > utf8.RuneLen(closing) {
				m.write(string(first) + inside + string(closing))
			} else {
				m.write(string(first) + string(closing))
			}
			return
		}
	}
	before := m.before
	m.cut(size)
	switch {
	case m.joined == len(m.out) && m.joined > 0 && joinsNumbers(first):
		m.out = utf8.AppendRune(m.out, first)
	case isSign(first) && !isWord(before) && startsWithDigit(m.rest): // the sign is part of the number
	default:
		m.write(string(first))
	}
}

// cut removes the first n bytes from the rest, and returns them.
func (m *masker) cut(n int) string {
	part := m.rest[:n]
	m.before, _ = utf8.DecodeLastRuneInString(part)
	m.rest = m.rest[n:]
	return part
}

// write writes a part that is no number.
func (m *masker) write(part string) {
	m.joined = 0
	m.out = append(m.out, part...)
}

// number writes # for a number. It joins numbers that one punctuation mark separates: 10.0.0.1:80 and 2026-11-29 are one number each.
func (m *masker) number() {
	if m.joined > 0 {
		m.out = m.out[:m.joined]
	} else {
		m.out = append(m.out, number)
	}
	m.joined = len(m.out)
}

func (m *masker) word(word string) {
	switch hasDigit := strings.ContainsFunc(word, isDigit); {
	case isHex(word) && (len(word) >= 8 || hasDigit && len(word) >= 4), isNumber(word), isDuration(word), isID(word):
		m.number()
	case hasDigit:
		m.write(maskDigits(word))
	default:
		m.write(word)
	}
}

// maskDigits returns a word with # in place of each run of digits.
func maskDigits(word string) string {
	var out []rune
	for _, r := range word {
		if isDigit(r) {
			r = number
		}
		if r != number || len(out) == 0 || out[len(out)-1] != number {
			out = append(out, r)
		}
	}
	return string(out)
}

// isNumber reports whether a word has only digits, is hexadecimal with its prefix, or is a time such as 29T10 and 00Z.
func isNumber(word string) bool {
	switch rest, hex := strings.CutPrefix(strings.ToLower(word), "0x"); {
	case hex:
		return isHex(rest)
	case !strings.ContainsFunc(word[:1], isDigit):
		return word == string(number)
	}
	return strings.Trim(strings.Replace(strings.TrimSuffix(word, "Z"), "T", "", 1), "0123456789") == ""
}

// isID reports whether a word is one that a program made: it changes often between letters and digits.
func isID(word string) bool {
	changes, last := 0, false
	for i, r := range word {
		digit := isDigit(r)
		if i > 0 && digit != last {
			changes++
		}
		last = digit
	}
	return changes >= 3 || changes >= 2 && len(word) >= 16
}

func isHex(word string) bool {
	return word != "" && strings.Trim(word, "0123456789abcdefABCDEF") == ""
}

// isDuration reports whether a word is a duration as Go prints it, or a part of one, such as 500ms and the 1m30 of 1m30.5s.
func isDuration(word string) bool {
	for units := 0; word != ""; units++ {
		rest := strings.TrimLeftFunc(word, isDigit)
		unit := ""
		for _, u := range []string{"ns", "us", "µs", "μs", "ms", "s", "m", "h"} {
			if strings.HasPrefix(rest, u) {
				unit = u
				break
			}
		}
		if rest == word || unit == "" {
			return rest == "" && units > 0
		}
		word = rest[len(unit):]
	}
	return true
}

// uuidLength returns the length of the UUID with which a text begins, or 0 if it begins with none.
func uuidLength(text string) int {
	const length = 36
	if len(text) < length {
		return 0
	}
	if after, _ := utf8.DecodeRuneInString(text[length:]); isWord(after) {
		return 0
	}
	for i, part := range strings.Split(text[:length], "-") {
		if i > 4 || len(part) != []int{8, 4, 4, 4, 12}[i] || !isHex(part) {
			return 0
		}
	}
	return length
}

func isDigit(r rune) bool { return unicode.IsDigit(r) }

func isWord(r rune) bool { return unicode.IsLetter(r) || isDigit(r) || r == number }

func wordLength(text string) int {
	if n := strings.IndexFunc(text, func(r rune) bool { return !isWord(r) }); n >= 0 {
		return n
	}
	return len(text)
}

// joinsNumbers reports whether two numbers with this character between them count as one number.
func joinsNumbers(r rune) bool { return strings.ContainsRune(".,:-+/", r) }

func isSign(r rune) bool { return r == '-' || r == '+' }

func startsWithDigit(text string) bool {
	r, _ := utf8.DecodeRuneInString(text)
	return isDigit(r)
}

// closingMark returns the mark that closes a quotation which a character opens, or 0 if it opens none.
func closingMark(open rune) rune {
	switch open {
	case '"', '\'', '`':
		return open
	case '“':
		return '”'
	case '‘':
		return '’'
	case '«':
		return '»'
	}
	return 0
}

// quotedLength returns the length of a quotation with its closing mark, or 0 if it is too long or not closed in its line. An
// apostrophe inside a word closes nothing.
func quotedLength(text string, open, closing rune) int {
	escaped := false
	for i, r := range text {
		after := i + utf8.RuneLen(r)
		switch {
		case r == '\n' || i > maxQuoted:
			return 0
		case escaped:
			escaped = false
		case r == '\\' && open == '"':
			escaped = true
		case r != closing:
		case r == '\'' || r == '’':
			if next, _ := utf8.DecodeRuneInString(text[after:]); after == len(text) || !isWord(next) {
				return after
			}
		default:
			return after
		}
	}
	return 0
}
