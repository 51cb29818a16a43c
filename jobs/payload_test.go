package jobs_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/pressly/goose/v3"
	"github.com/sqluice/sqluice/internal/receipts"
	"github.com/sqluice/sqluice/internal/test/testdb"
	"github.com/sqluice/sqluice/jobs"
	"github.com/sqluice/sqluice/jobs/inspect"
)

// good returns payloads that every engine stores and returns unchanged.
func good() map[string]string {
	return map[string]string{
		"object":              `{}`,
		"null":                `null`,
		"true":                `true`,
		"empty string":        `""`,
		"zero":                `0`,
		"minus zero":          `-0`,
		"odd spaces":          " \t\r\n{ \"a\" :\n[ 1 ,2 ] }\r\n ",
		"duplicate keys":      `{"a":1,"a":2,"a":null}`,
		"order of keys":       `{"b":1,"a":2}`,
		"empty key":           `{"":0}`,
		"numbers' form":       `[1.0,1e2,1E+2,0.10,-0.0]`,
		"big integer":         `123456789012345678901234567890`,
		"beyond a float":      `[1e400,-1e400,1e-400,1e1000000]`,
		"many digits":         strings.Repeat("9", 5000),
		"escapes":             `"\"\\\/\b\f\n\r\t"`,
		"escaped slash":       `"\/"`,
		"escaped letters":     `"\u0041\u00e9\u00E9"`,
		"escaped control":     `"\u0001\u001f\u007f"`,
		"escaped backslash u": `"\\u0000 \\ud800"`,
		"surrogate pair":      `"\ud83d\ude00"`,
		"pair in capitals":    `"\uD83D\uDE00"`,
		"two pairs":           `"\ud83d\ude00\ud83d\ude00x"`,
		"pair in a key":       `{"\ud83d\ude00":1}`,
		"separators":          "\"\u2028\u2029\"",
		"replacement":         "\"\ufffd\"",
		"noncharacters":       "\"\uffff\ufdd0\"",
		"byte order mark":     "\"\ufeff\"",
		"emoji":               "\"\U0001F600\U0001F468\u200d\U0001F469\"",
		"combining":           "\"e\u0301 \u00e9\"",
		"right to left":       "\"\u202e\u0645\"",
		"delete and C1":       "\"\u007f\u0080\u009f\"",
		"markup":              `"<script>&amp;'</script>"`,
		"quotes":              `"it''s \"; DROP TABLE sqluice_jobs; --"`,
		"percent":             `"%s %00 ? $1 @x :y"`,
		"deepest lists":       strings.Repeat("[", jobs.MaxDepth) + strings.Repeat("]", jobs.MaxDepth),
		"deepest objects":     strings.Repeat(`{"a":`, jobs.MaxDepth) + "0" + strings.Repeat("}", jobs.MaxDepth),
		"brackets in strings": `"` + strings.Repeat("[{", 5000) + `"`,
		"wide":                "[" + strings.Repeat("[],", 5000) + "[]]",
		"largest":             `"` + strings.Repeat("x", jobs.MaxPayload-2) + `"`,
	}
}

