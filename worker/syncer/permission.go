package syncer

import (
	"context"
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"strings"
	"sync"

	"github.com/magpie-search/magpie/connectors"
	"github.com/magpie-search/magpie/ent"
	"github.com/magpie-search/magpie/ent/document"
	"github.com/magpie-search/magpie/internal/identity/principal"
	"github.com/magpie-search/magpie/internal/index"
	"github.com/magpie-search/magpie/internal/ingest/entryid"
	"github.com/magpie-search/magpie/internal/syncjob"
)

// The readers of a document are stored with it as principals: nil is everybody, an
// empty list nobody. A document whose readers are unknown is hidden.

// refreshPermissions refreshes the readers of documents and nothing else.
func (s *slice) refreshPermissions(ctx context.Context) error {
	if !s.kind.Permissions {
		s.run.Warn(fmt.Sprintf("Connectors of the type %q import no permissions, so there is nothing to refresh.", s.kind.Name))
		return nil
	}
	due := principal.ConnectorKey{Workspace: s.connector.WorkspaceID, Connector: s.connector.ID}
	groups := s.engine.opt.Groups
	if s.atStart() && groups != nil {
		if err := groups.BeginReaders(ctx, due, s.connector.PermissionsRevision); err != nil {
			return err
		}
	}
	if err := s.refreshReaders(ctx); err != nil {
		return err
	}
	if groups == nil {
		return nil
	}
	return groups.FinishReaders(ctx, due)
}

// atStart reports whether the job has not saved a page yet.
func (s *slice) atStart() bool { return s.job.Cursor == "" && !s.job.Walked }

// refreshReaders refreshes the readers of all documents.
func (s *slice) refreshReaders(ctx context.Context) error {
	imports, enforced := (connectors.Settings{Config: s.connector.Config}).IncludesPermissions()
	if !enforced {
		if !imports {
			s.run.Warn("The connector does not import permissions (config.include_permissions is off): whoever reaches the collection finds everything.")
		}
		return s.setReaders(ctx, false, nil)
	}
	if err := s.openSource(ctx); err != nil {
		return err
	}
	defer s.closeSource(ctx)
	if !s.job.Walked {
		err := s.eachPage(ctx, func(items []connectors.Item) error {
			for part := range slices.Chunk(s.sanitize(items), connectors.MaxPageItems) {
				if err := s.updateReaders(ctx, part); err != nil {
					return err
				}
			}
			return nil
		})
		if err != nil {
			return err
		}
	}
	return s.finishReaders(ctx)
}

// finishReaders reads the groups, after all readers because a source may derive
// groups from them. Documents whose readers the source did not list get none.
func (s *slice) finishReaders(ctx context.Context) error {
	if err := s.readGroups(ctx); err != nil {
		return err
	}
	return s.setReaders(ctx, true, []string{})
}

// readersBatch is the number of documents in one statement.
const readersBatch = 500

// setReaders sets the same readers on all restricted documents, or with unsaid only
// on those whose readers the source never listed, such as documents that it no
// longer has.
func (s *slice) setReaders(ctx context.Context, unsaid bool, readers []string) error {
	for {
		ids, err := s.engine.index.Restricted(ctx, s.run.Scope(), s.connector.ID, unsaid, readersBatch)
		if err != nil || len(ids) == 0 {
			return err
		}
		changes := make([]index.DocumentReaders, len(ids))
		for i, id := range ids {
			changes[i] = index.DocumentReaders{Document: id, Readers: readers, Unsaid: true}
		}
		changed, err := s.engine.index.SetReaders(ctx, s.run.Scope(), s.fence, changes)
		if err != nil {
			return fmt.Errorf("store the readers of documents: %w", err)
		}
		s.count(func(c *syncjob.Counters) {
			c.Modified += changed
			c.Indexed += changed
		})
		if changed == 0 {
			return nil // documents of another collection, or deleted ones
		}
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
	}
}

// updateReaders sets the readers of the documents of items for a job that does
// nothing else.
func (s *slice) updateReaders(ctx context.Context, items []connectors.Item) error {
	documents, changed, err := s.setItemReaders(ctx, items)
	if err != nil || documents == 0 {
		return err
	}
	s.count(func(c *syncjob.Counters) {
		c.Collected += len(items)
		c.Modified += changed
		c.Indexed += changed
		c.Unchanged += documents - changed
	})
	return nil
}

