package attached

import (
	"context"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"time"

	"github.com/google/uuid"

	"github.com/magpie-search/magpie/connectors"
	"github.com/magpie-search/magpie/ent"
	"github.com/magpie-search/magpie/ent/connector"
	"github.com/magpie-search/magpie/internal/analysis"
	"github.com/magpie-search/magpie/internal/apierr"
	"github.com/magpie-search/magpie/internal/connector/credential"
	"github.com/magpie-search/magpie/internal/secret"
	"github.com/magpie-search/magpie/internal/viewer"
)

const (
	// atOnce is how many statements run at once at one database, of this process.
	atOnce = 4
	// maxKept is how many tables are kept in memory.
	maxKept = 20_000
)

// Options of Databases. Those without a default are needed.
type Options struct {
	Ent      *ent.Client
	Catalog  *Catalog
	Kinds    *connectors.Registry
	Secrets  *secret.Box
	Analyzer *analysis.Analyzer
	// Embed makes vectors of length one of texts, quickly; nil: tables are found
	// by words alone.
	Embed func(ctx context.Context, texts []string, query bool) ([][]float32, error)
	Log   *slog.Logger     // nil: silent
	Now   func() time.Time // nil: the system's clock
}

// Databases are those attached to a workspace. All that is asked is done for the
// viewer in the context, within a scope: a database is reached by who reaches
// its connector's collection. It is safe for concurrent use.
type Databases struct {
	o Options

	mu    sync.Mutex
	kept  map[uuid.UUID]*schema
	gates map[uuid.UUID]chan struct{}
}

// schema is a connector's catalogue in memory, as of a revision.
type schema struct {
	revision int64
	tables   []*entry
}

// New makes Databases.
func New(o Options) *Databases {
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	return &Databases{o: o, kept: map[uuid.UUID]*schema{}, gates: map[uuid.UUID]chan struct{}{}}
}

// Database is an attached one as agents see it.
type Database struct {
	ID   uuid.UUID
	Name string // the connector's
	Type string // the connector's kind
	// Known says that its schema was read.
	Known bool

	row *ent.Connector
}

// List returns the databases within a scope, by name.
func (d *Databases) List(ctx context.Context, scope viewer.Scope) ([]Database, error) {
	workspace, err := scope.Workspace()
	if err != nil {
		return nil, fmt.Errorf("list databases: %w", err)
	}
	var kinds []string
	for _, kind := range d.o.Kinds.Kinds() {
		if kind.AttachesDatabase() {
			kinds = append(kinds, kind.Name)
		}
	}
	query := d.o.Ent.Connector.Query().Where(connector.WorkspaceID(workspace), connector.TypeIn(kinds...), connector.Enabled(true))
	if ids, all := scope.Collections(); !all {
		query.Where(connector.CollectionIDIn(ids...))
	}
	rows, err := query.Order(ent.Asc(connector.FieldName, connector.FieldID)).All(ctx)
	if err != nil {
		return nil, fmt.Errorf("list databases: %w", err)
	}
	ids := make([]uuid.UUID, len(rows))
	for i, row := range rows {
		ids[i] = row.ID
	}
	known, err := d.o.Catalog.revisions(ctx, workspace, ids)
	if err != nil {
		return nil, err
	}
	out := make([]Database, len(rows))
	for i, row := range rows {
		out[i] = Database{ID: row.ID, Name: row.Name, Type: row.Type, Known: known[row.ID] > 0, row: row}
	}
	return out, nil
}

// noDatabase is said where there is nothing to ask.
func noDatabase() error {
	return apierr.New(apierr.CodeNotFound, "No database is attached for this agent, so there is nothing to query. Say so.")
}

// find is the database of a name or id; without one, the only one there is.
func (d *Databases) find(ctx context.Context, scope viewer.Scope, name string) (Database, error) {
	all, err := d.List(ctx, scope)
	if err != nil {
		return Database{}, err
	}
	if len(all) == 0 {
		return Database{}, noDatabase()
	}
	name = strings.TrimSpace(name)
	if name == "" {
		if len(all) == 1 {
			return all[0], nil
		}
		return Database{}, apierr.Invalid("database", "is needed, since several are attached: "+named(all))
	}
	var fitting []Database
	for _, one := range all {
		own, _ := one.row.Config["database"].(string)
		if strings.EqualFold(one.Name, name) || one.ID.String() == strings.ToLower(name) || strings.EqualFold(own, name) {
			fitting = append(fitting, one)
		}
	}
	switch len(fitting) {
	case 0:
		return Database{}, apierr.New(apierr.CodeNotFound, "There is no such database for this agent. There are: "+named(all))
	case 1:
		return fitting[0], nil
	default:
		return Database{}, apierr.Invalid("database", "fits several; name one by its id: "+named(fitting))
	}
}

