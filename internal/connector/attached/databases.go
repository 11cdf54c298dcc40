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
	// maxStatements is the maximum number of concurrent statements for a database
	// in this process.
	maxStatements = 4
	// maxCachedTables is the maximum number of cached tables.
	maxCachedTables = 20_000
)

// Options configure Databases. Fields without a default are required.
type Options struct {
	Ent      *ent.Client
	Catalog  *Catalog
	Kinds    *connectors.Registry
	Secrets  *secret.Box
	Analyzer *analysis.Analyzer
	// Embed returns unit vectors of texts. Without it, search uses words only.
	Embed func(ctx context.Context, texts []string, query bool) ([][]float32, error)
	Log   *slog.Logger     // default: discard
	Now   func() time.Time // default: time.Now
}

// Databases are the databases attached to a workspace. Methods act for the viewer
// in the context and within a scope: a person who can read a connector's collection
// can query its database, and so can a key with [viewer.Viewer.DatabaseTools]. It is
// safe for concurrent use.
type Databases struct {
	o Options

	mu      sync.Mutex
	schemas map[uuid.UUID]*schema
	slots   map[uuid.UUID]chan struct{}
}

// schema is the cached schema of a connector.
type schema struct {
	revision int64
	// sampled says that the tables have their samples.
	sampled bool
	tables  []*entry
}

// New returns the attached databases.
func New(o Options) *Databases {
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	return &Databases{o: o, schemas: map[uuid.UUID]*schema{}, slots: map[uuid.UUID]chan struct{}{}}
}

// Database is an attached database.
type Database struct {
	ID   uuid.UUID
	Name string // the connector's
	Type string // the connector's kind
	// HasSchema reports whether a schema sync has run.
	HasSchema bool

	row *ent.Connector
}

// showsRows reports whether the connector allows to show rows.
func (d Database) showsRows() bool {
	on, _ := d.row.Config["sampleRows"].(bool)
	return on
}

