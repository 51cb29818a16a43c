package newjob

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"reflect"
	"time"

	"github.com/sqluice/sqluice/jobs"
)

// Decode reads one JSON object, and nothing after it, into the struct that v points to. It is stricter than package json: names match
// exactly, each occurs once, and null is not accepted for a value. Otherwise a filter that is null or given twice could select jobs that
// the caller did not mean. The error is an InvalidError that names the field, or the object by what.
func Decode(r io.Reader, what string, v any) error {
	in := json.NewDecoder(r)
	if start, err := in.Token(); err != nil || start != json.Delim('{') {
		return notOne(what, err)
	}
	fields := fieldsOf(v)
	for in.More() {
		name, err := in.Token()
		if err != nil {
			return notOne(what, err)
		}
		var value json.RawMessage
		if err := in.Decode(&value); err != nil {
			return notOne(what, err)
		}
		if _, known := fields[name.(string)]; !known {
			return &jobs.InvalidError{Field: what, Must: fmt.Sprintf("have no field %.80q, which is unknown or repeated", name)}
		}
		if err := fields.set(name.(string), value); err != nil {
			return err
		}
	}
	if _, err := in.Token(); err != nil {
		return notOne(what, err)
	}
	if _, err := in.Token(); !errors.Is(err, io.EOF) {
		return notOne(what, err)
	}
	return nil
}

// notOne returns the error for a text that is not one JSON object.
func notOne(what string, err error) error {
	must := "be one JSON document, an object"
	if err != nil {
		must += ": " + err.Error()
	}
	return &jobs.InvalidError{Field: what, Must: must}
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
	field := f[name]
	delete(f, name)
	_, anything := field.Interface().(json.RawMessage)
	_, several := field.Interface().([]json.RawMessage) // each is read by itself
	if isNull := string(value) == "null"; isNull && !anything || json.Unmarshal(value, field.Addr().Interface()) != nil {
		return &jobs.InvalidError{Field: name, Value: fmt.Sprintf("%.80s", value), Must: "be of the type " + typeName(field.Type())}
	}
	if invalid := (*jobs.InvalidError)(nil); !anything && !several && errors.As(jobs.ValidatePayload(value), &invalid) {
		// Package json replaces half a surrogate pair by another character: the filter would select other jobs.
		return &jobs.InvalidError{Field: name, Must: invalid.Must}
	}
	return nil
}

// typeName returns the contract's name of a field's type.
func typeName(t reflect.Type) string {
	if t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	switch {
	case t == reflect.TypeFor[time.Time]():
		return "date-time, such as 2026-11-22T09:00:00Z"
	case t == reflect.TypeFor[[]json.RawMessage]():
		return "array of objects"
	case t.Kind() == reflect.Slice:
		return "array of strings"
	case t.Kind() == reflect.String:
		return "string"
	case t.Kind() == reflect.Bool:
		return "boolean"
	}
	return "integer"
}