// setItemReaders sets the readers of the documents of items, and of the documents of
// their archive members. It returns the numbers of documents and of changes.
func (s *slice) setItemReaders(ctx context.Context, items []connectors.Item) (documents, changed int, err error) {
	if s.lister == nil {
		return 0, 0, nil
	}
	rows, err := s.documentsOf(ctx, items)
	if err != nil || len(rows) == 0 {
		return 0, 0, err
	}
	readers, err := s.lister.Readers(ctx, items)
	if err != nil {
		return 0, 0, classify(err)
	}
	byKey := make(map[string]string, len(items))
	for _, item := range items {
		byKey[entryid.ArchiveKey(item.ID)] = item.ID
	}
	changes := make([]index.DocumentReaders, len(rows))
	for i, row := range rows {
		item := row.SourceID
		if archive, inside := entryid.Archive(item); inside {
			item = byKey[archive]
		}
		changes[i].Document = row.ID
		changes[i].Readers = s.principals(readers[item])
	}
	changed, err = s.engine.index.SetReaders(ctx, s.run.Scope(), s.fence, changes)
	if err != nil {
		return 0, 0, fmt.Errorf("store the readers of documents: %w", err)
	}
	return len(rows), changed, nil
}

// documentsOf returns the documents of items and of their archive members.
func (s *slice) documentsOf(ctx context.Context, items []connectors.Item) ([]*ent.Document, error) {
	if len(items) == 0 {
		return nil, nil
	}
	ids := make([]string, len(items))
	for i := range items {
		ids[i] = items[i].ID
	}
	rows, err := s.engine.client.Document.Query().
		Where(document.ConnectorID(s.connector.ID), document.StatusIn(document.StatusIndexed, document.StatusFailed),
			document.Or(document.SourceIDIn(ids...), entryid.InArchives(ids...))).
		Select(document.FieldID, document.FieldSourceID).All(ctx)
	if err != nil {
		return nil, fmt.Errorf("find the documents of items: %w", err)
	}
	return rows, nil
}

const unknownReaders = "The source did not say who may see some of its items; nobody finds them until it does."

// readersOf returns the readers of an item. It reports false when the source does
// not know them, which hides the document. An error concerns the slice.
func (s *slice) readersOf(ctx context.Context, t task) (readers []string, known bool, err error) {
	if !s.enforced {
		return nil, false, nil
	}
	item := t.item
	if archive, inside := entryid.Archive(item.ID); inside && t.member != nil {
		item.ID = archive
	}
	answer, err := s.lister.Readers(ctx, []connectors.Item{item})
	if err == nil {
		return s.principals(answer[item.ID]), true, nil
	}
	if ctx.Err() != nil {
		return nil, false, context.Cause(ctx) // the slice ends
	}
	switch err := classify(err).(type) { //nolint:errorlint // what classify makes, unwrapped
	case *stopError:
		return nil, false, err
	case *waitError:
		if s.mayRetry(err) {
			return nil, false, err
		}
	}
	s.log.WarnContext(ctx, "readers of item unknown", slog.String("item", t.item.ID))
	s.run.Warn(unknownReaders)
	return []string{}, false, nil
}

// principals returns readers as the index stores them.
func (s *slice) principals(r connectors.Readers) []string {
	if r.Everyone {
		return nil
	}
	s.groups.add(r.Principals)
	list := principal.Qualify(s.connector.ID, r.Principals)
	slices.Sort(list)
	return slices.Compact(list)
}

// groupNames is the set of groups that the items of a slice are shared with.
type groupNames struct {
	mu   sync.Mutex
	seen map[string]bool
}

func (g *groupNames) add(principals []string) {
	g.mu.Lock()
	defer g.mu.Unlock()
	for _, p := range principals {
		if !strings.HasPrefix(p, "group:") || len(g.seen) >= maxGroupNames {
			continue
		}
		if g.seen == nil {
			g.seen = map[string]bool{}
		}
		g.seen[p] = true
	}
}

// maxGroupNames bounds groupNames. Groups beyond it wait for the next regular
// reading.
const maxGroupNames = 10_000

// requestGroups makes the groups of the connector due when items are shared with
// unknown groups, whose members would otherwise wait for the next regular reading.
func (s *slice) requestGroups(ctx context.Context) error {
	if _, ok := s.source.(connectors.GroupLister); !ok || s.engine.opt.Groups == nil || len(s.groups.seen) == 0 {
		return nil
	}
	due := principal.ConnectorKey{Workspace: s.connector.WorkspaceID, Connector: s.connector.ID}
	return s.engine.opt.Groups.ExpediteGroups(ctx, due, slices.Collect(maps.Keys(s.groups.seen)))
}