// bad returns payloads that are refused, with a word of the reason.
func bad() map[string]struct{ payload, reason string } {
	return map[string]struct{ payload, reason string }{
		"nothing":                 {"", "valid JSON"},
		"spaces":                  {" \n", "valid JSON"},
		"a byte order mark":       {"\uFEFF{}", "byte order mark"},
		"UTF-16":                  {"\xFF\xFE{\x00}\x00", "byte order mark"},
		"UTF-16, the other way":   {"\xFE\xFF\x00{\x00}", "byte order mark"},
		"a word":                  {"hello", "valid JSON"},
		"single quotes":           {"{'a':1}", "valid JSON"},
		"half an object":          {`{"a":`, "valid JSON"},
		"two values":              {`{} {}`, "valid JSON"},
		"a comma too much":        {`[1,]`, "valid JSON"},
		"a comment":               {`{} // x`, "valid JSON"},
		"not a number":            {`NaN`, "valid JSON"},
		"a leading zero":          {`01`, "valid JSON"},
		"hexadecimal":             {`0x1`, "valid JSON"},
		"a bare key":              {`{a:1}`, "valid JSON"},
		"a raw newline":           {"\"a\nb\"", "valid JSON"},
		"a raw NUL":               {"\"\x00\"", "valid JSON"},
		"a NUL at the end":        {"{}\x00", "valid JSON"},
		"a wrong escape":          {`"\x41"`, "valid JSON"},
		"a short escape":          {`"\u12"`, "valid JSON"},
		"an escaped NUL":          {`"\u0000"`, "NUL"},
		"an escaped NUL in a key": {`{"a\u0000":1}`, "NUL"},
		"a high surrogate":        {`"\ud800"`, "surrogate"},
		"a high one, then text":   {`"\ud83dxxxxxxxx"`, "surrogate"},
		"a high one, then \\n":    {`"\ud83d\n12345"`, "surrogate"},
		"two high ones":           {`"\ud83d\ud83d\ude00"`, "surrogate"},
		"a high one, then a":      {`"\ud83d\u0041"`, "surrogate"},
		"a low surrogate":         {`"\ude00"`, "surrogate"},
		"a reversed pair":         {`"\ude00\ud83d"`, "surrogate"},
		"a low one after a pair":  {`"\ud83d\ude00\ude00"`, "surrogate"},
		"one in a key":            {`{"\uDC00":1}`, "surrogate"},
		"one after a backslash":   {`"\\\ud800"`, "surrogate"},
		"invalid UTF-8":           {"\"\xff\"", "UTF-8"},
		"cut UTF-8":               {"\"\xe2\x80\"", "UTF-8"},
		"overlong UTF-8":          {"\"\xc0\x80\"", "UTF-8"},
		"a surrogate in UTF-8":    {"\"\xed\xa0\x80\"", "UTF-8"},
		"Latin-1":                 {"\"\xe9\"", "UTF-8"},
		"lists too deep":          {strings.Repeat("[", jobs.MaxDepth+1) + strings.Repeat("]", jobs.MaxDepth+1), "201 levels deep must be nested at most 200"},
		"objects too deep":        {strings.Repeat(`{"a":`, jobs.MaxDepth+1) + "0" + strings.Repeat("}", jobs.MaxDepth+1), "201 levels deep"},
		"endless lists":           {strings.Repeat("[", jobs.MaxPayload), "levels deep"},
		"one byte too large":      {`"` + strings.Repeat("x", jobs.MaxPayload-1) + `"`, "of 1048577 bytes must be at most 1048576 bytes"},
	}
}

func TestValidatePayload(t *testing.T) {
	for name, payload := range good() {
		if err := jobs.ValidatePayload([]byte(payload)); err != nil {
			t.Errorf("%s is refused: %v", name, err)
		}
	}
	for name, test := range bad() {
		err := jobs.ValidatePayload([]byte(test.payload))
		var invalid *jobs.InvalidError
		if !errors.As(err, &invalid) || invalid.Field != "payload" || !strings.Contains(err.Error(), test.reason) {
			t.Errorf("%s: the error is %v, not one about %q", name, err, test.reason)
		} else if len(err.Error()) > 1000 {
			t.Errorf("%s: the error repeats a whole payload: %d bytes", name, len(err.Error()))
		}
	}
}

func TestPayloadsComeBackByteForByte(t *testing.T) {
	client := jobs.New(testdb.SQLite(t))
	var names []string
	var payloads []json.RawMessage
	for name, payload := range good() {
		names, payloads = append(names, name), append(payloads, json.RawMessage(payload))
	}
	check := func(way string, i int, id int64) {
		t.Helper()
		job, err := client.Get(t.Context(), id)
		if err != nil || !bytes.Equal(job.Payload, payloads[i]) {
			t.Errorf("%s: %s came back as %.200q, was %.200q: %v", way, names[i], job.Payload, payloads[i], err)
		}
	}
	for i := range payloads {
		receipt, err := client.Enqueue(t.Context(), "echo", payloads[i])
		if err != nil {
			t.Fatalf("%s: %v", names[i], err)
		}
		check("Enqueue", i, receipt.ID)
	}
	ids, err := receipts.IDs(client.EnqueueMany(t.Context(), "echo", payloads))
	if err != nil || len(ids) != len(payloads) {
		t.Fatalf("%d ids for %d payloads: %v", len(ids), len(payloads), err)
	}
	for i, id := range ids {
		check("EnqueueMany", i, id)
	}
}

