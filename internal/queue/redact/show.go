package redact

import (
	"context"

	"github.com/sqluice/sqluice/db"
	"github.com/sqluice/sqluice/internal/queue/cipher"
	"github.com/sqluice/sqluice/jobs/jobtype"
)

// View selects the values that a client may show.
type View struct {
	Revealed bool           // show everything that can be shown; otherwise marked values are redacted, and nothing is decrypted
	Errors   bool           // decrypt errors and stacks, whatever Revealed says
	Cipher   *cipher.Cipher // decrypts; nil for none
}

// Rows replaces the columns of jobs, which were read by the same Querier, by the shown ones.
func (v View) Rows(ctx context.Context, q db.Querier, rows []db.Job) error {
	if !v.Revealed {
		if err := Rows(ctx, q, rows); err != nil {
			return err
		}
	}
	for i := range rows {
		row := &rows[i]
		row.Payload = v.json(row.Kind, cipher.Payload, row.Payload)
		if row.Progress != nil {
			*row.Progress = v.json(row.Kind, cipher.Progress, *row.Progress)
		}
		if row.Result != nil {
			*row.Result = v.json(row.Kind, cipher.Result, *row.Result)
		}
		if row.LastError != nil {
			*row.LastError = v.Text(row.Kind, cipher.Error, *row.LastError)
		}
	}
	return nil
}

// json returns the shown form of a JSON column.
func (v View) json(kind string, column cipher.Column, stored string) string {
	if text, ok := v.open(kind, column, stored); ok {
		return text
	}
	return jobtype.EncryptedJSON
}

// Text returns the shown form of a text about a job of a kind.
func (v View) Text(kind string, column cipher.Column, stored string) string {
	if text, ok := v.open(kind, column, stored); ok {
		return text
	}
	return cipher.Shown(stored)
}

// open returns a stored value. It returns false if the value is encrypted and may not be shown, or if the client lacks its key.
func (v View) open(kind string, column cipher.Column, stored string) (string, bool) {
	if !cipher.Encrypted(stored) {
		return stored, true
	}
	if isError := column == cipher.Error || column == cipher.Stack; !v.Revealed && !(v.Errors && isError) {
		return "", false
	}
	text, err := v.Cipher.Open(kind, column, stored)
	return text, err == nil // the error is for the handler, whose attempt fails with it
}