func named(all []Database) string {
	const most = 30
	names := make([]string, 0, min(len(all), most))
	for _, one := range all[:min(len(all), most)] {
		names = append(names, fmt.Sprintf("%q (%s)", one.Name, one.ID))
	}
	return strings.Join(names, ", ")
}

// open attaches the database of a connector.
func (d *Databases) open(ctx context.Context, row *ent.Connector) (connectors.Database, connectors.Kind, map[string]string, error) {
	kind, known := d.o.Kinds.Lookup(row.Type)
	if !known || !kind.AttachesDatabase() {
		return nil, kind, nil, connectors.Fatal(fmt.Errorf("connectors of the type %q attach no database", row.Type))
	}
	settings, err := credential.NewVault(d.o.Secrets).Settings(row)
	if err != nil {
		return nil, kind, nil, fmt.Errorf("attach the database: %w", err)
	}
	database, err := kind.Attach(ctx, settings)
	if err != nil {
		return nil, kind, settings.Credentials, fmt.Errorf("attach the database: %w", err)
	}
	return database, kind, settings.Credentials, nil
}

// gate lets a few statements at a time to a database.
func (d *Databases) gate(ctx context.Context, id uuid.UUID) (leave func(), err error) {
	d.mu.Lock()
	gate := d.gates[id]
	if gate == nil {
		gate = make(chan struct{}, atOnce)
		d.gates[id] = gate
	}
	d.mu.Unlock()
	select {
	case gate <- struct{}{}:
		return func() { <-gate }, nil
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
}

// failed is what an agent is told of an error that is not about its statement.
// What exactly is wrong is for those who may see the connector's settings.
func (d *Databases) failed(ctx context.Context, one Database, kind connectors.Kind, credentials map[string]string, err error) error {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	d.o.Log.WarnContext(ctx, "an attached database could not be asked", slog.String("connector", one.ID.String()), slog.String("error", kind.Redact(err.Error(), credentials)))
	message := "The database " + fmt.Sprintf("%q", one.Name) + " cannot be reached at the moment; try again later."
	if connectors.IsNeedsAuth(err) || connectors.IsFatal(err) {
		message = "The database " + fmt.Sprintf("%q", one.Name) + " cannot be asked: its connector needs the attention of an administrator."
	}
	return apierr.New(apierr.Unavailable, message)
}

// schemas are the catalogues of databases, read anew where they have changed.
func (d *Databases) schemas(ctx context.Context, scope viewer.Scope, all []Database) ([]*schema, error) {
	workspace, err := scope.Workspace()
	if err != nil {
		return nil, fmt.Errorf("read schemas: %w", err)
	}
	ids := make([]uuid.UUID, len(all))
	for i, one := range all {
		ids[i] = one.ID
	}
	revisions, err := d.o.Catalog.revisions(ctx, workspace, ids)
	if err != nil {
		return nil, err
	}
	out := make([]*schema, len(all))
	for i, id := range ids {
		if revisions[id] == 0 {
			out[i] = &schema{}
			continue
		}
		d.mu.Lock()
		out[i] = d.kept[id]
		d.mu.Unlock()
		if out[i] != nil && out[i].revision == revisions[id] {
			continue
		}
		tables, err := d.o.Catalog.tables(ctx, workspace, id)
		if err != nil {
			return nil, err
		}
		out[i] = &schema{revision: revisions[id], tables: d.entries(ctx, all[i], tables)}
		d.keep(id, out[i])
	}
	return out, nil
}

// keep remembers a schema, in the place of others where they are too many.
func (d *Databases) keep(id uuid.UUID, s *schema) {
	d.mu.Lock()
	defer d.mu.Unlock()
	total := len(s.tables)
	for other, kept := range d.kept {
		if other == id {
			continue
		}
		if total += len(kept.tables); total > maxKept {
			delete(d.kept, other)
			total -= len(kept.tables)
		}
	}
	d.kept[id] = s
}

// sameName reports whether a table is the one that a text names: its name, or
// schema and name, quoted or not, whatever the case.
func sameName(t *connectors.Table, text string) bool {
	text = strings.NewReplacer(`"`, "", "`", "", "[", "", "]", "").Replace(strings.TrimSpace(text))
	return strings.EqualFold(t.Name, text) || strings.EqualFold(t.Schema+"."+t.Name, text)
}
