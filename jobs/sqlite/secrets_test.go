package sqlite_test

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"testing"

	"github.com/sqluice/sqluice/internal/test/conformance"
	"github.com/sqluice/sqluice/jobs"
)

// Encrypted data is in no byte of the database, its WAL and a backup.
func TestNothingOfWhatIsEncryptedIsStored(t *testing.T) {
	conformance.RunSecrets(t, opener(t), func(ctx context.Context, store conformance.Store, text string) ([]string, error) {
		backup := filepath.Join(t.TempDir(), "backup.db")
		if err := jobs.New(store).Backup(ctx, backup); err != nil {
			return nil, err
		}
		path := store.(engine).Path()
		return filesWith(text, path, path+"-wal", backup)
	})
}

// filesWith returns the files that contain a text.
func filesWith(text string, files ...string) (places []string, err error) {
	for _, file := range files {
		data, err := os.ReadFile(file)
		if err != nil {
			return nil, err
		}
		if bytes.Contains(data, []byte(text)) {
			places = append(places, file)
		}
	}
	return places, nil
}
