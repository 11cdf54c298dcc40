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
	"github.com/magpie-search/magpie/internal/connector/pace"
	"github.com/magpie-search/magpie/internal/index"
	"github.com/magpie-search/magpie/internal/ingest"
	"github.com/magpie-search/magpie/internal/model/embed"
	"github.com/magpie-search/magpie/internal/syncjob"
	"github.com/magpie-search/magpie/internal/viewer"
)

// slice is one worker's turn at a job.
type slice struct {
	engine    *Engine
	run       *syncjob.Run
	job       *ent.SyncJob
	connector *ent.Connector
	log       *slog.Logger

	kind     connectors.Kind
	source   connectors.Source
	lister   connectors.PermissionLister // with enforced
	enforced bool                        // documents are for their readers only
	within   viewer.Scope                // of what is done outside of a job
	secrets  map[string]string           // the opened credentials
	filters  connectors.Filters
	embedder embed.Embedder
	pipeline *ingest.Pipeline
	fence    index.Fence
	began    time.Time
	pages    int
	progress atomic.Bool // something was decided in this slice
	line     *pace.Line  // of the source's credentials; nil: none
	turn     turn
	groups   groupNames
	planning bool // nothing is done, it is only written down what would be
	whole    bool // the page at work is not to be had again (connectors.Page)
}

// work does the slice. Nil means that the job has nothing more to do.
func (s *slice) work(ctx context.Context) (err error) {
	defer func() {
		if value := recover(); value != nil {
			// The value may quote a document.
			s.log.ErrorContext(ctx, "a sync panicked", "kind", fmt.Sprintf("%T", value), "stack", string(debug.Stack()))
			err = errors.New("a sync panicked")
		}
	}()
	s.began = s.engine.opt.Now()
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
		if s.planning {
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
	err = s.bring(ctx)
	if err == nil || errors.Is(err, errSliceOver) { // the next slice knows nothing of what this one met
		err = cmp.Or(s.hastenGroups(ctx), err)
	}
	return err
}

// bring walks the source, and ends what is gone from it.
func (s *slice) bring(ctx context.Context) error {
	if err := s.absorb(ctx); err != nil {
		return err
	}
	if !s.job.Walked {
		if err := s.walk(ctx); err != nil {
			return err
		}
	}
	if s.named() {
		return s.deleteUnmet(ctx)
	}
	return s.deleteMissing(ctx)
}

// named reports whether the job looks at named paths only.
func (s *slice) named() bool { return len(s.job.FileFilter) > 0 && s.job.Mode != entjob.ModeFull }

func (s *slice) walk(ctx context.Context) error {
	if !s.named() {
		return s.walkPages(ctx, nil)
	}
	if resolver, ok := s.source.(connectors.Resolver); ok {
		return s.resolve(ctx, resolver)
	}
	named := make(map[string]bool, len(s.job.FileFilter))
	for _, path := range s.job.FileFilter {
		named[path] = true
	}
	return s.walkPages(ctx, func(i connectors.Item) bool { return named[strings.TrimLeft(i.Path, "/")] || named[i.ID] })
}

// openConnector reads the connector.
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
	var known bool
	if s.kind, known = e.kinds.Lookup(row.Type); !known {
		return &stopError{message: fmt.Sprintf("This installation has no connectors of the type %q.", row.Type)}
	}
	return nil
}

// openPipeline prepares what makes documents of content.
func (s *slice) openPipeline(ctx context.Context) error {
	e := s.engine
	collection, err := e.client.Collection.Get(ctx, s.connector.CollectionID)
	switch {
	case ent.IsNotFound(err):
		return syncjob.ErrLost
	case err != nil:
		return fmt.Errorf("read the collection: %w", err)
	}
	var known bool
	s.embedder, known = e.models.Lookup(collection.EmbeddingModel)
	if next := collection.NextEmbeddingModel; !known && next != nil {
		// Nobody can search by the old model either.
		s.embedder, known = e.models.Lookup(*next)
	}
	if !known {
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
	if err := s.queueUp(ctx, &settings); err != nil {
		return err
	}
	if err := s.ownNotes(ctx, &settings); err != nil {
		return err
	}
	settings.FullWalk = s.planning || s.job.Mode == entjob.ModeFull || s.job.Mode == entjob.ModePermissions
	settings.ReportBytes = func(n int64) { s.run.Spend(func(e *syncjob.Effort) { e.Bytes += n }) }
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
		s.log.WarnContext(ctx, "a source could not be closed", "error", err)
	}
}

// shown is a text as people may read it.
func (s *slice) shown(text string) string { return s.kind.Redact(text, s.secrets) }

// scope is the workspace that is worked in.
func (s *slice) scope() viewer.Scope {
	if s.run == nil {
		return s.within
	}
	return s.run.Scope()
}

// over reports whether the slice has done its share.
func (s *slice) over(ctx context.Context) bool {
	s.pages++
	return s.pages >= s.engine.opt.SlicePages || s.spent(ctx)
}
