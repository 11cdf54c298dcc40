package project

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"time"

	"github.com/google/uuid"

	"github.com/magpie-search/magpie/internal/index"
	"github.com/magpie-search/magpie/internal/search/engine"
	"github.com/magpie-search/magpie/internal/viewer"
)

// A slice is the work on one collection until its time is over.
type slice struct {
	*Projector
	instance index.Instance
	work     *index.ProjectionWork
	scope    viewer.Scope
	log      *slog.Logger
	start    time.Time

	row     *index.Projection // claimed
	until   time.Time         // the end of the claim, at the earliest
	refusal string            // why the engine refused an object last
}

var (
	// errOutdated is the error of changes that do not belong to the class.
	errOutdated = errors.New("the class belongs to an earlier generation or model of the collection")
	// errLagging is the error of replicas that lack objects.
	errLagging = errors.New("a replica lacks objects")
)

// claim claims the projection, which it adds if there is none.
func (s *slice) claim(ctx context.Context) error {
	began := s.opt.Now()
	// A claim that is canceled while the database makes it would last for the whole lease.
	whole, cancel := context.WithTimeout(context.WithoutCancel(ctx), endTime)
	defer cancel()
	if s.work.Projection != nil {
		row, err := s.index.ClaimProjection(whole, s.scope, s.work.Collection, s.opt.Lease)
		if err != nil {
			return err
		}
		s.row, s.until = row, began.Add(s.opt.Lease)
		return nil
	}
	if !s.work.Wanted {
		return index.ErrProjectionHeld
	}
	row := &index.Projection{
		Collection: s.work.Collection, Class: classOf(s.instance, s.work.Collection, 1), ClassGeneration: 1, IndexGeneration: s.work.Generation,
		Model: s.work.Model, Dimensions: s.opt.Dimensions(s.work.Model), History: s.instance.History, Replicas: 1,
	}
	var err error
	if row.Replicas, err = s.replicas(ctx); err != nil {
		s.noteAway(ctx, err)
		return index.ErrProjectionHeld // the next tick tries again
	}
	if err := s.index.AddProjection(whole, s.scope, row, s.opt.Lease); err != nil {
		return err
	}
	s.row, s.until = row, began.Add(s.opt.Lease)
	return nil
}

// replicas returns the number of replicas for a new class.
func (s *slice) replicas(ctx context.Context) (int, error) {
	ctx, cancel := context.WithTimeout(ctx, s.opt.CallTimeout)
	defer cancel()
	nodes, err := s.backend.Nodes(ctx)
	if err != nil {
		return 0, err
	}
	return max(1, min(s.opt.MaxReplicas, len(nodes))), nil
}

// save stores the projection and keeps the claim.
func (s *slice) save(ctx context.Context) error {
	began := s.opt.Now()
	if err := s.index.SaveProjection(ctx, s.scope, s.row, s.opt.Lease); err != nil {
		return err
	}
	s.until = began.Add(s.opt.Lease)
	return nil
}

// call calls the engine in a time that ends before the claim does.
func (s *slice) call(ctx context.Context, do func(context.Context) error) error {
	if s.until.Sub(s.opt.Now()) < 2*s.opt.CallTimeout {
		if err := s.save(ctx); err != nil {
			return err
		}
	}
	inside, cancel := context.WithTimeout(ctx, s.opt.CallTimeout)
	defer cancel()
	err := do(inside)
	switch {
	case err == nil:
		s.noteAway(ctx, nil)
		return nil
	case ctx.Err() == nil && inside.Err() != nil:
		return &engineError{fmt.Errorf("%w: no answer within %s: %w", engine.ErrUnavailable, s.opt.CallTimeout, err)}
	default:
		return &engineError{err}
	}
}

// An engineError is an error of the engine.
type engineError struct{ error }

// Unwrap returns the error of the engine.
func (e *engineError) Unwrap() error { return e.error }

