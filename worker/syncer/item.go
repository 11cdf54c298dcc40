package syncer

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"maps"
	"runtime/debug"
	"sync"
	"time"

	"github.com/google/uuid"
	"golang.org/x/sync/errgroup"

	"github.com/magpie-search/magpie/connectors"
	"github.com/magpie-search/magpie/ent/syncitem"
	entjob "github.com/magpie-search/magpie/ent/syncjob"
	"github.com/magpie-search/magpie/internal/index"
	"github.com/magpie-search/magpie/internal/ingest"
	"github.com/magpie-search/magpie/internal/ingest/document"
	"github.com/magpie-search/magpie/internal/ingest/parse"
	"github.com/magpie-search/magpie/internal/ingest/parse/archive"
	"github.com/magpie-search/magpie/internal/syncjob"
	"github.com/magpie-search/magpie/internal/tracing"
)

// A task is an item whose content must be processed.
type task struct {
	item   connectors.Item
	known  syncjob.ItemState
	member *archive.Entry // for a member of an archive, which has the content
	seen   time.Time      // when the walk listed the item
	place  *place         // while the task runs
}

// A deferral keeps the longest wait among items that must be retried deferred.
type deferral struct {
	mu   sync.Mutex
	wait *waitError
}

func (d *deferral) add(w *waitError) {
	d.mu.Lock()
	defer d.mu.Unlock()
	switch {
	case d.wait == nil, w.hinted && !d.wait.hinted, w.hinted && w.delay > d.wait.delay:
		d.wait = w
	}
}

func (d *deferral) get() *waitError {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.wait
}

// runTasks runs tasks in parallel. It starts no more of them when the source asks
// to wait or the time of the slice is up.
func (s *slice) runTasks(ctx context.Context, tasks []task) error {
	var deferred deferral
	group, groupCtx := errgroup.WithContext(ctx)
	places := newPlaces(s.engine.opt.Parallel)
	timeUp := false
	for i, t := range tasks {
		if t.place = places.take(groupCtx); t.place == nil {
			break
		}
		w := deferred.get()
		// An interrupted archive would have to be read again for its other members,
		// and an interrupted page may be expensive for the source.
		timeUp = i > 0 && t.member == nil && !s.noInterrupt && s.timeUp(ctx)
		if groupCtx.Err() != nil || w != nil && w.hinted || timeUp {
			t.place.end()
			break
		}
		group.Go(func() error {
			defer t.place.end()
			err := s.runTask(groupCtx, t)
			if wait, ok := errors.AsType[*waitError](err); ok {
				deferred.add(wait)
				return nil
			}
			return err
		})
	}
	if err := group.Wait(); err != nil {
		return err
	}
	if w := deferred.get(); w != nil {
		return w
	}
	if err := context.Cause(ctx); err != nil || !timeUp {
		return err
	}
	return errSliceDone
}

// runTask processes one item to its outcome: a document or a ledger entry. An error
// concerns the slice, not the item.
func (s *slice) runTask(ctx context.Context, t task) (err error) {
	defer func() {
		if value := recover(); value != nil {
			s.log.ErrorContext(ctx, "source panicked", slog.String("kind", fmt.Sprintf("%T", value)), slog.String("stack", string(debug.Stack())))
			err = s.recordOutcome(ctx, t, syncitem.StatusFailed, "internal fault while the item was fetched", false)
		}
	}()
	if err := ctx.Err(); err != nil {
		return err // the slice ends
	}
	if t.member != nil {
		return s.processMember(ctx, t)
	}
	if kept, err := s.keepArchive(ctx, t); kept || err != nil {
		return err
	}
	start := time.Now()
	content, release, err := s.fetchInFlight(ctx, t.item)
	s.took.add(&s.took.fetch, start)
	tracing.After(ctx, tracing.Internal, "sync fetch", start, err, slog.Int("magpie.sync.bytes", len(content)))
	defer release()
	switch {
	case errors.Is(err, errTooLarge):
		return s.recordOutcome(ctx, t, syncitem.StatusFailed, tooLarge(s.engine.opt.MaxBytes), false)
	case err != nil:
		return s.handleFetchError(ctx, t, err)
	}
	if s.engine.parser.IsArchive(t.item.Path, t.item.MediaType, content) {
		return s.syncArchive(ctx, t, content)
	}
	return s.process(ctx, t, content)
}

