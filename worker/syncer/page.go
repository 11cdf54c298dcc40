package syncer

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/google/uuid"

	"github.com/magpie-search/magpie/connectors"
	"github.com/magpie-search/magpie/ent/syncitem"
	entjob "github.com/magpie-search/magpie/ent/syncjob"
	"github.com/magpie-search/magpie/internal/index"
	"github.com/magpie-search/magpie/internal/ingest"
	"github.com/magpie-search/magpie/internal/ingest/parse/archive"
	"github.com/magpie-search/magpie/internal/syncjob"
)

const maxVersionBytes = 1024

// page decides every item of a page.
func (s *slice) page(ctx context.Context, items []connectors.Item) error {
	if s.planning {
		return s.planItems(ctx, s.proper(items))
	}
	return s.take(ctx, s.proper(items), s.decide, nil)
}

// decision is how it is said what becomes of an item as far as that can be said
// without its content; fetch means that it cannot, and the entry is a pending one.
type decision func(item connectors.Item, k syncjob.Known, now time.Time) (e syncjob.Entry, fetch bool)

// take looks up what is known of items, writes what can be said at once in one
// statement, and works through the rest. The members are those of an archive, by
// source id, where the items are such.
func (s *slice) take(ctx context.Context, items []connectors.Item, decide decision, members map[string]*archive.Member) error {
	if len(items) == 0 {
		return nil
	}
	ids := make([]string, len(items))
	for i := range items {
		ids[i] = items[i].ID
	}
	known, err := s.run.Look(ctx, ids)
	if err != nil {
		return err
	}
	var entries []syncjob.Entry
	var todo []task
	var hidden []uuid.UUID  // deleted by hand
	var strayed []uuid.UUID // failed documents of items that are to be none
	var without []string    // what was listed before and has no document now
	collected := 0
	now := s.engine.opt.Now()
	for _, item := range items {
		k := known[item.ID]
		if k.Decided() {
			continue // by this job before, and counted then
		}
		if !k.Seen || k.Status == syncitem.StatusDeleted {
			collected++
		}
		entry, fetch := decide(item, k, now)
		switch {
		case fetch:
			todo = append(todo, task{item: item, known: k, member: members[item.ID], seen: now})
		case members == nil && k.Listed && (k.Document == uuid.Nil || k.Failed()):
			without = append(without, item.ID)
		}
		switch {
		case entry.Status == syncitem.StatusFailed:
			if entry.Document, err = s.fail(ctx, item, entry.Reason); err != nil {
				return err
			}
		case entry.Status == syncitem.StatusSkipped && k.Failed():
			strayed, entry.Document = append(strayed, k.Document), uuid.Nil
		}
		if k.Suppressed && k.Live() {
			// Deleted by hand while a worker was storing it.
			hidden = append(hidden, k.Document)
		}
		entries = append(entries, entry)
	}
	if len(hidden) > 0 {
		if _, err := s.engine.index.SoftDelete(ctx, s.run.Scope(), index.Fence{}, hidden); err != nil {
			return fmt.Errorf("delete documents that were deleted by hand: %w", err)
		}
	}
	if err := s.forget(ctx, strayed...); err != nil {
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
	if len(entries) > len(todo) {
		s.progress.Store(true)
	}
	if err := s.keepMembers(ctx, without...); err != nil {
		return err
	}
	return s.workThrough(ctx, todo)
}

// decide is the decision on an item of the source.
func (s *slice) decide(item connectors.Item, k syncjob.Known, now time.Time) (e syncjob.Entry, fetch bool) {
	e = syncjob.Entry{SourceID: item.ID, Path: item.Path, Document: k.Document, Status: syncitem.StatusSkipped}
	if k.Suppressed {
		e.Reason = "deleted by hand"
		return e, false
	}
	if ok, reason := s.filters.Match(item, now); !ok {
		e.Reason = reason
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
	case s.job.Mode == entjob.ModeFull:
	case same && k.Live() && k.DocumentVersion == item.Version &&
		(k.Status == syncitem.StatusIndexed || k.Status == syncitem.StatusUnchanged):
		e.Status, e.SourceVersion, e.PipelineVersion = syncitem.StatusUnchanged, item.Version, ingest.Version
		return e, false
	case k.Reason == archiveReason: // do looks at its members
	case same && k.Status == syncitem.StatusSkipped && k.SourceVersion == item.Version && k.Reason != "":
		// Its content showed that it is none for us, and has not changed.
		e.Reason, e.SourceVersion, e.PipelineVersion = k.Reason, item.Version, ingest.Version
		return e, false
	case s.justProcessed(k, now):
		// What the document is about stays noted, so that the difference is
		// seen once the window is over.
		e.Status, e.SourceVersion, e.PipelineVersion = syncitem.StatusUnchanged, k.SourceVersion, k.PipelineVersion
		e.Reason = s.leftAlone(item, k)
		return e, false
	}
	e.Status = syncitem.StatusPending
	return e, true
}

// justProcessed reports whether an auto sync leaves the document alone because
// it was processed within the window. A newer version that failed is no reason
// to wait.
func (s *slice) justProcessed(k syncjob.Known, now time.Time) bool {
	return s.job.Mode == entjob.ModeAuto && s.job.Cause != entjob.CauseWebhook && s.engine.opt.Window > 0 && k.Live() && k.Status != syncitem.StatusFailed &&
		!k.ProcessedAt.IsZero() && now.Sub(k.ProcessedAt) < s.engine.opt.Window
}

func (s *slice) leftAlone(item connectors.Item, k syncjob.Known) string {
	window := fmt.Sprintf("%d minutes", int(s.engine.opt.Window.Minutes()))
	if item.Version == "" || k.DocumentVersion == item.Version {
		return "processed less than " + window + " ago"
	}
	s.run.Warn("Items changed less than " + window + " after they were last processed and were left as they are; " +
		"a full sync, or an incremental one that names them, takes them now.")
	return "processed less than " + window + " ago and changed since; a full or incremental sync takes it now"
}

// proper makes items storable and names each once, the last one of an id
// counting: a source whose page shifted while it was read may repeat itself.
func (s *slice) proper(items []connectors.Item) []connectors.Item {
	at := make(map[string]int, len(items))
	out := make([]connectors.Item, 0, len(items))
	for _, item := range items {
		if item.ID == "" || len(item.ID) > connectors.MaxIDBytes || !storable(item.ID) {
			s.run.Warn("The source named items without a proper id; they were left out.")
			continue
		}
		if item.Path == "" {
			item.Path = item.ID
		}
		item.Path = shorten(item.Path, connectors.MaxIDBytes)
		if len(item.Version) > maxVersionBytes || !storable(item.Version) {
			sum := sha256.Sum256([]byte(item.Version))
			item.Version = hex.EncodeToString(sum[:])
		}
		if i, twice := at[item.ID]; twice {
			out[i] = item
			continue
		}
		at[item.ID] = len(out)
		out = append(out, item)
	}
	return out
}

// storable says whether the database can hold a text at all.
func storable(text string) bool { return utf8.ValidString(text) && !strings.Contains(text, "\x00") }

// shorten makes a text storable and at most max bytes long.
func shorten(text string, max int) string {
	if !storable(text) {
		text = strings.ReplaceAll(strings.ToValidUTF8(text, "?"), "\x00", "?")
	}
	if len(text) <= max {
		return text
	}
	for max > 0 && !utf8.RuneStart(text[max]) {
		max--
	}
	return text[:max]
}
