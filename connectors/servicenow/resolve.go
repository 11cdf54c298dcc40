package servicenow

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/magpie-search/magpie/connectors"
)

const parallelLookups = 4

var errChanged = errors.New("it was changed meanwhile; the next sync takes the new version")

// row returns the row with an id, if it matches the query of its table.
func (s *source) row(ctx context.Context, t *table, id string) (row, error) {
	return s.rowWhere(ctx, t, "sys_id="+id)
}

func (s *source) rowWhere(ctx context.Context, t *table, condition string) (row, error) {
	page, err := s.api.list(ctx, tablePath(t.name), join(t.query, condition), t.fields(), place{}, 1)
	switch {
	case err != nil:
		return nil, tableError(err, t.name)
	case len(page.rows) == 0:
		return nil, fmt.Errorf("the row does not exist, or the user may not read it: %w", connectors.ErrNotFound)
	}
	return page.rows[0], nil
}

// Open implements [connectors.Source].
func (s *source) Open(ctx context.Context, item connectors.Item) (io.ReadCloser, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	name, id, _ := strings.Cut(item.ID, ":")
	if !isID(id) {
		return nil, fmt.Errorf("this is no row: %w", connectors.ErrNotFound)
	}
	if name == fileTable {
		return s.openFile(ctx, item, id)
	}
	t, ok := s.table(name)
	if !ok {
		return nil, fmt.Errorf("the table is none of the connector's: %w", connectors.ErrNotFound)
	}
	found, err := s.row(ctx, t, id)
	if err != nil {
		return nil, err
	}
	current := s.item(t, found)
	if item.Version != "" && item.Version != current.Version {
		return nil, connectors.Retryable(errChanged, 0)
	}
	return io.NopCloser(bytes.NewReader(current.Content)), nil
}

// Resolve implements [connectors.Resolver] for paths and ids.
func (s *source) Resolve(ctx context.Context, names []string) (found []connectors.Item, missing []string, err error) {
	if err := ctx.Err(); err != nil {
		return nil, nil, err
	}
	return connectors.ResolveEach(ctx, names, parallelLookups, s.resolve)
}

// resolve returns the item with a name.
func (s *source) resolve(ctx context.Context, name string) ([]connectors.Item, error) {
	t, found, err := s.find(ctx, name)
	if err != nil {
		return nil, err
	}
	items, _, err := s.rowItems(ctx, t, []row{found}, connectors.MaxPageItems)
	if err != nil {
		return nil, err
	}
	i := slices.IndexFunc(items, func(item connectors.Item) bool { return item.ID == name || item.Path == name })
	if i < 0 {
		return nil, connectors.ErrNotFound
	}
	return items[i : i+1], nil
}

// find returns the row that a name is of: a path or an id.
func (s *source) find(ctx context.Context, name string) (*table, row, error) {
	table, id, isItemID := strings.Cut(name, ":")
	if isItemID && isID(id) {
		if table == fileTable {
			_, of, t, err := s.file(ctx, id)
			return t, of, err
		}
		if t, ok := s.table(table); ok {
			found, err := s.row(ctx, t, id)
			return t, found, err
		}
	}
	segments := strings.SplitN(name, "/", 3)
	if len(segments) < 2 || len(name) > connectors.MaxIDBytes || strings.ContainsAny(segments[1], "^\x00\n") || segments[1] == "" {
		return nil, nil, connectors.ErrNotFound
	}
	t, ok := s.table(segments[0])
	if !ok {
		return nil, nil, connectors.ErrNotFound
	}
	condition := "number=" + segments[1]
	if id := segments[1][strings.LastIndex(segments[1], "-")+1:]; isID(id) {
		condition = "sys_id=" + id
	}
	found, err := s.rowWhere(ctx, t, condition)
	return t, found, err
}