// process stores the document of an item unless its content is stored already.
func (s *slice) process(ctx context.Context, t task, content []byte) error {
	hash := ingest.Hash(content)
	if s.job.Mode != entjob.ModeFull && t.known.Live() && bytes.Equal(t.known.Hash, hash[:]) {
		return s.refreshDocument(ctx, t)
	}
	start := time.Now()
	result, err := s.pipeline.Process(ctx, parse.Input{
		Name: t.item.Path, MediaType: t.item.MediaType, URL: t.item.URL, Title: t.item.Title, Content: content,
	})
	s.took.add(&s.took.process, start)
	if err != nil {
		return s.handleProcessError(ctx, t, err)
	}
	return s.store(ctx, t, int64(len(content)), result)
}

// errTooLarge says that the content of an item exceeds the limit.
var errTooLarge = errors.New("the content is too large")

// fetch reads the content of an item, at most MaxBytes. It extends the reservation
// for content beyond the reserved size.
func (s *slice) fetch(ctx context.Context, item connectors.Item, reserved *reservation) (content []byte, err error) {
	if item.Content != nil {
		s.countFetched(int64(len(item.Content)))
		if int64(len(item.Content)) > s.engine.opt.MaxBytes {
			return nil, errTooLarge
		}
		return item.Content, nil
	}
	reader, err := s.source.Open(ctx, item)
	if err != nil {
		return nil, err // handleFetchError classifies it
	}
	defer func() {
		if closeErr := reader.Close(); err == nil && closeErr != nil {
			content, err = nil, closeErr
		}
	}()
	var b bytes.Buffer
	if item.Size > 0 {
		b.Grow(int(min(item.Size, s.engine.opt.MaxBytes)) + bytes.MinRead)
	}
	n, err := b.ReadFrom(io.LimitReader(reserved.reader(ctx, &countingReader{reader, s.countFetched}), s.engine.opt.MaxBytes+1))
	if err != nil {
		return nil, err // handleFetchError classifies it
	}
	if n > s.engine.opt.MaxBytes {
		return nil, errTooLarge
	}
	return b.Bytes(), nil
}

// countFetched counts fetched content, unless the source reports it.
func (s *slice) countFetched(n int64) {
	if !s.kind.ReportsBytes {
		s.run.AddEffort(func(e *syncjob.Effort) { e.Bytes += n })
	}
}

// A countingReader calls count with the size of every read.
type countingReader struct {
	from  io.Reader
	count func(int64)
}

// Read implements io.Reader.
func (r *countingReader) Read(p []byte) (int, error) {
	n, err := r.from.Read(p)
	r.count(int64(n))
	return n, err
}

func (s *slice) handleFetchError(ctx context.Context, t task, err error) error {
	if ctx.Err() != nil {
		return context.Cause(ctx) // the slice ends
	}
	if errors.Is(err, connectors.ErrNotFound) {
		return s.recordOutcome(ctx, t, syncitem.StatusSkipped, "gone from the source before it could be fetched", false)
	}
	if connectors.IsSkip(err) {
		return s.recordOutcome(ctx, t, syncitem.StatusSkipped, err.Error(), false)
	}
	err = classify(err)
	if _, stop := errors.AsType[*stopError](err); stop {
		return err
	}
	if wait, ok := errors.AsType[*waitError](err); ok && s.mayRetry(wait) {
		return wait
	}
	return s.recordOutcome(ctx, t, syncitem.StatusFailed, "could not be fetched: "+err.Error(), true)
}

// mayRetry reports whether an item is retried in a later slice: always when the
// source says when, otherwise up to the limit of retries without progress.
func (s *slice) mayRetry(w *waitError) bool {
	return w.hinted || s.retries() < s.engine.opt.Retries
}

