package syncer

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
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
)

// task is an item whose content has to be looked at.
type task struct {
	item  connectors.Item
	known syncjob.Known
	// member is set for a member of an archive, whose content is at hand.
	member *archive.Member
	seen   time.Time // when the walk met it
}

// deferral gathers the items that have to wait, for which the slice will end.
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

// workThrough does the tasks, some at once. When the source asks to wait, or the
// slice has had its share, no further ones are begun.
func (s *slice) workThrough(ctx context.Context, todo []task) error {
	var later deferral
	group, inner := errgroup.WithContext(ctx)
	group.SetLimit(s.engine.opt.Parallel)
	over := false
	for at, t := range todo {
		if w := later.get(); inner.Err() != nil || w != nil && w.hinted {
			break
		}
		// Members of archives are done with their archive: half of them would have
		// to be read again. So are the items of a page that is dear to its source.
		if over = at > 0 && t.member == nil && !s.whole && s.spent(ctx); over {
			break
		}
		group.Go(func() error {
			err := s.do(inner, t)
			if wait, ok := errors.AsType[*waitError](err); ok {
				later.add(wait)
				return nil
			}
			return err
		})
	}
	if err := group.Wait(); err != nil {
		return err // of our own
	}
	if w := later.get(); w != nil {
		return w
	}
	if err := context.Cause(ctx); err != nil || !over {
		return err // why the slice ends
	}
	return errSliceOver
}

// do brings one item to its outcome: its document, or its line in the ledger.
// An error is the slice's, not the item's.
func (s *slice) do(ctx context.Context, t task) (err error) {
	defer func() {
		if value := recover(); value != nil {
			s.log.ErrorContext(ctx, "a source panicked", "kind", fmt.Sprintf("%T", value), "stack", string(debug.Stack()))
			err = s.settle(ctx, t, syncitem.StatusFailed, "internal fault while the item was fetched", false)
		}
	}()
	if err := ctx.Err(); err != nil {
		return err // the end of the slice
	}
	if t.member != nil {
		return s.doMember(ctx, t)
	}
	if kept, err := s.keepArchive(ctx, t); kept || err != nil {
		return err
	}
	content, landed, err := s.fetchInFlight(ctx, t.item)
	defer landed()
	if err != nil {
		return s.fetchFailed(ctx, t, err)
	}
	if content == nil {
		return s.settle(ctx, t, syncitem.StatusFailed, tooLarge(s.engine.opt.MaxBytes), false)
	}
	if s.engine.parser.IsArchive(t.item.Path, t.item.MediaType, content) {
		return s.expand(ctx, t, content)
	}
	return s.process(ctx, t, content)
}

// process makes the document of an item's content, unless it is the stored one.
func (s *slice) process(ctx context.Context, t task, content []byte) error {
	hash := ingest.Hash(content)
	if s.job.Mode != entjob.ModeFull && t.known.Live() && bytes.Equal(t.known.Hash, hash[:]) {
		return s.refresh(ctx, t)
	}
	result, err := s.pipeline.Process(ctx, parse.Input{
		Name: t.item.Path, MediaType: t.item.MediaType, URL: t.item.URL, Title: t.item.Title, Content: content,
	})
	if err != nil {
		return s.processFailed(ctx, t, err)
	}
	return s.store(ctx, t, int64(len(content)), result)
}

