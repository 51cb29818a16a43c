package admin

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"mime"
	"net/http"
	"reflect"
	"time"

	"github.com/sqluice/sqluice/jobs"
)

// decode reads a request's body, one JSON object, into the struct that v points to. It is stricter than package json: names
// match exactly, each occurs once, and null is not accepted for a value. Otherwise a filter that is null or given twice could
// select jobs that the user did not mean.
func decode(r *http.Request, v any) error {
	if err := noQuery(r); err != nil {
		return err
	}
	mediaType, _, err := mime.ParseMediaType(r.Header.Get("Content-Type"))
	if err != nil || mediaType != "application/json" {
		return &problem{Status: http.StatusUnsupportedMediaType, Code: "media-type", Detail: "the body must be JSON, with the Content-Type application/json"}
	}
	in := json.NewDecoder(r.Body)
	if start, err := in.Token(); err != nil || start != json.Delim('{') {
		return badBody(err)
	}
	fields := fieldsOf(v)
	for in.More() {
		name, err := in.Token()
		if err != nil {
			return badBody(err)
		}
		var value json.RawMessage
		if err := in.Decode(&value); err != nil {
			return badBody(err)
		}
		if err := fields.set(name.(string), value); err != nil {
			return err
		}
	}
	if _, err := in.Token(); err != nil {
		return badBody(err)
	}
	if _, err := in.Token(); !errors.Is(err, io.EOF) {
		return badBody(err)
	}
	return nil
}

func badBody(err error) error {
	if tooLarge := (*http.MaxBytesError)(nil); errors.As(err, &tooLarge) {
		return err
	}
	must := "be one JSON document, an object"
	if err != nil {
		must += ": " + err.Error()
	}
	return &jobs.InvalidError{Field: "body", Must: must}
}

// fields holds the fields of a struct that are not set yet, by their names in JSON.
type fields map[string]reflect.Value

func fieldsOf(v any) fields {
	f := fields{}
	f.add(reflect.ValueOf(v).Elem())
	return f
}

// add adds the fields of a struct, and those of structs that are embedded in it.
func (f fields) add(s reflect.Value) {
	for i := range s.NumField() {
		if s.Type().Field(i).Anonymous {
			f.add(s.Field(i))
			continue
		}
		f[s.Type().Field(i).Tag.Get("json")] = s.Field(i)
	}
}

func (f fields) set(name string, value json.RawMessage) error {
	field, known := f[name]
	if !known {
		return &jobs.InvalidError{Field: "body", Must: fmt.Sprintf("have no field %.80q, or not twice", name)}
	}
	delete(f, name)
	_, anything := field.Interface().(json.RawMessage)
	if isNull := string(value) == "null"; isNull && !anything || json.Unmarshal(value, field.Addr().Interface()) != nil {
		return badField(name, fmt.Sprintf("%.80s", value), "be of the type "+typeName(field.Type()))
	}
	if invalid := (*jobs.InvalidError)(nil); !anything && errors.As(jobs.ValidatePayload(value), &invalid) {
		// Package json replaces half a surrogate pair by another character: the filter would select other jobs.
		return badField(name, "", invalid.Must)
	}
	return nil
}

// badField returns the problem with a field, by its name in the body.
func badField(name, value, must string) error {
	detail := (&jobs.InvalidError{Field: name, Value: value, Must: must}).Error()
	return &problem{Status: http.StatusBadRequest, Code: "invalid", Detail: detail, Faults: []fault{{name, value, must}}}
}

// typeName returns the contract's name of a field's type.
func typeName(t reflect.Type) string {
	if t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	switch {
	case t == reflect.TypeFor[time.Time]():
		return "date-time, such as 2026-11-22T09:00:00Z"
	case t.Kind() == reflect.Slice:
		return "array of strings"
	case t.Kind() == reflect.String:
		return "string"
	}
	return "integer"
}
