package syncer

import (
	"context"
	"maps"
	"slices"
	"time"

	"github.com/magpie-search/magpie/connectors"
	"github.com/magpie-search/magpie/ent/syncitem"
	entjob "github.com/magpie-search/magpie/ent/syncjob"
	"github.com/magpie-search/magpie/internal/ingest"
	"github.com/magpie-search/magpie/internal/ingest/entryid"
	"github.com/magpie-search/magpie/internal/ingest/parse"
	"github.com/magpie-search/magpie/internal/ingest/parse/archive"
	"github.com/magpie-search/magpie/internal/syncjob"
)

// An archive is an item without a document. Each file in it is an item with its own
// ledger entry and document, whose id comes from package member. A member has
// changed when its content has. When the archive cannot be read, the documents of
// its members stay.
const archiveReason = "archive: its files are documents of their own"

// The bounds of a batch of members.
const (
	memberBatch = 200
	memberBytes = 16 << 20
)

// syncArchive processes the members of an archive, deletes the documents of missing
// members and records the outcome of the archive.
func (s *slice) syncArchive(ctx context.Context, t task, content []byte) error {
	var batch []archive.Entry
	var stop error // concerns the slice, not the archive
	size := 0
	flush := func() error {
		stop = s.decideMembers(ctx, t.item, batch)
		batch, size = nil, 0
		return stop
	}
	in := parse.Input{Name: t.item.Path, MediaType: t.item.MediaType, Content: content, Limits: s.engine.opt.Ingest.Limits}
	err := s.engine.parser.Entries(ctx, in, func(m archive.Entry) error {
		batch = append(batch, m)
		if size += len(m.Content); len(batch) < memberBatch && size < memberBytes {
			return nil
		}
		return flush()
	})
	if stop == nil && len(batch) > 0 {
		_ = flush() // sets stop
	}
	switch {
	case stop != nil:
		return stop
	case err != nil:
		return s.handleProcessError(ctx, t, err)
	}
	for {
		gone, err := s.run.MissingArchiveEntries(ctx, t.item.ID, deletionBatch)
		if err != nil {
			return err
		}
		if len(gone) == 0 {
			if err := s.run.ForgetArchiveEntries(ctx, t.item.ID); err != nil {
				return err
			}
			return s.recordItemOutcome(ctx, t, syncitem.StatusSkipped, archiveReason, false)
		}
		if err := s.deleteDocuments(ctx, gone); err != nil {
			return err
		}
	}
}

// decideMembers decides a batch of members of an archive.
func (s *slice) decideMembers(ctx context.Context, parent connectors.Item, batch []archive.Entry) error {
	items := make([]connectors.Item, len(batch))
	members := make(map[string]*archive.Entry, len(batch))
	for i := range batch {
		m := &batch[i]
		item := parent
		item.ID = entryid.New(parent.ID, m.Path)
		item.Path = sanitizePath(parent.Path + "/" + m.Path)
		item.Version, item.Title, item.MediaType = "", "", ""
		item.Size = int64(len(m.Content))
		if !m.Modified.IsZero() {
			item.ModifiedAt = m.Modified
		}
		item.Metadata = maps.Clone(parent.Metadata)
		if item.Metadata == nil {
			item.Metadata = make(map[string]string)
		}
		item.Metadata["archive"] = parent.Path
		items[i], members[item.ID] = item, m
	}
	return s.decideAll(ctx, items, s.decideMember, members)
}

// decideMember is the decision for a member of an archive.
func (s *slice) decideMember(item connectors.Item, k syncjob.ItemState, now time.Time) (e syncjob.LedgerEntry, fetch bool) {
	e = syncjob.LedgerEntry{SourceID: item.ID, Path: item.Path, Document: k.Document, Status: syncitem.StatusSkipped, PipelineVersion: ingest.Version}
	if k.Suppressed {
		e.Reason = "deleted by hand"
		return e, false
	}
	if ok, reason := s.memberFilters().Match(item, now); !ok {
		e.Reason, e.Excluded = reason, k.Live()
		return e, false
	}
	if reason, ok := s.engine.parser.Supported(item.Path, ""); !ok {
		e.Reason = reason
		return e, false
	}
	e.Status = syncitem.StatusPending
	return e, true
}

// memberFilters returns the filters of the connector without those that select
// archives: the include patterns, and extensions if all are of archives.
func (s *slice) memberFilters() connectors.Filters {
	filters := s.filters
	filters.Include = nil
	isArchive := func(extension string) bool { return s.engine.parser.NamesArchive("x." + extension) }
	if !slices.ContainsFunc(filters.Extensions, func(e string) bool { return !isArchive(e) }) {
		filters.Extensions = nil
	}
	return filters
}

// processMember stores the document of a member.
func (s *slice) processMember(ctx context.Context, t task) error {
	if t.member.Err != nil {
		return s.handleProcessError(ctx, t, t.member.Err)
	}
	return s.process(ctx, t, t.member.Content)
}

// keepArchive records the outcome of an unchanged archive. It reports false for any
// other item.
func (s *slice) keepArchive(ctx context.Context, t task) (bool, error) {
	if unchanged, err := s.isArchiveUnchanged(ctx, t.item, t.known); !unchanged || err != nil {
		return false, err
	}
	return true, s.recordOutcome(ctx, t, syncitem.StatusSkipped, archiveReason, false)
}

// isArchiveUnchanged reports whether an archive is unchanged and all its members
// have outcomes.
func (s *slice) isArchiveUnchanged(ctx context.Context, item connectors.Item, k syncjob.ItemState) (bool, error) {
	if k.Reason != archiveReason || s.job.Mode == entjob.ModeFull || k.PipelineVersion != ingest.Version ||
		item.Version == "" || k.SourceVersion != item.Version || k.Path != item.Path {
		return false, nil
	}
	unfinished, err := s.run.HasUnfinishedArchiveEntries(ctx, item.ID)
	return err == nil && !unfinished, err
}

// keepMembers marks the members of archives as seen without reading the archives.
func (s *slice) keepMembers(ctx context.Context, archives ...string) error {
	kept, err := s.run.KeepArchiveEntries(ctx, archives)
	if err != nil || len(kept) == 0 {
		return err
	}
	s.count(func(c *syncjob.Counters) {
		for status, n := range kept {
			c.Collected += n
			c.Outcome(status, false, n)
		}
	})
	return nil
}