// fetch reads an item's content; nil when it is larger than the limit. What is
// read beyond what was reserved for the item is reserved on the way.
func (s *slice) fetch(ctx context.Context, item connectors.Item, room *reservation) (content []byte, err error) {
	if item.Content != nil {
		s.fetched(int64(len(item.Content)))
		if int64(len(item.Content)) > s.engine.opt.MaxBytes {
			return nil, nil
		}
		return item.Content, nil
	}
	reader, err := s.source.Open(ctx, item)
	if err != nil {
		return nil, err // the connector's, to be classified
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
	n, err := b.ReadFrom(io.LimitReader(room.reader(ctx, &reported{reader, s.fetched}), s.engine.opt.MaxBytes+1))
	if err != nil {
		return nil, err // the connector's, to be classified
	}
	if n > s.engine.opt.MaxBytes {
		return nil, nil // empty content is not nil
	}
	if content = b.Bytes(); content == nil {
		content = []byte{}
	}
	return content, nil
}

// fetched counts content that the engine has read; sources of metered kinds count
// theirs.
func (s *slice) fetched(n int64) {
	if !s.kind.ReportsBytes {
		s.run.Spend(func(e *syncjob.Effort) { e.Bytes += n })
	}
}

// reported tells how much is read as it is.
type reported struct {
	from io.Reader
	tell func(int64)
}

func (r *reported) Read(p []byte) (int, error) {
	n, err := r.from.Read(p)
	r.tell(int64(n))
	return n, err
}

func (s *slice) fetchFailed(ctx context.Context, t task, err error) error {
	if ctx.Err() != nil {
		return context.Cause(ctx) // the end of the slice
	}
	if errors.Is(err, connectors.ErrNotFound) {
		return s.settle(ctx, t, syncitem.StatusSkipped, "gone from the source before it could be fetched", false)
	}
	if connectors.IsSkip(err) {
		return s.settle(ctx, t, syncitem.StatusSkipped, err.Error(), false)
	}
	err = classify(err)
	if _, stop := errors.AsType[*stopError](err); stop {
		return err
	}
	if wait, ok := errors.AsType[*waitError](err); ok && s.mayWait(wait) {
		return wait
	}
	return s.settle(ctx, t, syncitem.StatusFailed, "could not be fetched: "+err.Error(), true)
}

// mayWait reports whether it makes sense to try an item again: always when the
// source says when, else until the job has been repeated often enough without
// any progress.
func (s *slice) mayWait(w *waitError) bool {
	return w.hinted || s.retries() < s.engine.opt.Retries
}

func (s *slice) processFailed(ctx context.Context, t task, err error) error {
	if ctx.Err() != nil {
		return context.Cause(ctx) // the end of the slice
	}
	if unsupported, ok := errors.AsType[*document.UnsupportedError](err); ok {
		return s.settle(ctx, t, syncitem.StatusSkipped, unsupported.Reason, false)
	}
	if service, ok := errors.AsType[serviceError](err); ok {
		return s.serviceFailed(ctx, t, service)
	}
	return s.settle(ctx, t, syncitem.StatusFailed, err.Error(), errors.Is(err, context.DeadlineExceeded))
}

// serviceError is how the clients of model services say that the service is to
// blame and not the document, and when to come back (0: they do not say).
type serviceError interface {
	error
	Retryable() bool
	RetryAfter() time.Duration
}

// serviceFailed looks after an item that the embedding model did not do. What
// the service said is for the log only.
func (s *slice) serviceFailed(ctx context.Context, t task, err serviceError) error {
	if !err.Retryable() {
		s.log.WarnContext(ctx, "the embedding model refused a document", "item", t.item.ID, "error", err)
		return s.settle(ctx, t, syncitem.StatusFailed, "the embedding model refused the document; the log says why", true)
	}
	after := err.RetryAfter()
	if wait := (&waitError{delay: after, hinted: after > 0, cause: err}); s.mayWait(wait) {
		return wait
	}
	s.log.WarnContext(ctx, "the embedding model is not available", "item", t.item.ID, "error", err)
	return s.settle(ctx, t, syncitem.StatusFailed, "the embedding model is not available", true)
}

// settle writes an outcome without a document. What is there of the item, a
// document or those of an archive's members, keeps its content.
func (s *slice) settle(ctx context.Context, t task, status syncitem.Status, reason string, retryable bool) error {
	if t.member == nil && t.known.Listed {
		if err := s.keepMembers(ctx, t.item.ID); err != nil {
			return err
		}
	}
	return s.conclusion(ctx, t, status, reason, retryable)
}

// conclusion writes an outcome. A document that is there says why it is not the
// newest; an item that never became one has a failed document.
func (s *slice) conclusion(ctx context.Context, t task, status syncitem.Status, reason string, retryable bool) error {
	entry := syncjob.Entry{
		SourceID: t.item.ID, Path: t.item.Path, Document: t.known.Document, Status: status, Reason: s.shown(reason), Retryable: retryable,
		SourceVersion: t.item.Version, PipelineVersion: ingest.Version,
	}
	var err error
	switch {
	case status == syncitem.StatusFailed:
		s.log.InfoContext(ctx, "an item failed", "item", t.item.ID, "retryable", retryable)
		entry.Document, err = s.fail(ctx, t.item, entry.Reason)
	case t.known.Failed():
		entry.Document, err = uuid.Nil, s.forget(ctx, t.known.Document)
	}
	if err != nil {
		return err
	}
	if err := s.run.Record(ctx, []syncjob.Entry{entry}); err != nil {
		return err
	}
	s.decided(func(c *syncjob.Counters) { c.Outcome(status, false, 1) })
	return nil
}

// fail notes with the document of an item why it could not be indexed.
func (s *slice) fail(ctx context.Context, item connectors.Item, reason string) (uuid.UUID, error) {
	record := s.record(task{item: item})
	record.Title, record.Bytes = item.Title, item.Size
	document, err := s.engine.index.Fail(ctx, s.run.Scope(), s.fence, record, reason)
	if err != nil {
		return uuid.Nil, fmt.Errorf("note a failure with its document: %w", err)
	}
	return document, nil
}

// forget drops failed documents whose items turned out to be none.
func (s *slice) forget(ctx context.Context, documents ...uuid.UUID) error {
	if _, err := s.engine.index.Forget(ctx, s.run.Scope(), documents); err != nil {
		return fmt.Errorf("forget failed documents: %w", err)
	}
	return nil
}

func (s *slice) decided(count func(*syncjob.Counters)) {
	s.run.Count(count)
	s.progress.Store(true)
}

// refresh notes a new version of an item whose content is the stored one.
func (s *slice) refresh(ctx context.Context, t task) error {
	err := s.engine.index.Refresh(ctx, s.run.Scope(), s.fence, s.record(t))
	if err != nil {
		return s.storeFailed(ctx, t, err)
	}
	s.decided(func(c *syncjob.Counters) { c.Outcome(syncitem.StatusUnchanged, false, 1) })
	return nil
}

func (s *slice) store(ctx context.Context, t task, size int64, result *ingest.Result) error {
	record := s.record(t)
	found := result.Document
	record.Title, record.Section, record.Version, record.DocType, record.Language = found.Title, found.Section, found.Version, found.DocType, found.Language
	record.Author, record.Tags = cmp.Or(found.Author, t.item.Author), found.Tags
	record.Pages = found.Pages
	record.CreatedAt, record.UpdatedAt = firstKnown(found.CreatedAt, t.item.CreatedAt), firstKnown(found.UpdatedAt, t.item.ModifiedAt)
	record.Metadata = metadata(t.item.Metadata, found.Metadata)
	record.Bytes, record.Hash, record.Text = size, result.Hash[:], result.Text
	record.Passages, record.Vectors, record.Model = result.Passages, result.Vectors, s.embedder.Model()
	readers, said, err := s.readersOf(ctx, t)
	if err != nil {
		return err
	}
	if record.Readers = readers; said {
		record.ReadersAt = s.engine.opt.Now()
	}
	outcome, err := s.engine.index.Put(ctx, s.run.Scope(), s.fence, record)
	if err != nil {
		return s.storeFailed(ctx, t, err)
	}
	s.searchable(t)
	s.decided(func(c *syncjob.Counters) {
		c.Parsed++
		c.Outcome(syncitem.StatusIndexed, outcome.Added, 1)
	})
	return nil
}

func (s *slice) storeFailed(ctx context.Context, t task, err error) error {
	switch {
	case ctx.Err() != nil:
		return context.Cause(ctx) // the end of the slice
	case lost(err):
		return syncjob.ErrLost
	case unstorable(err):
		s.log.WarnContext(ctx, "an item could not be stored", "item", t.item.ID, "error", err)
		return s.settle(ctx, t, syncitem.StatusFailed, "could not be stored", false)
	default:
		return fmt.Errorf("store an item: %w", err)
	}
}

// record is what both kinds of stored outcomes have in common.
func (s *slice) record(t task) *index.Record {
	return &index.Record{
		Connector: s.connector.ID, Collection: s.connector.CollectionID,
		SourceID: t.item.ID, Path: t.item.Path, SourceVersion: t.item.Version, URL: t.item.URL,
		CreatedAt: t.item.CreatedAt, UpdatedAt: t.item.ModifiedAt, ProcessedAt: s.engine.opt.Now(),
		Ledger: index.LedgerEntry{JobID: s.job.ID, PipelineVersion: ingest.Version},
	}
}

func firstKnown(times ...time.Time) time.Time {
	for _, t := range times {
		if !t.IsZero() {
			return t
		}
	}
	return time.Time{}
}

// metadata joins what the source and the file say; the file goes first.
func metadata(source map[string]string, file map[string]any) map[string]any {
	all := make(map[string]any, len(source)+len(file))
	for name, value := range source {
		all[name] = value
	}
	for name, value := range file {
		all[name] = value
	}
	return all
}
