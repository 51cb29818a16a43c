package lifecycle

import (
	"context"

	"github.com/sqluice/sqluice/db"
	"github.com/sqluice/sqluice/internal/queue/cipher"
)

// Hide prepares the texts and results of ends for Finish: it removes the values that their kinds mark as sensitive, and encrypts the rest.
// It runs in the transaction that records the ends, because any process may set marks.
func Hide(ctx context.Context, q db.Querier, ends []*End) error {
	if err := withhold(ctx, q, ends); err != nil {
		return err
	}
	return Encrypt(ends)
}

// Encrypt encrypts the texts and results of ends, each once: a transaction may run again.
func Encrypt(ends []*End) error {
	for _, e := range ends {
		if e.Cipher == nil || e.encrypted {
			continue
		}
		message, err := e.Cipher.Text(e.Job.Kind, cipher.Error, e.Message)
		if err != nil {
			return err
		}
		stack, err := e.Cipher.Text(e.Job.Kind, cipher.Stack, e.Stack)
		if err != nil {
			return err
		}
		if e.Result != nil {
			result, err := e.Cipher.JSON(e.Job.Kind, cipher.Result, []byte(*e.Result))
			if err != nil {
				return err
			}
			e.Result = &result
		}
		e.Message, e.Stack, e.encrypted = message, stack, true
	}
	return nil
}

// Told returns the end's message for logs and observers. It does not decrypt.
func (e *End) Told() string {
	if e.encrypted && e.Message != "" {
		return cipher.Shown(e.Message)
	}
	return e.Message
}
