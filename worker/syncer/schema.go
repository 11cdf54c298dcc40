package syncer

import (
	"context"
	"errors"
	"fmt"
	"log/slog"

	"github.com/google/uuid"

	"github.com/magpie-search/magpie/connectors"
	"github.com/magpie-search/magpie/internal/connector/attached"
	"github.com/magpie-search/magpie/internal/syncjob"
	"github.com/magpie-search/magpie/internal/viewer"
)

// Schemas stores the schemas of attached databases (attached.Catalog).
type Schemas interface {
	Replace(ctx context.Context, scope viewer.Scope, f attached.Fence, connector uuid.UUID, tables []connectors.Table) (attached.Counts, error)
}

// syncSchema reads the schema of an attached database and replaces the stored one.
// Tables count as items. There is no quarantine: the schema can be read again at
// any time, and tables that no longer exist would mislead agents.
func (s *slice) syncSchema(ctx context.Context) error {
	if s.engine.opt.Schemas == nil {
		return &stopError{message: "This installation keeps no schemas of databases."}
	}
	s.run.DetachCounters()
	database, err := s.attach(ctx)
	if err != nil {
		return err
	}
	defer func() {
		if err := database.Close(); err != nil {
			s.log.WarnContext(ctx, "database not closed", slog.String("error", s.redact(err.Error())))
		}
	}()
	// Check refuses a login that can write.
	if err := database.Check(ctx); err != nil {
		return classify(err)
	}
	tables, err := database.Schema(ctx)
	if err != nil {
		return classify(err)
	}
	if len(tables) >= connectors.MaxTables {
		s.run.Warn(fmt.Sprintf("The database has more tables than are looked at; the first %d count. Choose some with config.includeTables.", connectors.MaxTables))
	}
	if err := s.sampleValues(ctx, database, tables); err != nil {
		return err
	}
	counts, err := s.engine.opt.Schemas.Replace(ctx, s.run.Scope(), attached.Fence{Job: s.job.ID, Attempt: s.run.Attempt()}, s.connector.ID, tables)
	switch {
	case errors.Is(err, attached.ErrFenced):
		return syncjob.ErrLost
	case err != nil:
		return err
	}
	s.progress.Store(true)
	s.run.Count(func(c *syncjob.Counters) {
		*c = syncjob.Counters{
			Collected: len(tables), Parsed: len(tables), Indexed: counts.Added + counts.Modified,
			Added: counts.Added, Modified: counts.Modified, Deleted: counts.Deleted, Unchanged: counts.Unchanged,
		}
	})
	return nil
}

// sampleValues sets the values of the tables' columns that people name in questions. What
// cannot be read is a warning.
func (s *slice) sampleValues(ctx context.Context, database connectors.Database, tables []connectors.Table) error {
	sampling, err := attached.SampleValues(ctx, database, tables)
	if err != nil {
		return err
	}
	if sampling.Failed > 0 {
		s.run.Warn(fmt.Sprintf("The values of %d tables could not be read, so questions that name one do not find the table. The first: %s", sampling.Failed, s.redact(sampling.Failure.Error())))
	}
	if sampling.Unread > 0 {
		s.run.Warn(fmt.Sprintf("The values of %d tables were not read: a sync reads values for a minute at most, and stores %d. Choose some tables with config.includeTables.", sampling.Unread, attached.MaxDatabaseValues))
	}
	return nil
}

// attach connects to the database. The caller closes it.
func (s *slice) attach(ctx context.Context) (connectors.Database, error) {
	settings, err := s.engine.settings(s.scope(), s.connector)
	if err != nil {
		return nil, err
	}
	s.secrets = settings.Credentials
	database, err := s.kind.Attach(ctx, settings)
	if err != nil {
		return nil, classify(err)
	}
	return database, nil
}
