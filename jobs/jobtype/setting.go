package jobtype

import (
	"fmt"
	"slices"
)

// SettingSource is the source of a setting that a job may leave to its kind. Its text is job, kind or default. It is a number so that a
// job, which is copied for each attempt, stays small.
type SettingSource uint8

const (
	SettingDefault SettingSource = iota // neither of the others has set it
	SettingOfKind                       // the kind's declaration
	SettingOfJob                        // an option of the enqueue, or an update
)

var settingSources = []string{"default", "kind", "job"}

// String returns the text.
func (s SettingSource) String() string {
	if int(s) >= len(settingSources) {
		return fmt.Sprintf("SettingSource(%d)", uint8(s))
	}
	return settingSources[s]
}

// MarshalText returns the text.
func (s SettingSource) MarshalText() ([]byte, error) { return []byte(s.String()), nil }

// UnmarshalText reads the text. Its error is an [InvalidError] for any other one.
func (s *SettingSource) UnmarshalText(text []byte) error {
	i := slices.Index(settingSources, string(text))
	if i < 0 {
		return NewInvalidError("source of a setting", fmt.Sprintf("%.40q", text), "be default, kind or job")
	}
	*s = SettingSource(i)
	return nil
}