// List returns the databases within a scope in the order of their names.
func (d *Databases) List(ctx context.Context, scope viewer.Scope) ([]Database, error) {
	workspace, err := scope.Workspace()
	if err != nil {
		return nil, fmt.Errorf("list databases: %w", err)
	}
	if v, ok := viewer.From(ctx); ok && v.Kind == viewer.KindKey && v.DatabaseTools {
		// The policy lets no key read connectors. The scope of this one still holds.
		ctx = viewer.With(ctx, viewer.System(v.Workspace))
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
	revisions, err := d.o.Catalog.revisions(ctx, workspace, ids)
	if err != nil {
		return nil, err
	}
	out := make([]Database, len(rows))
	for i, row := range rows {
		out[i] = Database{ID: row.ID, Name: row.Name, Type: row.Type, HasSchema: revisions[row.ID] > 0, row: row}
	}
	return out, nil
}

func byID(all []Database) map[uuid.UUID]Database {
	out := make(map[uuid.UUID]Database, len(all))
	for _, db := range all {
		out[db.ID] = db
	}
	return out
}

// errNoDatabase returns the error for a scope without a database.
func errNoDatabase() error {
	return apierr.New(apierr.CodeNotFound, "No database is attached in reach of this caller, so there is nothing to query. Say so.")
}

// find returns the database with a name or id. An empty name finds the only one.
func (d *Databases) find(ctx context.Context, scope viewer.Scope, name string) (Database, error) {
	all, err := d.List(ctx, scope)
	if err != nil {
		return Database{}, err
	}
	if len(all) == 0 {
		return Database{}, errNoDatabase()
	}
	name = strings.TrimSpace(name)
	if name == "" {
		if len(all) == 1 {
			return all[0], nil
		}
		return Database{}, apierr.Invalid("database", "is needed, since several are attached: "+nameList(all))
	}
	var matches []Database
	for _, db := range all {
		own, _ := db.row.Config["database"].(string)
		if strings.EqualFold(db.Name, name) || db.ID.String() == strings.ToLower(name) || strings.EqualFold(own, name) {
			matches = append(matches, db)
		}
	}
	switch len(matches) {
	case 0:
		return Database{}, apierr.New(apierr.CodeNotFound, "There is no such database in reach of this caller. There are: "+nameList(all))
	case 1:
		return matches[0], nil
	default:
		return Database{}, apierr.Invalid("database", "fits several; name one by its id: "+nameList(matches))
	}
}

func nameList(all []Database) string {
	const limit = 30
	names := make([]string, 0, min(len(all), limit))
	for _, db := range all[:min(len(all), limit)] {
		names = append(names, fmt.Sprintf("%q (%s)", db.Name, db.ID))
	}
	return strings.Join(names, ", ")
}

// open connects to the database of a connector.
func (d *Databases) open(ctx context.Context, row *ent.Connector) (connectors.Database, connectors.Kind, map[string]string, error) {
	kind, ok := d.o.Kinds.Lookup(row.Type)
	if !ok || !kind.AttachesDatabase() {
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

// acquireSlot waits until a further statement may run at a database.
func (d *Databases) acquireSlot(ctx context.Context, id uuid.UUID) (release func(), err error) {
	d.mu.Lock()
	slots := d.slots[id]
	if slots == nil {
		slots = make(chan struct{}, maxStatements)
		d.slots[id] = slots
	}
	d.mu.Unlock()
	select {
	case slots <- struct{}{}:
		return func() { <-slots }, nil
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
}

// queryError returns the error for an agent whose query failed for a reason that is
// not its statement. Details are logged: agents may not see a connector's settings.
func (d *Databases) queryError(ctx context.Context, db Database, kind connectors.Kind, credentials map[string]string, err error) error {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	d.o.Log.WarnContext(ctx, "attached database query failed", slog.String("connector", db.ID.String()), slog.String("error", kind.Redact(err.Error(), credentials)))
	message := "The database " + fmt.Sprintf("%q", db.Name) + " cannot be reached at the moment; try again later."
	if connectors.IsNeedsAuth(err) || connectors.IsFatal(err) {
		message = "The database " + fmt.Sprintf("%q", db.Name) + " cannot be asked: its connector needs the attention of an administrator."
	}
	return apierr.New(apierr.Unavailable, message)
}

// readSchemas returns the schemas of databases. It reads those that have changed.
func (d *Databases) readSchemas(ctx context.Context, scope viewer.Scope, all []Database) ([]*schema, error) {
	workspace, err := scope.Workspace()
	if err != nil {
		return nil, fmt.Errorf("read schemas: %w", err)
	}
	ids := make([]uuid.UUID, len(all))
	for i, db := range all {
		ids[i] = db.ID
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
		out[i] = d.schemas[id]
		d.mu.Unlock()
		sampled := all[i].showsRows()
		if out[i] != nil && out[i].revision == revisions[id] && out[i].sampled == sampled {
			continue
		}
		tables, err := d.o.Catalog.tables(ctx, workspace, id)
		if err != nil {
			return nil, err
		}
		if !sampled { // the next sync removes them
			for at := range tables {
				tables[at].Columns = withoutSamples(tables[at].Columns)
			}
		}
		out[i] = &schema{revision: revisions[id], sampled: sampled, tables: d.entries(ctx, id, tables)}
		d.cache(id, out[i])
	}
	return out, nil
}

// cache stores a schema and evicts others if there are too many.
func (d *Databases) cache(id uuid.UUID, s *schema) {
	d.mu.Lock()
	defer d.mu.Unlock()
	total := len(s.tables)
	for other, cached := range d.schemas {
		if other == id {
			continue
		}
		if total += len(cached.tables); total > maxCachedTables {
			delete(d.schemas, other)
			total -= len(cached.tables)
		}
	}
	d.schemas[id] = s
}

// sameName reports whether text names the table, with or without the schema and
// quotes, ignoring case.
func sameName(t *connectors.Table, text string) bool {
	text = strings.NewReplacer(`"`, "", "`", "", "[", "", "]", "").Replace(strings.TrimSpace(text))
	return strings.EqualFold(t.Name, text) || strings.EqualFold(t.Schema+"."+t.Name, text)
}