func (s *slice) handleProcessError(ctx context.Context, t task, err error) error {
	if ctx.Err() != nil {
		return context.Cause(ctx) // the slice ends
	}
	if unsupported, ok := errors.AsType[*document.UnsupportedError](err); ok {
		return s.recordOutcome(ctx, t, syncitem.StatusSkipped, unsupported.Reason, false)
	}
	if service, ok := errors.AsType[serviceError](err); ok {
		return s.handleServiceError(ctx, t, service)
	}
	return s.recordOutcome(ctx, t, syncitem.StatusFailed, err.Error(), errors.Is(err, context.DeadlineExceeded))
}

// A serviceError is an error of a model service, as opposed to one of the document.
// A RetryAfter of 0 is unknown.
type serviceError interface {
	error
	Retryable() bool
	RetryAfter() time.Duration
}

// handleServiceError handles the failure of the embedding model. Only the log gets
// the text of the error.
func (s *slice) handleServiceError(ctx context.Context, t task, err serviceError) error {
	if !err.Retryable() {
		s.log.WarnContext(ctx, "embedding model refused document", slog.String("item", t.item.ID), slog.Any("error", err))
		return s.recordOutcome(ctx, t, syncitem.StatusFailed, "the embedding model refused the document; the log says why", true)
	}
	after := err.RetryAfter()
	if wait := (&waitError{delay: after, hinted: after > 0, cause: err}); s.mayRetry(wait) {
		return wait
	}
	s.log.WarnContext(ctx, "embedding model not available", slog.String("item", t.item.ID), slog.Any("error", err))
	return s.recordOutcome(ctx, t, syncitem.StatusFailed, "the embedding model is not available", true)
}

// recordOutcome records an outcome without a new document. The stored document of
// the item, or the documents of its archive members, keep their content.
func (s *slice) recordOutcome(ctx context.Context, t task, status syncitem.Status, reason string, retryable bool) error {
	if t.member == nil && t.known.Listed {
		if err := s.keepMembers(ctx, t.item.ID); err != nil {
			return err
		}
	}
	return s.recordItemOutcome(ctx, t, status, reason, retryable)
}

// recordItemOutcome is like recordOutcome without the archive members. A stored
// document gets the reason why it is outdated; an item without one gets a failed
// document.
func (s *slice) recordItemOutcome(ctx context.Context, t task, status syncitem.Status, reason string, retryable bool) error {
	entry := syncjob.LedgerEntry{
		SourceID: t.item.ID, Path: t.item.Path, Document: t.known.Document, Status: status, Reason: s.redact(reason), Retryable: retryable,
		SourceVersion: t.item.Version, PipelineVersion: ingest.Version, Container: t.item.Container,
	}
	var err error
	switch {
	case status == syncitem.StatusFailed:
		s.log.InfoContext(ctx, "item failed", slog.String("item", t.item.ID), slog.Bool("retryable", retryable))
		entry.Document, err = s.recordFailure(ctx, t.item, entry.Reason)
	case t.known.Failed():
		entry.Document, err = uuid.Nil, s.forgetFailed(ctx, t.known.Document)
	}
	if err != nil {
		return err
	}
	if err := s.run.Record(ctx, []syncjob.LedgerEntry{entry}); err != nil {
		return err
	}
	s.count(func(c *syncjob.Counters) { c.Outcome(status, false, 1) })
	return nil
}

// recordFailure stores the reason why an item could not be indexed with its
// document.
func (s *slice) recordFailure(ctx context.Context, item connectors.Item, reason string) (uuid.UUID, error) {
	record := s.record(task{item: item})
	record.Title, record.Bytes = item.Title, item.Size
	document, err := s.engine.index.Fail(ctx, s.run.Scope(), s.fence, record, reason)
	if err != nil {
		return uuid.Nil, fmt.Errorf("record a failure: %w", err)
	}
	return document, nil
}

// forgetFailed removes failed documents whose items are not to be indexed.
func (s *slice) forgetFailed(ctx context.Context, documents ...uuid.UUID) error {
	if _, err := s.engine.index.Forget(ctx, s.run.Scope(), documents); err != nil {
		return fmt.Errorf("remove failed documents: %w", err)
	}
	return nil
}