// remove drops the class of a collection that is not to be in the engine, and then the
// projection.
func (s *slice) remove(ctx context.Context) error {
	if isOwn(s.row.Class, s.instance) {
		// It may be wanted again before the row is gone.
		s.row.State, s.row.Written, s.row.Confirmed = index.ProjectionBuilding, index.Covered{}, index.Covered{}
		if err := s.save(ctx); err != nil {
			return err
		}
		if err := s.call(ctx, func(ctx context.Context) error { return s.backend.Drop(ctx, s.row.Class) }); err != nil {
			return err
		}
	}
	if err := s.index.RemoveProjection(ctx, s.scope, s.row); err != nil {
		return err
	}
	s.endWait(s.row.Collection)
	s.log.InfoContext(ctx, "collection removed from the search engine")
	return nil
}

// renew begins a new class. The old one is an orphan from then on.
func (s *slice) renew(ctx context.Context, why string) error {
	row, old := s.row, s.row.Class
	replicas, err := s.replicas(ctx)
	if err != nil {
		return err
	}
	row.ClassGeneration++
	row.Class = classOf(s.instance, row.Collection, row.ClassGeneration)
	row.IndexGeneration, row.Model, row.Dimensions, row.History = s.work.Generation, s.work.Model, s.opt.Dimensions(s.work.Model), s.instance.History
	row.Replicas, row.State, row.Written, row.Confirmed, row.Objects, row.IsBehind = replicas, index.ProjectionBuilding, index.Covered{}, index.Covered{}, 0, true
	row.Refused = nil
	if err := s.save(ctx); err != nil {
		return err
	}
	s.endWait(row.Collection)
	s.log.InfoContext(ctx, "collection is projected anew", slog.String("reason", why), slog.String("class", row.Class))
	if !isOwn(old, s.instance) {
		return nil
	}
	return s.call(ctx, func(ctx context.Context) error { return s.backend.Drop(ctx, old) })
}

// run projects until everything is confirmed or the time is over.
func (s *slice) run(ctx context.Context) error {
	if s.row.State == index.ProjectionFailed {
		s.row.State = index.ProjectionBuilding
	}
	renewed := false
	for {
		err := s.advance(ctx)
		if !renewed && (errors.Is(err, errOutdated) || errors.Is(err, engine.ErrNoClass)) {
			renewed = true
			if errors.Is(err, errOutdated) {
				// The list of work may be older than the page.
				if err := s.reread(ctx); err != nil {
					return err
				}
				err = s.renew(ctx, "the model or the history of the collection changed")
			} else {
				err = s.renew(ctx, "the engine has lost its class")
			}
			if err == nil {
				continue
			}
		}
		if err != nil {
			return err
		}
		s.noteOutcome()
		return s.release(ctx)
	}
}

// reread reads the model and the generation of the collection again.
func (s *slice) reread(ctx context.Context) error {
	all, err := s.index.ProjectionWork(ctx)
	if err != nil {
		return err
	}
	for i := range all {
		if all[i].Collection == s.work.Collection && all[i].Wanted {
			s.work = &all[i]
			return nil
		}
	}
	return viewer.ErrOutOfScope
}

// advance works on the class until everything is confirmed or the time is over.
func (s *slice) advance(ctx context.Context) error {
	if !s.fits(s.row, s.work, s.instance) {
		return errOutdated
	}
	if s.row.Written == (index.Covered{}) { // later, a class that does not exist is a loss
		class := engine.Class{Name: s.row.Class, Dimensions: s.row.Dimensions, Shards: s.row.Shards, Replicas: s.row.Replicas}
		if err := s.call(ctx, func(ctx context.Context) error { return s.backend.Create(ctx, class) }); err != nil {
			return err
		}
	}
	if err := s.check(ctx); err != nil {
		return err
	}
	for {
		complete, err := s.write(ctx)
		if err != nil {
			return err
		}
		if s.row.Confirmed != s.row.Written && !s.isWaiting(s.row.Collection) {
			if err := s.confirm(ctx); err != nil {
				return err
			}
		}
		if complete && s.row.Confirmed == s.row.Written {
			return s.settle(ctx)
		}
		if complete && s.isWaiting(s.row.Collection) || s.opt.Now().Sub(s.start) >= s.opt.Slice {
			return nil
		}
		if err := ctx.Err(); err != nil {
			return err
		}
	}
}