// A result is encoded by encoding/json, and stored in that form.
func TestResultsComeBackByteForByte(t *testing.T) {
	client := jobs.New(testdb.SQLite(t))
	var payloads []json.RawMessage
	for _, payload := range good() {
		payloads = append(payloads, json.RawMessage(payload))
	}
	ids, err := receipts.IDs(client.EnqueueMany(t.Context(), "echo", payloads))
	if err != nil {
		t.Fatal(err)
	}
	runner, err := jobs.NewRunner(client, jobs.Config{})
	if err != nil {
		t.Fatal(err)
	}
	var mu sync.Mutex
	seen := map[int64]json.RawMessage{}
	jobs.Kind[json.RawMessage]{Name: "echo", MaxAttempts: 1}.Handle(runner,
		func(_ context.Context, job jobs.Job, args json.RawMessage) error {
			mu.Lock()
			defer mu.Unlock()
			seen[job.ID] = job.Payload
			return job.SetResult(args)
		})
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute) // a hang guard
	defer cancel()
	if err := runner.Drain(ctx); err != nil {
		t.Fatal(err)
	}
	for i, id := range ids {
		want, err := json.Marshal(payloads[i])
		if err != nil {
			t.Fatal(err)
		}
		job, err := client.Get(t.Context(), id)
		if err != nil {
			t.Fatal(err)
		}
		if len(want) > jobs.MaxPayload {
			continue // escaping made it too large
		}
		if job.Status != jobs.StatusDone || !bytes.Equal(job.Result, want) {
			t.Errorf("job %d is %s (%s) with the result %.200q, want %.200q", id, job.Status, job.LastError, job.Result, want)
		}
		if !bytes.Equal(seen[id], payloads[i]) {
			t.Errorf("the handler of job %d got %.200q, was %.200q", id, seen[id], payloads[i])
		}
	}
}

// All or nothing: a bad payload at the end is named by its index, and none before it is added.
func TestEnqueueManyRefusesAll(t *testing.T) {
	client := jobs.New(testdb.SQLite(t))
	for name, test := range bad() {
		payloads := make([]json.RawMessage, 2001)
		for i := range payloads {
			payloads[i] = json.RawMessage(`{}`)
		}
		payloads[2000] = json.RawMessage(test.payload)
		_, err := client.EnqueueMany(t.Context(), "echo", payloads)
		var invalid *jobs.InvalidError
		if !errors.As(err, &invalid) || !strings.Contains(err.Error(), "payload 2000:") {
			t.Errorf("%s: the error is %v", name, err)
		}
		if _, err := client.Enqueue(t.Context(), "echo", json.RawMessage(test.payload)); !errors.As(err, &invalid) {
			t.Errorf("%s: the error is %v", name, err)
		}
	}
	list, err := inspect.New(client).List(t.Context(), inspect.Filter{})
	if err != nil || len(list) != 0 {
		t.Errorf("%d jobs were added: %v", len(list), err)
	}
}

// The output of a type's own marshaler must satisfy the same rules, although package json has checked it.
func TestKindsRefuseWhatMarshalersWrite(t *testing.T) {
	client := jobs.New(testdb.SQLite(t))
	kind := jobs.Kind[json.RawMessage]{Name: "echo"}
	for name, test := range bad() {
		if _, err := kind.Enqueue(t.Context(), client, json.RawMessage(test.payload)); err == nil {
			t.Errorf("%s is enqueued", name)
		}
		list := []json.RawMessage{json.RawMessage("{}"), json.RawMessage(test.payload)}
		if _, err := kind.EnqueueMany(t.Context(), client, list); err == nil || !strings.Contains(err.Error(), "payload 1:") {
			t.Errorf("%s: the error is %v", name, err)
		}
	}
	list, err := inspect.New(client).List(t.Context(), inspect.Filter{})
	if err != nil || len(list) != 0 {
		t.Errorf("%d jobs were added: %v", len(list), err)
	}
	for name, payload := range good() {
		if _, err := kind.Enqueue(t.Context(), client, json.RawMessage(payload)); err != nil {
			t.Errorf("%s is refused: %v", name, err)
		}
	}
}

// Middleware must not change a payload. One that does harms only its own enqueue.
func TestMiddlewareThatSpoilsAPayload(t *testing.T) {
	for name, spoil := range map[string]func([]byte){
		"cut":         func(payload []byte) { copy(payload, "nothing") },
		"a backslash": func(payload []byte) { payload[len(payload)-1] = '\\' },
	} {
		client := jobs.New(testdb.SQLite(t), jobs.WithMiddleware(func(next jobs.EnqueueFunc) jobs.EnqueueFunc {
			return func(ctx context.Context, r *jobs.EnqueueRequest) error {
				payload, err := r.Payload(0)
				if err != nil {
					return err
				}
				spoil(payload)
				return next(ctx, r)
			}
		}))
		var invalid *jobs.InvalidError
		if _, err := (jobs.Kind[string]{Name: "echo"}).Enqueue(t.Context(), client, "a payload"); !errors.As(err, &invalid) {
			t.Errorf("%s: the error is %v", name, err)
		}
	}
}

