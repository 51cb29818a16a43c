package jobs

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"unicode/utf16"
	"unicode/utf8"

	"github.com/sqluice/sqluice/db"
	"github.com/sqluice/sqluice/internal/queue/core"
)

const (
	// leastSecret is the least number of bytes of a value that is looked for in errors: shorter ones stand in any text.
	leastSecret = 4

	// mostSearch is how much is done to find values in one text, in bytes that are compared: a long text, or one of an attempt
	// whose job holds very many values, is withheld as a whole.
	mostSearch = 64 << 20
)

// withhold removes from the errors of attempts, before they are recorded, what their kinds mark as sensitive: see
// [Kind.Sensitive]. It reads the marks from the database, since any process may have set them. Then it shortens the texts to
// what is recorded, in this order only: a part of a value is not recognised.
func withhold(ctx context.Context, q db.Querier, outcomes []outcome) error {
	var kinds []string
	for _, o := range outcomes {
		if o.hasText() {
			kinds = append(kinds, o.attempt.job.Kind)
		}
	}
	if len(kinds) == 0 {
		return nil
	}
	slices.Sort(kinds)
	rows, err := listMarks(ctx, q, slices.Compact(kinds))
	if err != nil {
		return err
	}
	fields := hiddenBy(rows)
	for i := range outcomes {
		if o := &outcomes[i]; o.hasText() {
			var values []string
			if h := fields[o.attempt.job.Kind]; h != nil {
				values = h.secrets(o.attempt.job, o.result)
			}
			o.withhold(values)
		}
	}
	return nil
}

func (o *outcome) hasText() bool { return o.message != "" || o.stack != "" || o.output != nil }

// withhold removes the values from the outcome's texts and shortens them to what is recorded.
func (o *outcome) withhold(values []string) {
	message, ofOutput := without(o.message, values), ""
	if o.output != nil {
		ofOutput, o.output = o.output.recorded(values), nil
	}
	o.message, o.stack = joinOutput(message, ofOutput), core.Cut(without(o.stack, values), maxStack)
}

// Withhold returns a text about the attempt, such as its handler's error, as it would be recorded: without what the kind
// marks as sensitive (see [Kind.Sensitive]), and no longer than is recorded. It is for middleware that passes the text on.
// It reads the marks from the database. With an error, as outside a handler, the text is [Redacted]. Give it whole texts: of a
// text that was shortened before, it recognises a part of a value only before an ellipsis.
func (j Job) Withhold(ctx context.Context, text string) (string, error) {
	if j.held == nil {
		return Redacted, errNotHeld("withhold a text about", j.ID)
	}
	s := j.held.session
	s.mu.Lock()
	o := outcome{attempt: j.held, result: j.held.result}
	s.mu.Unlock()
	err := s.store.Read(ctx, func(ctx context.Context, q db.Querier) error {
		o.message = core.Clean(text, mostText)
		list := []outcome{o}
		err := withhold(ctx, q, list)
		o.message = list[0].message
		return err
	})
	if err != nil {
		return Redacted, fmt.Errorf("withhold a text about job %d: %w", j.ID, err)
	}
	return o.message, nil
}

// hiddenBy is what marks hide, by kind.
func hiddenBy(rows []db.ListSensitiveFieldsRow) map[string]hidden {
	fields := map[string]hidden{}
	for _, r := range rows {
		if fields[r.Kind] == nil {
			fields[r.Kind] = hidden{}
		}
		fields[r.Kind].hide(r.Path)
	}
	return fields
}

// secrets are the texts that stand for what is hidden of a job and of the result that it was about to have.
func (h hidden) secrets(j Job, result *string) []string {
	if result != nil {
		j.Result = json.RawMessage(*result)
	}
	found := map[string]bool{}
	for column, value := range map[string]json.RawMessage{
		inPayload: j.Payload, inMetadata: j.Metadata, inResult: j.Result, // what progress says is not kept here
	} {
		if paths := h[column]; len(paths) > 0 && value != nil {
			for _, raw := range taken(value, paths) {
				addTexts(found, raw)
			}
		}
	}
	list := make([]string, 0, len(found))
	for text := range found {
		list = append(list, text)
	}
	return list
}

// addTexts adds the strings and numbers of a JSON value, in the forms in which errors and logs usually have them.
func addTexts(found map[string]bool, raw json.RawMessage) {
	add := func(forms ...string) {
		for _, text := range forms {
			if len(text) >= leastSecret {
				found[text] = true
			}
		}
	}
	if len(raw) > 1 && raw[0] == '"' {
		add(inner(string(raw))) // the payload's author may escape in another way
	}
	in := json.NewDecoder(bytes.NewReader(raw))
	in.UseNumber()
	for _, v := range leaves(in) {
		switch v := v.(type) {
		case string:
			add(v, inner(strconv.Quote(v)), inner(strconv.QuoteToASCII(v)), url.QueryEscape(v), url.PathEscape(v))
			add(jsonForms(v)...)
		case json.Number:
			add(v.String())
			if f, err := v.Float64(); err == nil {
				add(strconv.FormatFloat(f, 'g', -1, 64), strconv.FormatFloat(f, 'f', -1, 64))
			}
		}
	}
}

// jsonForms returns a string as it stands in JSON: with the characters of HTML escaped as package json does, with as little
// escaped as possible as JavaScript does, and in ASCII as Python does; the last two also with escaped slashes, as PHP writes.
func jsonForms(s string) []string {
	forHTML, _ := json.Marshal(s) // a string can be encoded
	plain := inner(strings.NewReplacer(`\u003c`, "<", `\u003e`, ">", `\u0026`, "&", `\\`, `\\`).Replace(string(forHTML)))
	var ascii strings.Builder
	for _, r := range plain {
		switch high, low := utf16.EncodeRune(r); {
		case r < utf8.RuneSelf:
			ascii.WriteRune(r)
		case r > 0xFFFF:
			fmt.Fprintf(&ascii, `\u%04x\u%04x`, high, low)
		default:
			fmt.Fprintf(&ascii, `\u%04x`, r)
		}
	}
	slashes := strings.NewReplacer("/", `\/`)
	return []string{inner(string(forHTML)), plain, ascii.String(), slashes.Replace(plain), slashes.Replace(ascii.String())}
}

// leaves are the strings and numbers of a JSON value, each time when a name is there twice. The names themselves are not among
// them.
func leaves(in *json.Decoder) (list []any) {
	var awaitsName []bool // by level; false in a list
	var inObject []bool
	for {
		token, err := in.Token()
		if err != nil {
			return list // at the end
		}
		level := len(inObject) - 1
		delim, isDelim := token.(json.Delim)
		switch {
		case isDelim && (delim == '}' || delim == ']'):
			inObject, awaitsName = inObject[:level], awaitsName[:level]
			continue
		case level >= 0 && awaitsName[level]:
			awaitsName[level] = false
			continue
		case isDelim:
			inObject, awaitsName = append(inObject, delim == '{'), append(awaitsName, delim == '{')
		default:
			list = append(list, token)
		}
		if level >= 0 {
			awaitsName[level] = inObject[level] // after this value
		}
	}
}

// inner is a quoted text without its quotation marks.
func inner(quoted string) string { return quoted[1 : len(quoted)-1] }