// settle notes that every replica has everything.
func (s *slice) settle(ctx context.Context) error {
	first := s.row.State != index.ProjectionReady
	s.row.State, s.row.IsBehind = index.ProjectionReady, false
	if first {
		s.log.InfoContext(ctx, "collection is in the search engine", slog.Int64("objects", s.row.Objects), slog.Int64("change", s.row.Confirmed.Change))
	}
	return nil // release stores it
}

// A reader gives the documents of a page to functions.
type reader struct {
	begin func(at index.Position, model string) error
	entry func(*index.Entry) error
}

// Begin implements index.ChangeReader.
func (r *reader) Begin(at index.Position, model string, _ bool) error { return r.begin(at, model) }

// Entry implements index.ChangeReader.
func (r *reader) Entry(e *index.Entry) error { return r.entry(e) }

// gather returns a reader of whole documents, and the batch that it fills.
func (s *slice) gather(ctx context.Context) (*reader, *batch) {
	b := &batch{dimensions: s.row.Dimensions}
	return &reader{
		begin: func(at index.Position, model string) error {
			b.change = at.Change
			return s.checkGeneration(at, model)
		},
		entry: func(e *index.Entry) error {
			if err := ctx.Err(); err != nil {
				return err
			}
			return b.add(e)
		},
	}, b
}

// checkGeneration returns errOutdated for documents that do not belong to the class.
func (s *slice) checkGeneration(at index.Position, model string) error {
	if at.Generation != s.row.IndexGeneration || model != s.row.Model {
		return errOutdated
	}
	return nil
}

// send sends a batch.
func (s *slice) send(ctx context.Context, b *batch) error {
	if len(b.documents) == 0 {
		return nil
	}
	// What is sent must not be undone by a crash of the database.
	if err := s.save(ctx); err != nil {
		return err
	}
	for objects := range b.parts(s.opt.BatchBytes) {
		if err := s.put(ctx, b, objects); err != nil {
			return err
		}
		s.row.Objects += int64(len(objects))
		s.objects.Add(int64(len(objects)))
	}
	return nil
}

// write sends the next page of changes. It reports whether there was nothing after it.
func (s *slice) write(ctx context.Context) (complete bool, err error) {
	if s.row.Written.Document == uuid.Nil && s.row.Written.Change >= s.work.Change {
		// There was nothing when the work was listed. The next tick lists what came since.
		return true, nil
	}
	together := s.row.Confirmed == s.row.Written
	r, b := s.gather(ctx)
	end, err := s.index.ChangePage(ctx, s.scope, s.row.Collection,
		index.ChangePage{After: s.row.Written.Position(), Documents: s.opt.Documents, Passages: s.opt.Passages}, r)
	if err != nil {
		return false, err
	}
	s.row.IsBehind = s.row.IsBehind || end.At.Change > s.row.Confirmed.Change
	if err := s.send(ctx, b); err != nil {
		return false, err
	}
	if err := s.deleteOlder(ctx, b.documents, b.change); err != nil {
		return false, err
	}
	if err := s.noteRefused(b); err != nil {
		return false, err
	}
	s.row.Written = covered(end, index.Covered{Change: end.At.Change})
	if together {
		switch err := s.ask(ctx, b.passages(), b.change); {
		case err == nil:
			s.row.Confirmed = s.row.Written
		case errors.Is(err, errLagging), errors.Is(err, engine.ErrUnavailable):
			s.lag(ctx, err)
		default:
			return false, err
		}
	}
	return end.IsComplete, s.save(ctx)
}

