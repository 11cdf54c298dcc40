package syncer_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/google/uuid"

	"github.com/magpie-search/magpie/connectors"
	"github.com/magpie-search/magpie/ent/connector"
	entjob "github.com/magpie-search/magpie/ent/syncjob"
	"github.com/magpie-search/magpie/internal/connector/attached"
	"github.com/magpie-search/magpie/internal/syncjob"
	"github.com/magpie-search/magpie/internal/viewer"
)

// A databaseScript is a fake attached database.
type databaseScript struct {
	mu     sync.Mutex
	tables []connectors.Table
	check  error
	read   error
	closed int
	// sample answers SampleColumns. Nil does not allow samples.
	sample func(table string, columns []string) (*connectors.Rows, error)
}

func (d *databaseScript) set(change func(d *databaseScript)) {
	d.mu.Lock()
	defer d.mu.Unlock()
	change(d)
}

func (d *databaseScript) Check(context.Context) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.check
}

func (d *databaseScript) Schema(context.Context) ([]connectors.Table, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	tables := slices.Clone(d.tables)
	for i := range tables {
		tables[i].Columns = slices.Clone(tables[i].Columns)
	}
	return tables, d.read
}

func (d *databaseScript) Query(context.Context, string, connectors.QueryLimits) (*connectors.Rows, error) {
	return nil, errors.New("not asked here")
}

func (d *databaseScript) Sample(context.Context, string, string, int) (*connectors.Rows, error) {
	return nil, connectors.ErrNoSamples
}

func (d *databaseScript) SampleColumns(_ context.Context, _, table string, columns []string) (*connectors.Rows, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.sample == nil {
		return nil, connectors.ErrNoSamples
	}
	return d.sample(table, columns)
}

func (d *databaseScript) Close() error {
	d.set(func(d *databaseScript) { d.closed++ })
	return nil
}

func newDatabaseFixture(t *testing.T) (*fixture, *databaseScript) {
	t.Helper()
	f := newFixture(t)
	database := &databaseScript{}
	registry, err := connectors.NewRegistry(connectors.Kind{
		Name: "paper", Title: "Paper", Description: "A database on paper.", Category: connectors.CategoryDatabase,
		Credentials: []connectors.Option{{Name: "password", Title: "Password", Type: connectors.TypeString, Sensitive: true}},
		Attach:      func(context.Context, connectors.Settings) (connectors.Database, error) { return database, nil },
	})
	f.must(err)
	f.registry, f.options.Schemas = registry, attached.NewCatalog(f.db.Pool, f.clock.now)
	f.row = f.connector("paper", nil)
	return f, database
}

func (f *fixture) tables() string {
	f.Helper()
	var names string
	f.must(f.db.Pool.QueryRow(f.ctx, "select coalesce(string_agg(schema_name || '.' || name || ' ' || row_estimate, ', ' order by name), '') from database_tables where connector_id = $1", f.row.ID).Scan(&names))
	return names
}

func TestASchemaSyncKeepsTheTables(t *testing.T) {
	t.Parallel()
	f, database := newDatabaseFixture(t)
	f.work()
	column := func(name string) []connectors.Column { return []connectors.Column{{Name: name, Type: "text"}} }
	database.set(func(d *databaseScript) {
		d.tables = []connectors.Table{{Schema: "s", Name: "a", Rows: 1, Columns: column("x")}, {Schema: "s", Name: "b", Rows: -1}, {Schema: "s", Name: "c"}}
	})
	f.expect(f.sync(auto()), entjob.StatusCompleted, syncjob.Counters{Collected: 3, Added: 3})
	if got := f.tables(); got != "s.a 1, s.b -1, s.c 0" {
		t.Errorf("tables %s", got)
	}
	row, err := f.db.Ent.Connector.Get(f.ctx, f.row.ID)
	f.must(err)
	if row.LastSync == nil || row.Status != connector.StatusActive {
		t.Errorf("the connector: %v", row)
	}
	// Rows do not change a table; columns, comments and keys do.
	database.set(func(d *databaseScript) {
		d.tables = []connectors.Table{{Schema: "s", Name: "a", Rows: 5, Columns: column("x")}, {Schema: "s", Name: "b", Rows: -1, Comment: "new"}, {Schema: "t", Name: "c"}}
	})
	f.expect(f.sync(full()), entjob.StatusCompleted, syncjob.Counters{Collected: 3, Added: 1, Modified: 1, Deleted: 1, Unchanged: 1})
	if got := f.tables(); got != "s.a 5, s.b -1, t.c 0" {
		t.Errorf("tables %s", got)
	}
	// A schema sync has no deletion threshold.
	database.set(func(d *databaseScript) { d.tables = nil })
	f.expect(f.sync(auto()), entjob.StatusCompleted, syncjob.Counters{Deleted: 3})
	if database.closed < 3 {
		t.Errorf("closed %d times", database.closed)
	}
}

