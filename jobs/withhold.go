package jobs

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/sqluice/sqluice/db"
)

const (
	// leastSecret is the least number of bytes of a value that is looked for in errors: shorter ones stand in any text.
	leastSecret = 4

	// mostSearch is how much is done to find values in one text, in bytes that are compared: a long text, or one of an attempt
	// whose job holds very many values, is withheld as a whole.
	mostSearch = 64 << 20
)

// withhold takes out of the errors of attempts, before they are recorded, what their kinds mark as sensitive: see
// [Kind.Sensitive]. The marks are the database's, since others may have made them. Then it cuts the texts to what is kept.
func withhold(ctx context.Context, q db.Querier, outcomes []outcome) error {
	var kinds []string
	for _, o := range outcomes {
		if o.message != "" || o.stack != "" {
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
		o := &outcomes[i]
		if h := fields[o.attempt.job.Kind]; h != nil && (o.message != "" || o.stack != "") {
			secrets := h.secrets(o.attempt.job, o.result)
			o.message, o.stack = without(o.message, secrets), without(o.stack, secrets)
		}
		o.message, o.stack = cut(o.message, maxMessage), cut(o.stack, maxStack)
	}
	return nil
}

// Withhold is a text about the attempt, such as its handler's error, as it would be recorded: without what the kind marks as
// sensitive (see [Kind.Sensitive]), and no longer than is kept. It is for middleware that tells somebody else of it, and asks
// the database for the marks. With an error, as outside a handler, the text is [Redacted].
func (j Job) Withhold(ctx context.Context, text string) (string, error) {
	if j.held == nil {
		return Redacted, errNotHeld("withhold a text about", j.ID)
	}
	s := j.held.session
	s.mu.Lock()
	o := outcome{attempt: j.held, result: j.held.result}
	s.mu.Unlock()
	err := s.store.Read(ctx, func(ctx context.Context, q db.Querier) error {
		o.message = clean(text, mostText)
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

// addTexts adds the strings and numbers that are in a value, in the forms in which errors usually have them.
func addTexts(found map[string]bool, raw json.RawMessage) {
	add := func(forms ...string) {
		for _, text := range forms {
			if len(text) >= leastSecret {
				found[text] = true
			}
		}
	}
	if len(raw) > 1 && raw[0] == '"' {
		add(inner(string(raw))) // whoever wrote the payload may escape in another way
	}
	in := json.NewDecoder(bytes.NewReader(raw))
	in.UseNumber()
	for _, v := range leaves(in) {
		switch v := v.(type) {
		case string:
			inJSON, _ := json.Marshal(v) // a string can be encoded
			add(v, inner(string(inJSON)), inner(strconv.Quote(v)), inner(strconv.QuoteToASCII(v)), url.QueryEscape(v), url.PathEscape(v))
		case json.Number:
			add(v.String())
			if f, err := v.Float64(); err == nil {
				add(strconv.FormatFloat(f, 'g', -1, 64), strconv.FormatFloat(f, 'f', -1, 64))
			}
		}
	}
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

// without is a text with [Redacted] in place of each part of it that secrets cover.
func without(text string, secrets []string) string {
	wasCut := len(text) > mostText-utf8.UTFMax
	if len(secrets) > 0 && (wasCut || len(text)*len(secrets) > mostSearch) {
		return Redacted
	}
	type part struct{ from, to int }
	var parts []part
	for _, secret := range secrets {
		for from := 0; ; {
			at := strings.Index(text[from:], secret)
			if at < 0 {
				break
			}
			parts = append(parts, part{from + at, from + at + len(secret)})
			from += at + 1 // one may overlap itself
		}
	}
	if len(parts) == 0 {
		return text
	}
	slices.SortFunc(parts, func(a, b part) int { return cmp.Compare(a.from, b.from) })
	var out strings.Builder
	done := 0
	for i := 0; i < len(parts); {
		p := parts[i]
		for i++; i < len(parts) && parts[i].from <= p.to; i++ { // what touches it is one with it
			p.to = max(p.to, parts[i].to)
		}
		out.WriteString(text[done:p.from])
		out.WriteString(Redacted)
		done = p.to
	}
	out.WriteString(text[done:])
	return out.String()
}