// covered returns what is done after a page, which for a complete page is all.
func covered(end index.PageEnd, all index.Covered) index.Covered {
	if end.IsComplete {
		return all
	}
	return index.Covered{Change: end.Last.Number - 1, Document: end.Last.Document}
}

// ask returns errLagging if a replica lacks passages with at least a change number.
func (s *slice) ask(ctx context.Context, passages []uuid.UUID, change int64) error {
	missing, err := s.missing(ctx, passages, change)
	if err == nil && len(missing) > 0 {
		return fmt.Errorf("%w: %d of %d", errLagging, len(missing), len(passages))
	}
	return err
}

func (s *slice) missing(ctx context.Context, passages []uuid.UUID, change int64) (missing []uuid.UUID, err error) {
	for some := range slices.Chunk(passages, s.opt.Passages) {
		if err := s.call(ctx, func(ctx context.Context) error {
			lacking, err := s.backend.Missing(ctx, s.row.Class, some, change)
			missing = append(missing, lacking...)
			return err
		}); err != nil {
			return nil, err
		}
	}
	return missing, nil
}

// lag notes that the replicas could not be asked, or lack objects.
func (s *slice) lag(ctx context.Context, err error) {
	if s.waitForReplicas(s.row.Collection) && ctx.Err() == nil {
		s.log.WarnContext(ctx, "replicas of the search engine lag, confirmation waits", slog.Any("error", err))
	}
}

// confirm asks the replicas for the next page of what was sent, and sends again what one
// of them lacks.
func (s *slice) confirm(ctx context.Context) error {
	err := s.confirmPage(ctx)
	if errors.Is(err, errLagging) || errors.Is(err, engine.ErrUnavailable) {
		s.lag(ctx, err)
		return nil
	}
	if err != nil {
		return err
	}
	if s.endWait(s.row.Collection) {
		s.log.InfoContext(ctx, "replicas of the search engine have caught up")
	}
	return s.save(ctx)
}

func (s *slice) confirmPage(ctx context.Context) error {
	owner := map[uuid.UUID]uuid.UUID{} // document by passage
	var documents, passages []uuid.UUID
	end, err := s.index.ChangePage(ctx, s.scope, s.row.Collection, index.ChangePage{
		After: s.row.Confirmed.Position(), Until: s.row.Written.Position(), Documents: s.opt.Documents, Passages: s.opt.Passages, Bare: true,
	}, s.lister(func(e *index.Entry) {
		documents = append(documents, e.Document)
		for i := range e.Passages {
			passages, owner[e.Passages[i].ID] = append(passages, e.Passages[i].ID), e.Document
		}
	}))
	if err != nil {
		return err
	}
	// An object must have the newest change of its document. That of the last one is at least
	// as new.
	missing, err := s.missing(ctx, passages, end.Last.Number)
	if err != nil {
		return err
	}
	if len(missing) > 0 {
		if err := s.resend(ctx, missing, owner, end.Last.Number); err != nil {
			return err
		}
	}
	// A replica that was away may have objects that no other had when they were deleted. The
	// engine would copy them to the others.
	if err := s.deleteOlder(ctx, documents, end.Last.Number); err != nil {
		return err
	}
	s.row.Confirmed = covered(end, s.row.Written)
	return nil
}

// deleteOlder deletes the objects of documents that are older than a change.
func (s *slice) deleteOlder(ctx context.Context, documents []uuid.UUID, change int64) error {
	if len(documents) == 0 {
		return nil
	}
	return s.call(ctx, func(ctx context.Context) error { return s.backend.Delete(ctx, s.row.Class, documents, change) })
}

// lister returns a reader that only lists documents.
func (s *slice) lister(add func(*index.Entry)) *reader {
	return &reader{begin: s.checkGeneration, entry: func(e *index.Entry) error { add(e); return nil }}
}

