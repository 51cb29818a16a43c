package engine

import (
	"encoding/json"
	"fmt"
)

// Column is a column of one of the queue's tables.
type Column struct{ Table, Name string }

func (c Column) String() string { return c.Table + "." + c.Name }

// ParseColumns returns the columns of a JSON list of [table, column].
func ParseColumns(list string) ([]Column, error) {
	var pairs [][2]string
	if err := json.Unmarshal([]byte(list), &pairs); err != nil {
		return nil, fmt.Errorf("read the columns: %w", err)
	}
	columns := make([]Column, len(pairs))
	for i, pair := range pairs {
		columns[i] = Column{Table: pair[0], Name: pair[1]}
	}
	return columns, nil
}

// ColumnValue is the value of a column in the row with an id: JSON, null for NULL. SQLite gives a floating-point number as its text.
type ColumnValue struct {
	ID    int64
	Value json.RawMessage
}

// MarshalJSON returns [id, value].
func (v ColumnValue) MarshalJSON() ([]byte, error) { return json.Marshal([]any{v.ID, v.Value}) }

// UnmarshalJSON reads [id, value].
func (v *ColumnValue) UnmarshalJSON(text []byte) error {
	var pair [2]json.RawMessage
	if err := json.Unmarshal(text, &pair); err != nil {
		return err
	}
	v.Value = pair[1]
	return json.Unmarshal(pair[0], &v.ID)
}

// ParseColumnValues returns the values of a JSON list of [id, value].
func ParseColumnValues(list string) (values []ColumnValue, err error) {
	if err := json.Unmarshal([]byte(list), &values); err != nil {
		return nil, fmt.Errorf("read the values of a column: %w", err)
	}
	return values, nil
}