// count changes the counters of the job and notes progress.
func (s *slice) count(change func(*syncjob.Counters)) {
	s.run.Count(change)
	s.progress.Store(true)
}

// refreshDocument records a new version of an item with unchanged content. What changed
// may be who may read it.
func (s *slice) refreshDocument(ctx context.Context, t task) error {
	if err := s.refreshItemReaders(ctx, []connectors.Item{t.item}); err != nil {
		return err
	}
	err := s.engine.index.Refresh(ctx, s.run.Scope(), s.fence, s.record(t))
	if err != nil {
		return s.handleStoreError(ctx, t, err)
	}
	s.count(func(c *syncjob.Counters) { c.Outcome(syncitem.StatusUnchanged, false, 1) })
	return nil
}

// store stores the document of an item.
func (s *slice) store(ctx context.Context, t task, size int64, result *ingest.Result) error {
	record := s.record(t)
	parsed := result.Document
	record.Title, record.Section, record.Version, record.DocType, record.Language = parsed.Title, parsed.Section, parsed.Version, parsed.DocType, parsed.Language
	record.Author, record.Tags = cmp.Or(parsed.Author, t.item.Author), parsed.Tags
	record.Pages = parsed.Pages
	record.CreatedAt, record.UpdatedAt = firstKnown(parsed.CreatedAt, t.item.CreatedAt), firstKnown(parsed.UpdatedAt, t.item.ModifiedAt)
	record.Metadata = metadata(t.item.Metadata, parsed.Metadata)
	record.Bytes, record.Hash, record.Text = size, result.Hash[:], result.Text
	record.Passages, record.Vectors, record.Model = result.Passages, result.Vectors, s.embedder.Model()
	readers, known, err := s.readersOf(ctx, t)
	if err != nil {
		return err
	}
	if record.Readers = readers; known {
		record.ReadersAt = s.engine.opt.Now()
	}
	if record.IsNew = t.known.Document == uuid.Nil; record.MayShare() {
		t.place.leave()
	}
	start := time.Now()
	outcome, err := s.engine.index.Put(ctx, s.run.Scope(), s.fence, record)
	s.took.add(&s.took.store, start)
	tracing.After(ctx, tracing.Internal, "sync store", start, err, slog.Int("magpie.passages", len(record.Passages)))
	if err != nil {
		return s.handleStoreError(ctx, t, err)
	}
	s.recordLag(t)
	s.count(func(c *syncjob.Counters) {
		c.Parsed++
		c.Outcome(syncitem.StatusIndexed, outcome.Added, 1)
	})
	return nil
}

func (s *slice) handleStoreError(ctx context.Context, t task, err error) error {
	switch {
	case ctx.Err() != nil:
		return context.Cause(ctx) // the slice ends
	case isLost(err):
		return syncjob.ErrLost
	case isUnstorable(err):
		s.log.WarnContext(ctx, "item not storable", slog.String("item", t.item.ID), slog.Any("error", err))
		return s.recordOutcome(ctx, t, syncitem.StatusFailed, "could not be stored", false)
	default:
		return fmt.Errorf("store an item: %w", err)
	}
}

// record returns the fields of a record that come from the item.
func (s *slice) record(t task) *index.Record {
	return &index.Record{
		Connector: s.connector.ID, Collection: s.connector.CollectionID,
		SourceID: t.item.ID, Path: t.item.Path, SourceVersion: t.item.Version, URL: t.item.URL,
		CreatedAt: t.item.CreatedAt, UpdatedAt: t.item.ModifiedAt, ProcessedAt: s.engine.opt.Now(),
		Ledger: index.LedgerEntry{JobID: s.job.ID, PipelineVersion: ingest.Version},
	}
}

// firstKnown returns the first time that is not zero.
func firstKnown(times ...time.Time) time.Time {
	for _, t := range times {
		if !t.IsZero() {
			return t
		}
	}
	return time.Time{}
}

// metadata merges the metadata of the source and of the file, which takes
// precedence.
func metadata(source map[string]string, file map[string]any) map[string]any {
	all := make(map[string]any, len(source)+len(file))
	for name, value := range source {
		all[name] = value
	}
	maps.Copy(all, file)
	return all
}
