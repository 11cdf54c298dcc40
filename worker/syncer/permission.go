package syncer

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"magpie/connectors"
	"magpie/ent"
	"magpie/ent/document"
	"magpie/internal/index"
	"magpie/internal/member"
	"magpie/internal/syncjob"
)

// Who may find a document is stored with it, as principals: nil is everybody, an
// empty list nobody. What the source does not say, or could not be asked, hides.

// refreshPermissions is the work of a job that reads anew who may see what, and
// touches nothing else.
func (s *slice) refreshPermissions(ctx context.Context) error {
	if !s.kind.Permissions {
		s.run.Warn(fmt.Sprintf("Connectors of the type %q import no permissions, so there is nothing to refresh.", s.kind.Name))
		return nil
	}
	if imports, _ := (connectors.Settings{Config: s.connector.Config}).IncludesPermissions(); !imports {
		s.run.Warn("The connector does not import permissions (config.include_permissions is off), so nothing was changed.")
		return nil
	}
	if err := s.openSource(ctx); err != nil {
		return err
	}
	defer s.closeSource(ctx)
	for cursor := s.job.Cursor; ; {
		page, err := s.source.Walk(ctx, cursor)
		if err != nil {
			return classify(err)
		}
		s.run.Spend(func(e *syncjob.Effort) { e.Pages++ })
		for part := range slices.Chunk(s.proper(page.Items), connectors.MaxPageItems) {
			if err := s.refreshReaders(ctx, part); err != nil {
				return err
			}
		}
		if page.Done {
			return s.saved(s.run.SavePage(ctx, cursor, true))
		}
		if page.Next == cursor {
			return &stopError{message: "The source goes round in circles: a page names itself as the next one."}
		}
		cursor = page.Next
		if err := s.saved(s.run.SavePage(ctx, cursor, false)); err != nil {
			return err
		}
		if s.over(ctx) {
			return errSliceOver
		}
	}
}

// refreshReaders gives the documents of some items, and of the members of those
// that are archives, the readers that the items have now.
func (s *slice) refreshReaders(ctx context.Context, items []connectors.Item) error {
	rows, err := s.documentsOf(ctx, items)
	if err != nil || len(rows) == 0 {
		return err
	}
	var readers map[string]connectors.Readers
	if s.enforced {
		if readers, err = s.lister.Readers(ctx, items); err != nil {
			return classify(err)
		}
	}
	byKey := make(map[string]string, len(items))
	for _, item := range items {
		byKey[member.Key(item.ID)] = item.ID
	}
	changes := make([]index.DocumentReaders, len(rows))
	for i, row := range rows {
		item := row.SourceID
		if archive, inside := member.Archive(item); inside {
			item = byKey[archive]
		}
		changes[i].Document = row.ID
		if s.enforced {
			changes[i].Readers = principals(readers[item])
		}
	}
	changed, err := s.engine.index.SetReaders(ctx, s.run.Scope(), s.fence, changes)
	if err != nil {
		return fmt.Errorf("store who may see documents: %w", err)
	}
	s.decided(func(c *syncjob.Counters) {
		c.Collected += len(items)
		c.Modified += changed
		c.Indexed += changed
		c.Unchanged += len(rows) - changed
	})
	return nil
}

func (s *slice) documentsOf(ctx context.Context, items []connectors.Item) ([]*ent.Document, error) {
	if len(items) == 0 {
		return nil, nil
	}
	ids := make([]string, len(items))
	for i := range items {
		ids[i] = items[i].ID
	}
	rows, err := s.engine.client.Document.Query().
		Where(document.ConnectorID(s.connector.ID), document.StatusEQ(document.StatusIndexed),
			document.Or(document.SourceIDIn(ids...), member.Of(ids...))).
		Select(document.FieldID, document.FieldSourceID).All(ctx)
	if err != nil {
		return nil, fmt.Errorf("look for the documents of items: %w", err)
	}
	return rows, nil
}

// readersOf asks who may see what is about to be stored. An error is the
// slice's; a source that cannot say it for this item hides the document.
func (s *slice) readersOf(ctx context.Context, t task) ([]string, error) {
	if !s.enforced {
		return nil, nil
	}
	item := t.item
	if archive, inside := member.Archive(item.ID); inside && t.member != nil {
		item.ID = archive
	}
	readers, err := s.lister.Readers(ctx, []connectors.Item{item})
	if err == nil {
		return principals(readers[item.ID]), nil
	}
	if ctx.Err() != nil {
		return nil, context.Cause(ctx) // the end of the slice
	}
	switch err := classify(err).(type) { //nolint:errorlint // what classify makes, unwrapped
	case *stopError:
		return nil, err
	case *waitError:
		if s.mayWait(err) {
			return nil, err
		}
	}
	s.log.WarnContext(ctx, "the source does not say who may see an item", "item", t.item.ID)
	s.run.Warn("The source did not say who may see some of its items; nobody finds them until it does.")
	return []string{}, nil
}

// principals are readers as the index keeps them.
func principals(r connectors.Readers) []string {
	if r.Everyone {
		return nil
	}
	list := make([]string, 0, len(r.Principals))
	for _, p := range r.Principals {
		if p = strings.TrimSpace(p); p != "" {
			list = append(list, p)
		}
	}
	slices.Sort(list)
	return slices.Compact(list)
}
