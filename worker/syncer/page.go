package syncer

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"log/slog"
	"time"

	"github.com/google/uuid"

	"github.com/magpie-search/magpie/connectors"
	"github.com/magpie-search/magpie/ent/syncitem"
	entjob "github.com/magpie-search/magpie/ent/syncjob"
	"github.com/magpie-search/magpie/internal/index"
	"github.com/magpie-search/magpie/internal/ingest"
	"github.com/magpie-search/magpie/internal/ingest/parse/archive"
	"github.com/magpie-search/magpie/internal/safetext"
	"github.com/magpie-search/magpie/internal/syncjob"
	"github.com/magpie-search/magpie/internal/tracing"
)

const maxVersionBytes = 1024

// processPage processes every item of a page.
func (s *slice) processPage(ctx context.Context, items []connectors.Item) (err error) {
	ctx, span := tracing.Start(ctx, "sync page", slog.Int("magpie.sync.items", len(items)))
	defer func() { endSpan(span, err) }()
	if s.isPlan {
		return s.planItems(ctx, s.sanitize(items))
	}
	return s.decideAll(ctx, s.sanitize(items), s.decide, nil)
}

// A decision returns the outcome of an item. It reports fetch when the outcome
// depends on the content; the entry is then pending.
type decision func(item connectors.Item, k syncjob.ItemState, now time.Time) (e syncjob.LedgerEntry, fetch bool)

// decideAll decides items by the ledger. It records all outcomes in one statement
// and fetches the items that need it. members has the members of an archive by
// source id if the items are such.
func (s *slice) decideAll(ctx context.Context, items []connectors.Item, decide decision, members map[string]*archive.Entry) error {
	if len(items) == 0 {
		return nil
	}
	ids := make([]string, len(items))
	for i := range items {
		ids[i] = items[i].ID
	}
	known, err := s.run.LookUp(ctx, ids)
	if err != nil {
		return err
	}
	var entries []syncjob.LedgerEntry
	var tasks []task
	var suppressed []uuid.UUID // deleted by hand
	var obsolete []uuid.UUID   // failed documents of items that are skipped now
	var undocumented []string  // listed before, without a document now
	var excluded []string      // as undocumented, and excluded by filters
	var moved []task           // unchanged at another path
	collected := 0
	now := s.engine.opt.Now()
	for _, item := range items {
		k := known[item.ID]
		if k.Decided() && !hasChanged(item, k) {
			continue // counted by an earlier slice
		}
		if !k.Seen || k.Status == syncitem.StatusDeleted {
			collected++
		}
		entry, fetch := decide(item, k, now)
		entry.Container = item.Container
		switch {
		case isMoved(item, k, entry):
			moved = append(moved, task{item: item, known: k, seen: now})
		case fetch:
			tasks = append(tasks, task{item: item, known: k, member: members[item.ID], seen: now})
		case members == nil && k.Listed && (k.Document == uuid.Nil || k.Failed()):
			if entry.Reason == "" || !s.isExcluded(item, now) {
				undocumented = append(undocumented, item.ID)
			} else {
				excluded = append(excluded, item.ID)
			}
		}
		switch {
		case entry.Status == syncitem.StatusFailed:
			if entry.Document, err = s.recordFailure(ctx, item, entry.Reason); err != nil {
				return err
			}
		case entry.Status == syncitem.StatusSkipped && k.Failed():
			obsolete, entry.Document = append(obsolete, k.Document), uuid.Nil
		}
		if k.Suppressed && k.Live() {
			// The deletion happened while a worker stored the document.
			suppressed = append(suppressed, k.Document)
		}
		entries = append(entries, entry)
	}
	if len(suppressed) > 0 {
		if _, err := s.engine.index.SoftDelete(ctx, s.run.Scope(), index.Fence{}, suppressed); err != nil {
			return fmt.Errorf("delete suppressed documents: %w", err)
		}
	}
	if err := s.forgetFailed(ctx, obsolete...); err != nil {
		return err
	}
	// An outcome would keep a repetition of the page from moving them.
	if err := s.moveDocuments(ctx, moved); err != nil {
		return err
	}
	if err := s.run.Record(ctx, entries); err != nil {
		return err
	}
	s.run.Count(func(c *syncjob.Counters) {
		c.Collected += collected
		for _, e := range entries {
			c.Outcome(e.Status, false, 1)
		}
	})
	if len(entries) > len(tasks) {
		s.progress.Store(true)
	}
	if err := s.keepMembers(ctx, undocumented...); err != nil {
		return err
	}
	// The documents of an archive go with it.
	if err := s.run.MarkGone(ctx, excluded); err != nil {
		return err
	}
	return s.runTasks(ctx, tasks)
}

// isExcluded reports whether the filters of the connector exclude an item.
func (s *slice) isExcluded(item connectors.Item, now time.Time) bool {
	ok, _ := s.filters.Match(item, now)
	return !ok
}

// hasChanged reports whether an item has changed since this job decided it, as a
// feed or a delivery may say.
func hasChanged(item connectors.Item, k syncjob.ItemState) bool {
	return k.Path != item.Path || item.Version != "" && k.SourceVersion != "" && k.SourceVersion != item.Version
}

