package model

import (
	"fmt"
	"reflect"
	"slices"
	"time"
)

// differences returns the exported fields, elements and entries in which two values of one type differ. Byte slices and
// times are compared by value; nil and empty are equal for other slices and for maps.
func differences[T any](have, want T) []string {
	return compare("", reflect.ValueOf(&have).Elem(), reflect.ValueOf(&want).Elem())
}

func compare(path string, have, want reflect.Value) []string {
	switch {
	case have.Type() == reflect.TypeFor[time.Time]() || isText(have.Type()):
	case have.Kind() == reflect.Struct:
		var list []string
		for i := range have.NumField() {
			if field := have.Type().Field(i); field.IsExported() {
				list = append(list, compare(path+"."+field.Name, have.Field(i), want.Field(i))...)
			}
		}
		return list
	case have.Kind() == reflect.Slice:
		return compareSlices(path, have, want)
	case have.Kind() == reflect.Map:
		return compareMaps(path, have, want)
	}
	if reflect.DeepEqual(have.Interface(), want.Interface()) {
		return nil
	}
	return []string{fmt.Sprintf("%s is %s, not %s", path, show(have), show(want))}
}

func compareSlices(path string, have, want reflect.Value) []string {
	var list []string
	if have.Len() != want.Len() {
		list = append(list, fmt.Sprintf("%s has %d elements, not %d", path, have.Len(), want.Len()))
	}
	for i := range max(have.Len(), want.Len()) {
		at := fmt.Sprintf("%s[%d]", path, i)
		switch {
		case i >= have.Len():
			list = append(list, fmt.Sprintf("%s is missing: %s", at, show(want.Index(i))))
		case i >= want.Len():
			list = append(list, fmt.Sprintf("%s is too much: %s", at, show(have.Index(i))))
		default:
			list = append(list, compare(at, have.Index(i), want.Index(i))...)
		}
	}
	return list
}

func compareMaps(path string, have, want reflect.Value) []string {
	var list []string
	for _, key := range have.MapKeys() {
		at := fmt.Sprintf("%s[%v]", path, key)
		if other := want.MapIndex(key); other.IsValid() {
			list = append(list, compare(at, have.MapIndex(key), other)...)
		} else {
			list = append(list, fmt.Sprintf("%s is too much: %s", at, show(have.MapIndex(key))))
		}
	}
	for _, key := range want.MapKeys() {
		if !have.MapIndex(key).IsValid() {
			list = append(list, fmt.Sprintf("%s[%v] is missing: %s", path, key, show(want.MapIndex(key))))
		}
	}
	slices.Sort(list)
	return list
}

func isText(t reflect.Type) bool {
	return t.Kind() == reflect.Slice && t.Elem().Kind() == reflect.Uint8
}

func show(v reflect.Value) string {
	switch {
	case isText(v.Type()):
		return fmt.Sprintf("%q", v.Bytes())
	case v.Kind() == reflect.String:
		return fmt.Sprintf("%q", v.String())
	}
	return fmt.Sprintf("%+v", v.Interface())
}