// Values are stored with their columns. A table whose statement fails has none, which is a
// warning.
func TestASchemaSyncKeepsValues(t *testing.T) {
	t.Parallel()
	f, database := newDatabaseFixture(t)
	f.work()
	stored := func() (columns string) {
		f.must(f.db.Pool.QueryRow(f.ctx, "select string_agg(columns::text, ' ' order by name) from database_tables where connector_id = $1", f.row.ID).Scan(&columns))
		return columns
	}
	region := "Svalbard"
	database.set(func(d *databaseScript) {
		for _, name := range []string{"a", "b"} {
			d.tables = append(d.tables, connectors.Table{Schema: "s", Name: name, Columns: []connectors.Column{{Name: "region", Type: "text"}}})
		}
		d.sample = func(table string, _ []string) (*connectors.Rows, error) {
			if table == "b" {
				return nil, errors.New("permission denied")
			}
			return &connectors.Rows{Values: [][]any{{region}}}, nil
		}
	})
	job := f.sync(auto())
	f.expect(job, entjob.StatusCompleted, syncjob.Counters{Collected: 2, Added: 2})
	if got := stored(); strings.Count(got, "Samples") != 1 || !strings.Contains(got, "Svalbard") {
		t.Errorf("stored %s", got)
	}
	if want := "The values of 1 tables could not be read, so questions that name one do not find the table. The first: s.b: permission denied"; !slices.Contains(job.Warnings, want) {
		t.Errorf("warnings %q", job.Warnings)
	}
	database.set(func(*databaseScript) { region = "Georgia" })
	f.expect(f.sync(auto()), entjob.StatusCompleted, syncjob.Counters{Collected: 2, Unchanged: 2})
	if got := stored(); !strings.Contains(got, "Georgia") || strings.Contains(got, "Svalbard") {
		t.Errorf("stored %s", got)
	}
	database.set(func(d *databaseScript) { d.sample = nil })
	f.expect(f.sync(auto()), entjob.StatusCompleted, syncjob.Counters{Collected: 2, Unchanged: 2})
	if got := stored(); strings.Contains(got, "Samples") {
		t.Errorf("stored %s", got)
	}
}

func TestAFailedSchemaSyncKeepsTheTables(t *testing.T) {
	t.Parallel()
	f, database := newDatabaseFixture(t)
	f.options.Retries = 2
	f.work()
	database.set(func(d *databaseScript) { d.tables = []connectors.Table{{Schema: "s", Name: "a"}} })
	f.expect(f.sync(auto()), entjob.StatusCompleted, syncjob.Counters{Collected: 1, Added: 1})
	for _, c := range []struct {
		change func(d *databaseScript)
		status connector.Status
		part   string
	}{
		{func(d *databaseScript) { d.check = connectors.NeedsAuth(errors.New("the login may write")) }, connector.StatusNeedsAuth, "the login may write"},
		{func(d *databaseScript) { d.check, d.read = nil, connectors.Fatal(errors.New("no such schema")) }, connector.StatusError, "no such schema"},
		{func(d *databaseScript) { d.read = connectors.Retryable(errors.New("it is busy"), 0) }, connector.StatusError, "it is busy"},
	} {
		database.set(c.change)
		job := f.sync(auto())
		row, err := f.db.Ent.Connector.Get(f.ctx, f.row.ID)
		f.must(err)
		if job.Status != entjob.StatusFailed || job.Error == nil || !strings.Contains(*job.Error, c.part) || row.Status != c.status {
			t.Errorf("%s: %s %v, the connector is %s", c.part, job.Status, job.Error, row.Status)
		}
	}
	if got := f.tables(); got != "s.a 0" {
		t.Errorf("tables %s", got)
	}
}

func TestASchemaIsWrittenOnlyWithItsFence(t *testing.T) {
	t.Parallel()
	f, database := newDatabaseFixture(t)
	f.work()
	database.set(func(d *databaseScript) { d.tables = []connectors.Table{{Schema: "s", Name: "a"}} })
	job := f.sync(auto())
	catalog := attached.NewCatalog(f.db.Pool, f.clock.now)
	other, err := viewer.System(uuid.New()).Scope()
	f.must(err)
	for name, c := range map[string]struct {
		scope viewer.Scope
		fence attached.Fence
	}{
		"a job that is over": {f.scope, attached.Fence{Job: job.ID, Attempt: job.Attempt}}, "no job": {f.scope, attached.Fence{}}, "another workspace": {other, attached.Fence{Job: job.ID, Attempt: job.Attempt}},
	} {
		if _, err := catalog.Replace(f.ctx, c.scope, c.fence, f.row.ID, nil); !errors.Is(err, attached.ErrFenced) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if got := f.tables(); got != "s.a 0" {
		t.Errorf("tables %s", got)
	}
}
