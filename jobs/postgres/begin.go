package postgres

import (
	"context"
	"errors"
	"fmt"

	"github.com/jackc/pgx/v5"

	"github.com/sqluice/sqluice/internal/queue/engine"
	"github.com/sqluice/sqluice/jobs"
)

// ownTx is a transaction of [jobs.Client.Tx], on a connection of the pool.
type ownTx struct {
	*callersTx
	tx pgx.Tx
}

// BeginOwn implements [engine.Store].
func (s *backend) BeginOwn(ctx context.Context) (engine.OwnTx, error) {
	if err := s.ready(ctx); err != nil {
		return nil, err
	}
	tx, err := s.pool.BeginTx(ctx, pgx.TxOptions{IsoLevel: pgx.ReadCommitted})
	if err != nil {
		return nil, translate(err)
	}
	return &ownTx{&callersTx{conn: tx}, tx}, nil
}

// Commit implements [engine.OwnTx].
func (t *ownTx) Commit(ctx context.Context) error {
	err := translate(t.tx.Commit(context.WithoutCancel(ctx)))
	if lost(err) {
		return fmt.Errorf("%w: %w", jobs.ErrUnknownOutcome, err)
	}
	return err
}

// Rollback implements [engine.OwnTx].
func (t *ownTx) Rollback(ctx context.Context) error {
	if err := t.tx.Rollback(ctx); err != nil && !errors.Is(err, pgx.ErrTxClosed) && !lost(err) {
		return translate(err)
	}
	return nil
}
