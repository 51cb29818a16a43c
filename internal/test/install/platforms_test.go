package install

import (
	"os"
	"strings"
	"testing"
)

// The module builds for other systems, tests too.
func TestOtherSystems(t *testing.T) {
	long(t)
	for _, system := range []string{"darwin/arm64", "windows/amd64", "linux/arm64"} {
		t.Run(system, func(t *testing.T) {
			name, machine, _ := strings.Cut(system, "/")
			env := append(os.Environ(), "GOOS="+name, "GOARCH="+machine, "CGO_ENABLED=0")
			goCommand(t, env, root(t), "vet", "-gcflags=all=-N -l", "./...") // without optimizations it compiles sooner
		})
	}
}