// PostgreSQL accepts the payloads that SQLite accepts, and returns equal ones, in the columns and in the JSON lists of batches.
func TestPostgreSQLTakesTheSamePayloads(t *testing.T) {
	pool := testdb.StartPostgres(t).Pool(t)
	if _, err := testdb.Goose(t, goose.DialectPostgres, pool).UpTo(t.Context(), 1); err != nil {
		t.Fatal(err)
	}
	for name, payload := range good() {
		var one, fromBatch string
		if err := pool.QueryRowContext(t.Context(),
			`INSERT INTO sqluice_jobs (kind, payload) VALUES ('echo', $1) RETURNING payload`, payload).Scan(&one); err != nil {
			t.Errorf("%s is refused: %v", name, err)
			continue
		}
		batch, err := json.Marshal([]string{payload})
		if err != nil {
			t.Fatal(err)
		}
		if err := pool.QueryRowContext(t.Context(),
			`SELECT value FROM jsonb_array_elements_text(CAST(CAST($1 AS text) AS jsonb)) AS e (value)`, string(batch)).Scan(&fromBatch); err != nil {
			t.Errorf("%s is refused in a batch: %v", name, err)
		}
		if one != payload || fromBatch != payload {
			t.Errorf("%s came back as %.200q, from a batch as %.200q, was %.200q", name, one, fromBatch, payload)
		}
	}
}

// A payload that the validator accepts is JSON for Go and for SQLite, and is returned byte for byte; a refused one has
// one of the faults that it names.
func FuzzValidatePayload(f *testing.F) {
	for _, payload := range good() {
		if len(payload) < 1000 {
			f.Add([]byte(payload))
		}
	}
	for _, test := range bad() {
		if len(test.payload) < 1000 {
			f.Add([]byte(test.payload))
		}
	}
	store := testdb.SQLite(f)
	client, pool := jobs.New(store), testdb.PlainSQLite(f, store.Path())
	f.Fuzz(func(t *testing.T, payload []byte) {
		if err := jobs.ValidatePayload(payload); err != nil {
			if why := faultOf(payload); why == "" {
				t.Errorf("%q is refused without a reason: %v", payload, err)
			}
			return
		}
		if !json.Valid(payload) {
			t.Errorf("%q is taken and no JSON for Go", payload)
		}
		var valid bool
		if err := pool.QueryRowContext(t.Context(), `SELECT json_valid(?)`, string(payload)).Scan(&valid); err != nil || !valid {
			t.Errorf("%q is taken and no JSON for SQLite: %v", payload, err)
		}
		one, err := client.Enqueue(t.Context(), "echo", payload)
		if err != nil {
			t.Fatalf("%q is taken and not enqueued: %v", payload, err)
		}
		many, err := receipts.IDs(client.EnqueueMany(t.Context(), "echo", []json.RawMessage{payload, payload}))
		if err != nil {
			t.Fatalf("%q is taken and not enqueued: %v", payload, err)
		}
		for _, id := range append(many, one.ID) {
			job, err := client.Get(t.Context(), id)
			if err != nil || !bytes.Equal(job.Payload, payload) {
				t.Errorf("%q came back as %q: %v", payload, job.Payload, err)
			}
			if err := client.Delete(t.Context(), id); err != nil {
				t.Error(err)
			}
		}
	})
}

// faultOf returns a reason to refuse a payload, by other means than the validator's.
func faultOf(payload []byte) string {
	switch {
	case len(payload) > jobs.MaxPayload:
		return "size"
	case !utf8.Valid(payload):
		return "UTF-8"
	case bytes.Count(payload, []byte("["))+bytes.Count(payload, []byte("{")) > jobs.MaxDepth:
		return "perhaps depth"
	case !json.Valid(payload):
		return "JSON"
	}
	// Go decodes a lone surrogate as U+FFFD; a payload whose strings contain that, or a NUL, while its text does not,
	// has one or the other.
	var text bytes.Buffer
	decoder := json.NewDecoder(bytes.NewReader(payload))
	decoder.UseNumber()
	for {
		token, err := decoder.Token()
		if err != nil {
			break
		}
		fmt.Fprintln(&text, token)
	}
	written := strings.Count(string(payload), "\ufffd") + strings.Count(strings.ToLower(string(payload)), `\ufffd`)
	if strings.Count(text.String(), "\ufffd") > written || bytes.ContainsRune(text.Bytes(), 0) {
		return "surrogate or NUL"
	}
	return ""
}
