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
	"github.com/magpie-search/magpie/internal/ingest/member"
	"github.com/magpie-search/magpie/internal/ingest/parse"
	"github.com/magpie-search/magpie/internal/ingest/parse/archive"
	"github.com/magpie-search/magpie/internal/syncjob"
)

// An archive is an item without a document: each file in it is an item of its
// own, with its line in the ledger and its document, named by package member.
// Members are told changed from unchanged by their content, and what becomes of
// them when their archive cannot be read is what becomes of any document: it
// stays.
const archiveReason = "archive: its files are documents of their own"

// Bounds of the members that are worked on at once.
const (
	memberBatch = 200
	memberBytes = 16 << 20
)

// expand brings the members of an archive to their outcomes, deletes the
// documents of those that are gone, and settles the archive itself.
func (s *slice) expand(ctx context.Context, t task, content []byte) error {
	var batch []archive.Member
	var stop error // of the slice, not of the archive
	size := 0
	flush := func() error {
		stop = s.takeMembers(ctx, t.item, batch)
		batch, size = nil, 0
		return stop
	}
	in := parse.Input{Name: t.item.Path, MediaType: t.item.MediaType, Content: content, Limits: s.engine.opt.Ingest.Limits}
	err := s.engine.parser.Members(ctx, in, func(m archive.Member) error {
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
		return s.processFailed(ctx, t, err)
	}
	for {
		gone, err := s.run.MissingMembers(ctx, t.item.ID, deletionBatch)
		if err != nil {
			return err
		}
		if len(gone) == 0 {
			if err := s.run.ForgetMembers(ctx, t.item.ID); err != nil {
				return err
			}
			return s.conclusion(ctx, t, syncitem.StatusSkipped, archiveReason, false)
		}
		if err := s.remove(ctx, gone); err != nil {
			return err
		}
	}
}

func (s *slice) takeMembers(ctx context.Context, from connectors.Item, batch []archive.Member) error {
	items := make([]connectors.Item, len(batch))
	members := make(map[string]*archive.Member, len(batch))
	for i := range batch {
		m := &batch[i]
		item := from
		item.ID = member.ID(from.ID, m.Path)
		item.Path = shorten(from.Path+"/"+m.Path, connectors.MaxIDBytes)
		item.Version, item.Title, item.MediaType = "", "", ""
		item.Size = int64(len(m.Content))
		if !m.Modified.IsZero() {
			item.ModifiedAt = m.Modified
		}
		item.Metadata = maps.Clone(from.Metadata)
		if item.Metadata == nil {
			item.Metadata = make(map[string]string)
		}
		item.Metadata["archive"] = from.Path
		items[i], members[item.ID] = item, m
	}
	return s.take(ctx, items, s.decideMember, members)
}

// decideMember is the decision on a member of an archive.
func (s *slice) decideMember(item connectors.Item, k syncjob.Known, now time.Time) (e syncjob.Entry, fetch bool) {
	e = syncjob.Entry{SourceID: item.ID, Path: item.Path, Document: k.Document, Status: syncitem.StatusSkipped, PipelineVersion: ingest.Version}
	if k.Suppressed {
		e.Reason = "deleted by hand"
		return e, false
	}
	if ok, reason := s.memberFilters().Match(item, now); !ok {
		e.Reason = reason
		return e, false
	}
	if reason, ok := s.engine.parser.Supported(item.Path, ""); !ok {
		e.Reason = reason
		return e, false
	}
	e.Status = syncitem.StatusPending
	return e, true
}

// memberFilters are the connector's filters without those that chose the
// archive: patterns to include, and extensions where they are of archives only.
func (s *slice) memberFilters() connectors.Filters {
	filters := s.filters
	filters.Include = nil
	archives := func(extension string) bool { return s.engine.parser.NamesArchive("x." + extension) }
	if !slices.ContainsFunc(filters.Extensions, func(e string) bool { return !archives(e) }) {
		filters.Extensions = nil
	}
	return filters
}

// doMember makes the document of a member.
func (s *slice) doMember(ctx context.Context, t task) error {
	if t.member.Err != nil {
		return s.processFailed(ctx, t, t.member.Err)
	}
	return s.process(ctx, t, t.member.Content)
}

// keepArchive settles an archive that has not changed since its members had
// their outcomes, and reports whether it did.
func (s *slice) keepArchive(ctx context.Context, t task) (bool, error) {
	if stays, err := s.archiveStays(ctx, t.item, t.known); !stays || err != nil {
		return false, err
	}
	return true, s.settle(ctx, t, syncitem.StatusSkipped, archiveReason, false)
}

// archiveStays reports whether an archive and its members are as they were.
func (s *slice) archiveStays(ctx context.Context, item connectors.Item, k syncjob.Known) (bool, error) {
	if k.Reason != archiveReason || s.job.Mode == entjob.ModeFull || k.PipelineVersion != ingest.Version ||
		item.Version == "" || k.SourceVersion != item.Version {
		return false, nil
	}
	unfinished, err := s.run.UnfinishedMembers(ctx, item.ID)
	return err == nil && !unfinished, err
}

// keepMembers counts the members of archives that are not looked into as seen.
func (s *slice) keepMembers(ctx context.Context, archives ...string) error {
	kept, err := s.run.KeepMembers(ctx, archives)
	if err != nil || len(kept) == 0 {
		return err
	}
	s.decided(func(c *syncjob.Counters) {
		for status, n := range kept {
			c.Collected += n
			c.Outcome(status, false, n)
		}
	})
	return nil
}
