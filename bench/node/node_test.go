package node

import (
	"errors"
	"testing"
)

func TestIsNewEnough(t *testing.T) {
	for version, want := range map[string]bool{
		"v22.18.0": true, "v22.23.3": true, "v23.0.0": true, "v100.1.0": true,
		"v22.17.1": false, "v20.20.2": false, "v9.99.99": false, "": false, "v22": false, "vx.18.0": false, "v22.x.0": false,
	} {
		if got := isNewEnough(version); got != want {
			t.Errorf("isNewEnough(%q) = %t", version, got)
		}
	}
}

func TestCheckOfAFolderWithoutPackages(t *testing.T) {
	folder := t.TempDir()
	if err := Check(t.Context(), folder); !errors.Is(err, ErrMissing) {
		t.Errorf("Check = %v, not ErrMissing", err)
	}
	if got := Program(folder); got != "node" {
		t.Errorf("Program = %q, not the system's", got)
	}
}
