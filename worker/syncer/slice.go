package syncer

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"runtime/debug"
	"strings"
	"sync/atomic"
	"time"

	"github.com/magpie-search/magpie/connectors"
	"github.com/magpie-search/magpie/ent"
	entconnector "github.com/magpie-search/magpie/ent/connector"
	entjob "github.com/magpie-search/magpie/ent/syncjob"
	"github.com/magpie-search/magpie/internal/connector/throttle"
	"github.com/magpie-search/magpie/internal/index"
	"github.com/magpie-search/magpie/internal/ingest"
	"github.com/magpie-search/magpie/internal/model/embed"
	"github.com/magpie-search/magpie/internal/syncjob"
	"github.com/magpie-search/magpie/internal/viewer"
)

// A slice is a bounded piece of work on a job by one worker.
type slice struct {
	engine    *Engine
	run       *syncjob.Run
	job       *ent.SyncJob
	connector *ent.Connector
	log       *slog.Logger

	kind     connectors.Kind
	source   connectors.Source
	lister   connectors.PermissionLister // if enforced
	enforced bool                        // documents are restricted to their readers
	within   viewer.Scope                // of work without a job
	secrets  map[string]string           // the opened credentials
	filters  connectors.Filters
	embedder embed.Embedder
	pipeline *ingest.Pipeline
	fence    index.Fence
	start    time.Time
	pages    int
	took     stages
	progress atomic.Bool       // the slice decided an item
	limiter  *throttle.Limiter // of the source's credentials; nil: none
	share    shareCheck
	groups   groupNames
	state    *feedState // of a kind with a feed; nil: none
	isPlan   bool       // the slice only records what a sync would do
	// noInterrupt is set while the slice works on a page that the source cannot
	// list again (connectors.Page).
	noInterrupt bool
}

// work does the slice. It returns nil when the job is complete.
func (s *slice) work(ctx context.Context) (err error) {
	defer func() {
		if value := recover(); value != nil {
			// The value itself may quote a document.
			s.log.ErrorContext(ctx, "sync panicked", slog.String("kind", fmt.Sprintf("%T", value)), slog.String("stack", string(debug.Stack())))
			err = errors.New("a sync panicked")
		}
	}()
	s.start = s.engine.opt.Now()
	ctx = connectors.WithNotices(ctx, func(text string) { s.run.Warn(s.redact(text)) })
	s.fence = index.Fence{Job: s.job.ID, Attempt: s.run.Attempt()}
	if s.job.CancelRequested {
		return syncjob.ErrCanceled
	}
	if err := s.openConnector(ctx); err != nil {
		return err
	}
	switch s.job.Mode {
	case entjob.ModePermissions:
		return s.refreshPermissions(ctx)
	case entjob.ModeDelete:
		return s.deleteQuarantined(ctx)
	case entjob.ModeRestore:
		return s.restoreDeleted(ctx)
	}
	if s.kind.AttachesDatabase() {
		if s.isPlan {
			return &stopError{message: "An attached database has no documents; there is nothing to plan."}
		}
		return s.syncSchema(ctx)
	}
	if err := s.openPipeline(ctx); err != nil {
		return err
	}
	if err := s.openSource(ctx); err != nil {
		return err
	}
	defer s.closeSource(ctx)
	err = s.syncDocuments(ctx)
	if err == nil || errors.Is(err, errSliceDone) { // the next slice does not know the groups of this one
		err = cmp.Or(s.requestGroups(ctx), err)
	}
	return err
}

// syncDocuments walks the source and deletes the documents that it no longer has.
func (s *slice) syncDocuments(ctx context.Context) error {
	if err := s.processDeliveries(ctx); err != nil {
		return err
	}
	if !s.job.Walked {
		if err := s.walk(ctx); err != nil {
			return err
		}
	}
	if s.isSelective() {
		return s.deleteUnseen(ctx)
	}
	if err := s.checkTotal(ctx); err != nil {
		return err
	}
	if err := s.deleteMissing(ctx); err != nil {
		return err
	}
	return s.notePosition(ctx)
}

// isSelective reports whether the job covers only the paths of its file filter.
func (s *slice) isSelective() bool { return len(s.job.FileFilter) > 0 && s.job.Mode != entjob.ModeFull }