// decide is the decision for an item of the source.
func (s *slice) decide(item connectors.Item, k syncjob.ItemState, now time.Time) (e syncjob.LedgerEntry, fetch bool) {
	e = syncjob.LedgerEntry{SourceID: item.ID, Path: item.Path, Document: k.Document, Status: syncitem.StatusSkipped}
	if k.Suppressed {
		e.Reason = "deleted by hand"
		return e, false
	}
	if ok, reason := s.filters.Match(item, now); !ok {
		// The version of the code stays, so that the document is not made again when
		// the filters include the item.
		e.Reason, e.Excluded, e.PipelineVersion = reason, k.Live(), k.PipelineVersion
		return e, false
	}
	if reason, ok := s.engine.parser.Supported(item.Path, item.MediaType); !ok {
		e.Reason = reason
		return e, false
	}
	same := item.Version != "" && k.PipelineVersion == ingest.Version
	switch {
	case item.Size > s.engine.opt.MaxBytes:
		e.Status, e.Reason = syncitem.StatusFailed, tooLarge(s.engine.opt.MaxBytes)
		return e, false
	case same && item.Size < 0 && s.job.Mode != entjob.ModeFull && s.wasTooLarge(item, k):
		e.Status, e.Reason, e.SourceVersion, e.PipelineVersion = syncitem.StatusFailed, tooLarge(s.engine.opt.MaxBytes), item.Version, ingest.Version
		return e, false
	case s.job.Mode == entjob.ModeFull:
	case same && k.Live() && k.DocumentVersion == item.Version &&
		(k.Status == syncitem.StatusIndexed || k.Status == syncitem.StatusUnchanged || k.Status == syncitem.StatusSkipped && k.SourceVersion == ""):
		e.Status, e.SourceVersion, e.PipelineVersion = syncitem.StatusUnchanged, item.Version, ingest.Version
		return e, false
	case k.Reason == archiveReason: // runTask looks at its members
	case same && k.Status == syncitem.StatusSkipped && k.SourceVersion == item.Version && k.Reason != "":
		// The content was unsupported and has not changed.
		e.Reason, e.SourceVersion, e.PipelineVersion = k.Reason, item.Version, ingest.Version
		return e, false
	case s.withinWindow(k, now):
		// The recorded version stays, so that a sync after the window sees the
		// difference.
		e.Status, e.SourceVersion, e.PipelineVersion = syncitem.StatusUnchanged, k.SourceVersion, k.PipelineVersion
		e.Reason = s.windowReason(item, k)
		return e, false
	}
	e.Status = syncitem.StatusPending
	return e, true
}

// wasTooLarge reports whether the content of an unchanged item, whose size the source
// does not tell, is known to be larger than the limit is now.
func (s *slice) wasTooLarge(item connectors.Item, k syncjob.ItemState) bool {
	limit := s.engine.opt.MaxBytes
	return k.Live() && k.DocumentVersion == item.Version && k.Bytes > limit ||
		k.Status == syncitem.StatusFailed && k.SourceVersion == item.Version && k.Reason == tooLarge(limit)
}

// withinWindow reports whether an auto sync skips a document because it was
// processed within the window. A document whose newest version failed is not
// skipped.
func (s *slice) withinWindow(k syncjob.ItemState, now time.Time) bool {
	if s.movesFeed() {
		return false // the change would not be reported again
	}
	return s.job.Mode == entjob.ModeAuto && s.job.Cause != entjob.CauseWebhook && s.engine.opt.Window > 0 && k.Live() && k.Status != syncitem.StatusFailed &&
		!k.ProcessedAt.IsZero() && now.Sub(k.ProcessedAt) < s.engine.opt.Window
}

// windowReason returns the reason of an item that withinWindow skips.
func (s *slice) windowReason(item connectors.Item, k syncjob.ItemState) string {
	window := fmt.Sprintf("%d minutes", int(s.engine.opt.Window.Minutes()))
	if item.Version == "" || k.DocumentVersion == item.Version {
		return "processed less than " + window + " ago"
	}
	s.run.Warn("Items changed less than " + window + " after they were last processed and were left as they are; " +
		"a full sync, or an incremental one that names them, takes them now.")
	return "processed less than " + window + " ago and changed since; a full or incremental sync takes it now"
}

// sanitize returns items with storable fields, one for each id. The last item of an
// id counts: a source whose pages shift while it is listed may repeat itself.
func (s *slice) sanitize(items []connectors.Item) []connectors.Item {
	at := make(map[string]int, len(items))
	out := make([]connectors.Item, 0, len(items))
	for _, item := range items {
		if item.ID == "" || len(item.ID) > connectors.MaxIDBytes || !isStorable(item.ID) {
			s.run.Warn("The source named items without a proper id; they were left out.")
			continue
		}
		if item.Path == "" {
			item.Path = item.ID
		}
		item.Path, item.Container = sanitizePath(item.Path), sanitizePath(item.Container)
		if len(item.Version) > maxVersionBytes || !isStorable(item.Version) {
			sum := sha256.Sum256([]byte(item.Version))
			item.Version = hex.EncodeToString(sum[:])
		}
		if i, ok := at[item.ID]; ok {
			out[i] = item
			continue
		}
		at[item.ID] = len(out)
		out = append(out, item)
	}
	return out
}

// isStorable reports whether the database can store a text unchanged.
func isStorable(text string) bool { return safetext.Storable(text) == text }

// sanitizePath returns a path that the database can store, of bounded length.
func sanitizePath(path string) string {
	return safetext.TruncateBytes(safetext.Storable(path), connectors.MaxIDBytes)
}