// resend sends the documents of missing passages again, and asks once more.
func (s *slice) resend(ctx context.Context, missing []uuid.UUID, owner map[uuid.UUID]uuid.UUID, change int64) error {
	seen := map[uuid.UUID]bool{}
	var documents []uuid.UUID
	for _, passage := range missing {
		document, known := owner[passage]
		if known && !seen[document] {
			seen[document] = true
			documents = append(documents, document)
		}
	}
	r, b := s.gather(ctx)
	// A document that has changed since comes again by its newer change.
	if err := s.index.Entries(ctx, s.scope, s.row.Collection, documents, false, r); err != nil {
		return err
	}
	if err := s.send(ctx, b); err != nil {
		return err
	}
	if err := s.noteRefused(b); err != nil {
		return err
	}
	s.log.InfoContext(ctx, "objects sent to the search engine again", slog.Int("objects", len(b.objects)))
	return s.ask(ctx, b.passages(), change)
}

// Numbers of the documents that check looks at.
const (
	checkStarts = 8
	checkEach   = 8
)

// check looks at whether the replicas still have some of the confirmed objects. If one
// does not, everything is confirmed anew.
func (s *slice) check(ctx context.Context) error {
	if s.row.State != index.ProjectionReady || s.row.CheckedAgo < s.opt.CheckEvery {
		return nil
	}
	starts := []uuid.UUID{uuid.Nil}
	for len(starts) < checkStarts {
		starts = append(starts, uuid.New())
	}
	documents, err := s.index.SampleDocuments(ctx, s.scope, s.row.Collection, s.row.Confirmed.Change, starts, checkEach)
	if err != nil {
		return err
	}
	documents = slices.DeleteFunc(documents, s.isRefused)
	var passages []uuid.UUID
	if err := s.index.Entries(ctx, s.scope, s.row.Collection, documents, true, s.lister(func(e *index.Entry) {
		for i := range e.Passages {
			passages = append(passages, e.Passages[i].ID)
		}
	})); err != nil {
		return err
	}
	if len(passages) > s.opt.Passages {
		passages = passages[:s.opt.Passages]
	}
	s.row.Checked, s.row.CheckedAgo = true, 0
	missing, err := s.missing(ctx, passages, 0)
	switch {
	case errors.Is(err, engine.ErrUnavailable):
		return nil // nothing is known
	case err != nil:
		return err
	case len(missing) == 0:
		return s.retryRefused(ctx)
	}
	s.log.WarnContext(ctx, "search engine has lost objects, all are confirmed anew", slog.Int("missing", len(missing)), slog.Int("of", len(passages)))
	s.row.State, s.row.Confirmed, s.row.IsBehind = index.ProjectionBuilding, index.Covered{}, true
	return s.save(ctx)
}

// endTime bounds the last write of a slice.
const endTime = 5 * time.Second

// release stores the projection and ends the claim.
func (s *slice) release(ctx context.Context) error {
	if s.row == nil {
		return nil
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), endTime)
	defer cancel()
	err := s.index.SaveProjection(ctx, s.scope, s.row, 0)
	if errors.Is(err, index.ErrProjectionHeld) {
		return nil
	}
	return err
}

// maxError bounds the stored text of an error, in bytes.
const maxError = 500

// fail stores why a slice failed, and when there is another one. Failures of the engine
// are not returned.
func (s *slice) fail(ctx context.Context, err error) error {
	var own *engineError
	if s.row == nil || !errors.As(err, &own) {
		return errors.Join(err, s.release(ctx))
	}
	away := errors.Is(err, engine.ErrUnavailable)
	s.row.RetryIn = pause(s.row.Failures)
	s.row.Failures++
	s.row.LastError = shorten(err.Error())
	if !away && s.row.State == index.ProjectionBuilding {
		s.row.State = index.ProjectionFailed
	}
	if away {
		s.noteAway(ctx, err)
		err = nil
	}
	return errors.Join(err, s.release(ctx))
}

func shorten(text string) string {
	if len(text) <= maxError {
		return text
	}
	return text[:maxError] + "…"
}
