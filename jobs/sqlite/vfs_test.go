package sqlite

import (
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"modernc.org/libc"
	lib "modernc.org/sqlite/lib"

	"github.com/sqluice/sqluice/internal/faultvfs"
)

func vfsNames(tls *libc.TLS) (names []string) {
	for p := lib.Xsqlite3_vfs_find(tls, 0); p != 0; p = at[lib.Tsqlite3_vfs](p).FpNext {
		names = append(names, libc.GoString(at[lib.Tsqlite3_vfs](p).FzName))
	}
	return names
}

// There is one layer for each default VFS, and never in the place of one.
func TestLayers(t *testing.T) {
	tls := libc.NewTLS()
	t.Cleanup(tls.Close)
	isLayer := func(name string) bool { return strings.HasPrefix(name, "sqluice-") }
	layers := func() []string {
		t.Helper()
		names := vfsNames(tls)
		names = names[slices.IndexFunc(names, isLayer):]
		if i := slices.IndexFunc(names, func(name string) bool { return !isLayer(name) }); i >= 0 {
			t.Errorf("a layer has %s behind it: %q", names[i], names)
		}
		return names
	}
	first, err := useLayer()
	must(t, err)
	before := layers()
	if again, err := useLayer(); err != nil || again != first || len(layers()) != len(before) {
		t.Errorf("the second layer is %s, %v; there are %q, and were %q", again, err, layers(), before)
	}
	disk, err := faultvfs.Install(t.TempDir())
	must(t, err)
	var all sync.WaitGroup
	for range 20 {
		all.Go(func() {
			if over, err := useLayer(); err != nil || over == first {
				t.Errorf("the layer above another default VFS is %s, %v", over, err)
			}
		})
	}
	all.Wait()
	if names := layers(); len(names) > len(before)+1 { // there may be one of another test, whose VFS lay at the same address
		t.Errorf("another default VFS makes the layers %q, which were %q", names, before)
	}
	must(t, disk.Remove())
	if last, err := useLayer(); err != nil || last != first {
		t.Errorf("the layer above the first default VFS is now %s, %v", last, err)
	}
	layers()
}

// A VFS may lie where another one did, of which there is a layer still.
func TestALayerOfAnotherVFSAtTheSameAddress(t *testing.T) {
	tls := libc.NewTLS()
	t.Cleanup(tls.Close)
	first, err := useLayer()
	must(t, err)
	below := at[lib.Tsqlite3_vfs](lib.Xsqlite3_vfs_find(tls, 0))
	longest := below.FmxPathname
	below.FmxPathname++
	t.Cleanup(func() { below.FmxPathname = longest })
	other, err := useLayer()
	must(t, err)
	if other == first {
		t.Error("it has the layer of the one before")
	}
	below.FmxPathname = longest
	if again, err := useLayer(); err != nil || again != first {
		t.Errorf("the first one has the layer %s now, in place of %s: %v", again, first, err)
	}
}

func TestADefaultVFSOfLargeFiles(t *testing.T) {
	tls := libc.NewTLS()
	t.Cleanup(tls.Close)
	below := at[lib.Tsqlite3_vfs](lib.Xsqlite3_vfs_find(tls, 0))
	size := below.FszOsFile
	below.FszOsFile = vfsRoom + 1
	t.Cleanup(func() { below.FszOsFile = size })
	if _, err := Open(t.Context(), filepath.Join(t.TempDir(), "jobs.db")); err == nil || !strings.Contains(err.Error(), "needs 1025 bytes, more than 1024") {
		t.Errorf("it gives %v", err)
	}
	below.FszOsFile = size
	queue(t)
}
