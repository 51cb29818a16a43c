package jobtype

import (
	"encoding/json"
	"strings"
	"testing"
)

func TestSettingSourceInJSON(t *testing.T) {
	list := []SettingSource{SettingDefault, SettingOfKind, SettingOfJob}
	text, err := json.Marshal(list)
	if err != nil || string(text) != `["default","kind","job"]` {
		t.Errorf("the sources are %s, %v", text, err)
	}
	var back []SettingSource
	if err := json.Unmarshal(text, &back); err != nil || len(back) != 3 || back[2] != SettingOfJob {
		t.Errorf("read back they are %v, %v", back, err)
	}
	if err := json.Unmarshal([]byte(`["other"]`), &back); err == nil || !strings.Contains(err.Error(), "default, kind or job") {
		t.Errorf("another text: %v", err)
	}
	if s := SettingSource(9).String(); s != "SettingSource(9)" {
		t.Errorf("another number is %s", s)
	}
}
