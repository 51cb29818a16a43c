package move

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/sqluice/sqluice/db"
	"github.com/sqluice/sqluice/internal/queue/core"
)

// copySensitive copies the source's marks of sensitive fields to the target, before the jobs: users can read the target during the move.
// The target keeps marks of its own, so the marks of the sides may differ.
func (m *mover) copySensitive(ctx context.Context) error {
	rows, err := core.Value(ctx, m.From.Store.Read, func(ctx context.Context, q db.Querier) ([]db.SensitiveField, error) {
		return q.ListAllSensitiveFields(ctx)
	})
	if err != nil {
		return m.From.fault(fmt.Errorf("read sensitive fields: %w", err))
	}
	if len(rows) == 0 {
		return nil
	}
	items := make([][2]string, len(rows))
	for i, r := range rows {
		items[i] = [2]string{r.Kind, r.Path}
	}
	list, err := json.Marshal(items)
	if err != nil {
		return err
	}
	err = m.To.Store.Write(ctx, func(ctx context.Context, q db.Querier) error {
		if err := m.checkClosed(ctx, q); err != nil {
			return err
		}
		_, err := q.AddSensitiveFields(ctx, db.AddSensitiveFieldsParams{Now: m.To.Store.Now().UnixMicro(), Items: string(list)})
		return err
	})
	if err != nil {
		return m.To.fault(fmt.Errorf("add sensitive fields: %w", err))
	}
	return nil
}