// walk covers the source, or the paths of the file filter.
func (s *slice) walk(ctx context.Context) error {
	if !s.isSelective() {
		return s.readSource(ctx)
	}
	if resolver, ok := s.source.(connectors.Resolver); ok {
		return s.resolve(ctx, resolver)
	}
	filter := make(map[string]bool, len(s.job.FileFilter))
	for _, path := range s.job.FileFilter {
		filter[path] = true
	}
	return s.walkPages(ctx, func(i connectors.Item) bool { return filter[strings.TrimLeft(i.Path, "/")] || filter[i.ID] })
}

// openConnector reads the connector and its kind.
func (s *slice) openConnector(ctx context.Context) error {
	e := s.engine
	row, err := e.client.Connector.Get(ctx, s.job.ConnectorID)
	switch {
	case ent.IsNotFound(err):
		return syncjob.ErrLost
	case err != nil:
		return fmt.Errorf("read the connector: %w", err)
	}
	s.connector = row
	if !row.Enabled && s.job.Mode != entjob.ModeDelete && s.job.Mode != entjob.ModeRestore {
		return &stopError{message: "The connector was disabled.", canceled: true}
	}
	if row.Status == entconnector.StatusPaused {
		return syncjob.ErrPaused
	}
	var ok bool
	if s.kind, ok = e.kinds.Lookup(row.Type); !ok {
		return &stopError{message: fmt.Sprintf("This installation has no connectors of the type %q.", row.Type)}
	}
	return nil
}

// openPipeline prepares the pipeline that turns content into documents.
func (s *slice) openPipeline(ctx context.Context) error {
	e := s.engine
	collection, err := e.client.Collection.Get(ctx, s.connector.CollectionID)
	switch {
	case ent.IsNotFound(err):
		return syncjob.ErrLost
	case err != nil:
		return fmt.Errorf("read the collection: %w", err)
	}
	var ok bool
	s.embedder, ok = e.models.Lookup(collection.EmbeddingModel)
	if next := collection.NextEmbeddingModel; !ok && next != nil {
		// Searches cannot use the missing model either.
		s.embedder, ok = e.models.Lookup(*next)
	}
	if !ok {
		return &stopError{message: fmt.Sprintf("The collection's embedding model %q is not set up here.", collection.EmbeddingModel)}
	}
	s.pipeline = ingest.New(e.parser, s.embedder, e.opt.Ingest)
	if s.filters, err = connectors.ParseFilters(s.connector.Config); err != nil {
		return &stopError{message: err.Error(), cause: err}
	}
	return nil
}

// openSource opens the connector's source.
func (s *slice) openSource(ctx context.Context) error {
	settings, err := s.engine.settings(s.scope(), s.connector)
	if err != nil {
		return err
	}
	if err := s.useLimiter(ctx, &settings); err != nil {
		return err
	}
	if err := s.usePlanState(ctx, &settings); err != nil {
		return err
	}
	s.useFeedState(&settings)
	settings.FullWalk = s.isPlan || s.job.Mode == entjob.ModeFull || s.job.Mode == entjob.ModePermissions
	settings.ReportBytes = func(n int64) { s.run.AddEffort(func(e *syncjob.Effort) { e.Bytes += n }) }
	s.secrets = settings.Credentials
	if s.source, err = s.kind.New(ctx, settings); err != nil {
		return classify(err)
	}
	if _, s.enforced = settings.IncludesPermissions(); !s.enforced && s.job.Mode != entjob.ModePermissions {
		return nil
	}
	var lists bool
	if s.lister, lists = s.source.(connectors.PermissionLister); !lists {
		s.closeSource(ctx)
		return &stopError{message: fmt.Sprintf("Connectors of the type %q import no permissions; switch config.include_permissions off.", s.kind.Name)}
	}
	return nil
}

func (s *slice) closeSource(ctx context.Context) {
	if err := s.source.Close(); err != nil {
		s.log.WarnContext(ctx, "source not closed", slog.Any("error", err))
	}
}

// redact removes credentials from a text.
func (s *slice) redact(text string) string { return s.kind.Redact(text, s.secrets) }

// scope returns the workspace of the slice.
func (s *slice) scope() viewer.Scope {
	if s.run == nil {
		return s.within
	}
	return s.run.Scope()
}

// pageDone counts a page and reports whether the slice must end.
func (s *slice) pageDone(ctx context.Context) bool {
	s.pages++
	return s.pages >= s.engine.opt.SlicePages || s.timeUp(ctx)
}
