package syncer

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"

	"github.com/magpie-search/magpie/connectors"
	"github.com/magpie-search/magpie/ent"
	"github.com/magpie-search/magpie/ent/document"
	"github.com/magpie-search/magpie/internal/identity/principal"
	"github.com/magpie-search/magpie/internal/index"
	"github.com/magpie-search/magpie/internal/ingest/member"
	"github.com/magpie-search/magpie/internal/syncjob"
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
	due := principal.Due{Workspace: s.connector.WorkspaceID, Connector: s.connector.ID}
	groups := s.engine.opt.Groups
	if s.atStart() && groups != nil {
		if err := groups.BeginReaders(ctx, due, s.connector.PermissionsRevision); err != nil {
			return err
		}
	}
	if err := s.readReaders(ctx); err != nil {
		return err
	}
	if groups == nil {
		return nil
	}
	return groups.EndReaders(ctx, due)
}

// atStart reports whether the job has not finished a page yet.
func (s *slice) atStart() bool { return s.job.Cursor == "" && !s.job.Walked }

// readReaders gives all documents their readers.
func (s *slice) readReaders(ctx context.Context) error {
	imports, enforced := (connectors.Settings{Config: s.connector.Config}).IncludesPermissions()
	if !enforced {
		if !imports {
			s.run.Warn("The connector does not import permissions (config.include_permissions is off): whoever reaches the collection finds everything.")
		}
		return s.allow(ctx, false, nil)
	}
	if err := s.openSource(ctx); err != nil {
		return err
	}
	defer s.closeSource(ctx)
	if !s.job.Walked {
		err := s.eachPage(ctx, func(items []connectors.Item) error {
			for part := range slices.Chunk(s.proper(items), connectors.MaxPageItems) {
				if err := s.refreshReaders(ctx, part); err != nil {
					return err
				}
			}
			return nil
		})
		if err != nil {
			return err
		}
	}
	return s.endReaders(ctx)
}

// endReaders reads the groups, after all readers: a source may make groups of
// what it says of them. Documents that it did not speak of are nobody's.
func (s *slice) endReaders(ctx context.Context) error {
	if err := s.readGroups(ctx); err != nil {
		return err
	}
	return s.allow(ctx, true, []string{})
}

// allowed is how many documents one statement gives other readers.
const allowed = 500

// allow gives documents readers whom the source did not name: all that are for
// some only, or with unsaid those of which the source never said for whom they
// are, such as ones that it does not have any more.
func (s *slice) allow(ctx context.Context, unsaid bool, readers []string) error {
	for {
		ids, err := s.engine.index.Restricted(ctx, s.run.Scope(), s.connector.ID, unsaid, allowed)
		if err != nil || len(ids) == 0 {
			return err
		}
		changes := make([]index.DocumentReaders, len(ids))
		for i, id := range ids {
			changes[i] = index.DocumentReaders{Document: id, Readers: readers, Unsaid: true}
		}
		changed, err := s.engine.index.SetReaders(ctx, s.run.Scope(), s.fence, changes)
		if err != nil {
			return fmt.Errorf("store who may see documents: %w", err)
		}
		s.decided(func(c *syncjob.Counters) {
			c.Modified += changed
			c.Indexed += changed
		})
		if changed == 0 {
			return nil // documents of another collection, or of nobody's any more
		}
		if ctx.Err() != nil {
			return context.Cause(ctx)
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
	readers, err := s.lister.Readers(ctx, items)
	if err != nil {
		return classify(err)
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
		changes[i].Readers = s.principals(readers[item])
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
		Where(document.ConnectorID(s.connector.ID), document.StatusIn(document.StatusIndexed, document.StatusFailed),
			document.Or(document.SourceIDIn(ids...), member.Of(ids...))).
		Select(document.FieldID, document.FieldSourceID).All(ctx)
	if err != nil {
		return nil, fmt.Errorf("look for the documents of items: %w", err)
	}
	return rows, nil
}

// readersOf asks who may see what is about to be stored, and says whether the
// source did answer. An error is the slice's; a source that cannot say it for
// this item hides the document.
func (s *slice) readersOf(ctx context.Context, t task) (readers []string, said bool, err error) {
	if !s.enforced {
		return nil, false, nil
	}
	item := t.item
	if archive, inside := member.Archive(item.ID); inside && t.member != nil {
		item.ID = archive
	}
	answer, err := s.lister.Readers(ctx, []connectors.Item{item})
	if err == nil {
		return s.principals(answer[item.ID]), true, nil
	}
	if ctx.Err() != nil {
		return nil, false, context.Cause(ctx) // the end of the slice
	}
	switch err := classify(err).(type) { //nolint:errorlint // what classify makes, unwrapped
	case *stopError:
		return nil, false, err
	case *waitError:
		if s.mayWait(err) {
			return nil, false, err
		}
	}
	s.log.WarnContext(ctx, "the source does not say who may see an item", "item", t.item.ID)
	s.run.Warn("The source did not say who may see some of its items; nobody finds them until it does.")
	return []string{}, false, nil
}

// principals are readers as the index keeps them.
func (s *slice) principals(r connectors.Readers) []string {
	if r.Everyone {
		return nil
	}
	s.groups.note(r.Principals)
	list := principal.Qualify(s.connector.ID, r.Principals)
	slices.Sort(list)
	return slices.Compact(list)
}

// groupNames are the groups that items were shared with in a slice.
type groupNames struct {
	mu   sync.Mutex
	seen map[string]bool
}

func (g *groupNames) note(principals []string) {
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

// maxGroupNames bounds what a slice remembers; the groups beyond it are read with
// all others, at their time.
const maxGroupNames = 10_000

// hastenGroups has the groups read soon when items were shared with ones that
// are not known yet, whose members would wait for the next reading otherwise.
func (s *slice) hastenGroups(ctx context.Context) error {
	if _, has := s.source.(connectors.GroupLister); !has || s.engine.opt.Groups == nil || len(s.groups.seen) == 0 {
		return nil
	}
	due := principal.Due{Workspace: s.connector.WorkspaceID, Connector: s.connector.ID}
	return s.engine.opt.Groups.Hasten(ctx, due, slices.Collect(maps.Keys(s.groups.seen)))
}
