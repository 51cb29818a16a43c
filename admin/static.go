package admin

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io/fs"
	"net/http"
	"path"
	"strings"
	"time"
)

// file is a style sheet, script or picture of the pages.
type file struct {
	mediaType, tag string
	content        []byte
}

// readFiles reads the pages' files and returns the names under which they are served. A name has a hash of the content, so that
// browsers may cache the file for ever.
func (d *dashboard) readFiles() (map[string]string, error) {
	d.files = map[string]file{}
	names := map[string]string{}
	types := map[string]string{".css": "text/css; charset=utf-8", ".js": "text/javascript; charset=utf-8", ".svg": "image/svg+xml"}
	err := fs.WalkDir(files, "static", func(way string, entry fs.DirEntry, err error) error {
		ending := path.Ext(way)
		if err != nil || entry.IsDir() || types[ending] == "" {
			return err
		}
		content, err := files.ReadFile(way)
		if err != nil {
			return err
		}
		hash := sha256.Sum256(content)
		sum := hex.EncodeToString(hash[:8])
		name := strings.TrimSuffix(path.Base(way), ending) + "." + sum + ending
		names[path.Base(way)] = name
		d.files[name] = file{types[ending], `"` + sum + `"`, content}
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("read the files of the pages: %w", err)
	}
	return names, nil
}

// serveFile answers with a file of the pages.
func (h *Handler) serveFile(w http.ResponseWriter, r *http.Request) {
	f, ok := h.site.files[r.PathValue("name")]
	if !ok {
		h.refuse(w, r, noSuchPath())
		return
	}
	w.Header().Set("Content-Type", f.mediaType)
	w.Header().Set("Cache-Control", "private, max-age=31536000, immutable")
	w.Header().Set("ETag", f.tag)
	http.ServeContent(w, r, "", time.Time{}, bytes.NewReader(f.content))
}
