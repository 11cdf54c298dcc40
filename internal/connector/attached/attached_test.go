package attached_test

import (
	"context"
	"encoding/json"
	"errors"
	"maps"
	"net"
	"net/url"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"go.uber.org/goleak"

	"github.com/magpie-search/magpie/connectors"
	"github.com/magpie-search/magpie/connectors/postgresql"
	"github.com/magpie-search/magpie/ent"
	"github.com/magpie-search/magpie/ent/gid"
	"github.com/magpie-search/magpie/internal/analysis"
	"github.com/magpie-search/magpie/internal/apierr"
	"github.com/magpie-search/magpie/internal/connector/attached"
	"github.com/magpie-search/magpie/internal/eval/texttosql"
	"github.com/magpie-search/magpie/internal/identity/authn"
	"github.com/magpie-search/magpie/internal/model/embed"
	"github.com/magpie-search/magpie/internal/secret"
	"github.com/magpie-search/magpie/internal/store"
	"github.com/magpie-search/magpie/internal/testkit"
	"github.com/magpie-search/magpie/internal/viewer"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// fixture is an installation whose connectors attach databases of the test server.
type fixture struct {
	*testing.T
	db        *store.DB
	kinds     *connectors.Registry
	box       *secret.Box
	catalog   *attached.Catalog
	databases *attached.Databases
	owner     *pgx.Conn
	embedded  []string // texts, of one caller at a time
}

func newFixture(t *testing.T) *fixture {
	t.Helper()
	h := &fixture{T: t}
	urls := testkit.Database(t)
	var err error
	h.db, err = store.Open(t.Context(), urls.AppURL, 6)
	h.must(err)
	t.Cleanup(h.db.Close)
	h.owner, err = pgx.Connect(t.Context(), urls.OwnerURL)
	h.must(err)
	t.Cleanup(func() { _ = h.owner.Close(context.Background()) })
	network, place := pgconn.NetworkAddress(h.owner.Config().Host, h.owner.Config().Port)
	h.kinds, err = connectors.NewRegistry(postgresql.Kind(func(ctx context.Context, _, address string) (net.Conn, error) {
		if address != "db.example.com:5432" {
			return nil, errors.New("connection refused")
		}
		return (&net.Dialer{}).DialContext(ctx, network, place)
	}))
	h.must(err)
	h.box, err = secret.NewBox(map[string][]byte{"k": make([]byte, secret.KeyBytes)}, "k")
	h.must(err)
	h.catalog = attached.NewCatalog(h.db.Pool, time.Now)
	builtin := embed.NewBuiltin()
	h.databases = attached.New(attached.Options{
		Ent: h.db.Ent, Catalog: h.catalog, Kinds: h.kinds, Secrets: h.box, Analyzer: analysis.New(),
		Embed: func(ctx context.Context, texts []string, _ bool) ([][]float32, error) {
			h.embedded = append(h.embedded, texts...)
			return builtin.Embed(ctx, texts, embed.Passage)
		},
	})
	return h
}

func (h *fixture) must(err error) {
	h.Helper()
	if err != nil {
		h.Fatal(err)
	}
}

// person creates the owner of a workspace and signs in.
func (h *fixture) person(name string) (context.Context, viewer.Scope) {
	h.Helper()
	accounts, err := authn.NewAccounts(h.db.Ent, authn.NewPasswords(), []byte(strings.Repeat("k", 32)), nil)
	h.must(err)
	_, err = accounts.CreateOwner(h.Context(), name, name+"@example.com", name, "correct horse battery")
	h.must(err)
	tokens, err := accounts.SignIn(h.Context(), name+"@example.com", "correct horse battery")
	h.must(err)
	v, err := accounts.Authenticate(h.Context(), tokens.Access)
	h.must(err)
	scope, err := v.Scope()
	h.must(err)
	return viewer.With(h.Context(), v), scope
}

// script creates a database from an SQL script.
func (h *fixture) script(path string) (name string, login map[string]string) {
	h.Helper()
	plain, err := texttosql.ReadScript(path)
	if err != nil {
		h.Skipf("the sample database is not at hand: %v", err)
	}
	urls := testkit.EmptyDatabase(h.T)
	admin, err := pgx.Connect(h.Context(), urls.OwnerURL)
	h.must(err)
	defer func() { _ = admin.Close(context.Background()) }()
	_, err = admin.PgConn().Exec(h.Context(), plain+"; grant usage on schema public to public; grant select on all tables in schema public to public").ReadAll()
	h.must(err)
	address, err := url.Parse(urls.AppURL)
	h.must(err)
	password, _ := address.User.Password()
	return strings.TrimPrefix(address.Path, "/"), map[string]string{"user": address.User.Username(), "password": password}
}

// connector attaches a database and reads its schema.
func (h *fixture) connector(ctx context.Context, name string, collection uuid.UUID, database string, login map[string]string, more map[string]any) *ent.Connector {
	h.Helper()
	config := map[string]any{"host": "db.example.com", "database": database, "allowWriteAccess": true, "sslMode": "disable"}
	for key, value := range more {
		config[key] = value
	}
	id := gid.New(gid.Connector)
	text, err := json.Marshal(login)
	h.must(err)
	sealed, err := h.box.Seal(text, secret.AAD("connectors", id.String()))
	h.must(err)
	row, err := h.db.Ent.Connector.Create().SetID(id).SetName(name).SetType("postgresql").SetCollectionID(collection).SetConfig(config).SetCredentials(sealed).Save(ctx)
	h.must(err)
	h.syncDatabase(ctx, row, login)
	return row
}

// syncDatabase reads the schema of a connector's database and stores it.
func (h *fixture) syncDatabase(ctx context.Context, row *ent.Connector, login map[string]string) attached.Counts {
	h.Helper()
	kind, _ := h.kinds.Lookup("postgresql")
	place, err := kind.Attach(ctx, connectors.Settings{Config: row.Config, Credentials: login})
	h.must(err)
	defer func() { h.must(place.Close()) }()
	tables, err := place.Schema(ctx)
	h.must(err)
	sampling, err := attached.SampleValues(ctx, place, tables)
	h.must(err)
	h.must(sampling.Failure)
	return h.sync(ctx, row, tables)
}

// showRows sets the option sampleRows of a connector, without a sync.
func (h *fixture) showRows(ctx context.Context, row *ent.Connector, on bool) *ent.Connector {
	h.Helper()
	config := maps.Clone(row.Config)
	config["sampleRows"] = on
	row, err := h.db.Ent.Connector.UpdateOneID(row.ID).SetConfig(config).Save(ctx)
	h.must(err)
	return row
}

// sync stores a schema as a sync job does.
func (h *fixture) sync(ctx context.Context, row *ent.Connector, tables []connectors.Table) attached.Counts {
	h.Helper()
	scope, err := viewer.System(row.WorkspaceID).Scope()
	h.must(err)
	job := gid.New(gid.SyncJob)
	_, err = h.owner.Exec(ctx, `insert into sync_jobs (id, created_at, updated_at, workspace_id, connector_id, mode, cause, status, attempt, heartbeat_at, file_filter, warnings)
		values ($1, now(), now(), $2, $3, 'AUTO', 'MANUAL', 'RUNNING', 1, now(), '[]', '[]')`, job, row.WorkspaceID, row.ID)
	h.must(err)
	counts, err := h.catalog.Replace(ctx, scope, attached.Fence{Job: job, Attempt: 1}, row.ID, tables)
	h.must(err)
	_, err = h.owner.Exec(ctx, "update sync_jobs set status = 'COMPLETED' where id = $1", job)
	h.must(err)
	return counts
}

func (h *fixture) collection(ctx context.Context, name string) uuid.UUID {
	h.Helper()
	row, err := h.db.Ent.Collection.Create().SetName(name).SetEmbeddingModel(embed.BuiltinModel).Save(ctx)
	h.must(err)
	return row.ID
}

const shop = "../../../connectors/postgresql/testdata/shop.sql"

// entries returns the entries of the audit log.
func (h *fixture) entries(ctx context.Context) []*ent.AuditEntry {
	h.Helper()
	rows, err := h.db.Ent.AuditEntry.Query().All(viewer.With(ctx, viewer.System(uuid.Nil)))
	h.must(err)
	var out []*ent.AuditEntry
	for _, row := range rows {
		if row.Action == attached.AuditAction {
			out = append(out, row)
		}
	}
	return out
}

func TestStatementsAreRunAndAudited(t *testing.T) {
	t.Parallel()
	h := newFixture(t)
	ctx, scope := h.person("ada")
	database, login := h.script(shop)
	row := h.connector(ctx, "Shop", h.collection(ctx, "Open"), database, login, map[string]any{"excludeTables": []any{"secrets"}})
	agent, run := uuid.New(), uuid.New()
	answer, err := h.databases.Query(ctx, scope, attached.Statement{SQL: "select name from customers order by 1", Agent: agent, Run: run})
	if err != nil || len(answer.Values) != 2 || answer.Values[0][0] != "Ada" || answer.Database.Name != "Shop" {
		t.Fatalf("%+v, %v", answer, err)
	}
	for sql, part := range map[string]string{
		"delete from customers": "Refused: ", "select * from secrets": "not among those", "select nme from customers": "The database says: column \"nme\" does not exist",
		strings.Repeat("select 1 + ", 500) + "oops": "The database says",
	} {
		_, err := h.databases.Query(ctx, scope, attached.Statement{SQL: sql})
		if e := apierr.From(err); e.Code != apierr.InvalidRequest || !strings.Contains(e.Message, part) && len(sql) < 100 {
			t.Errorf("%.50s: %v", sql, err)
		}
	}
	byOutcome := map[string]int{}
	for _, entry := range h.entries(ctx) {
		if entry.TargetID == nil || *entry.TargetID != row.ID || entry.ActorName != "ada@example.com" || entry.TargetName != "Shop" {
			t.Errorf("%+v", entry)
		}
		text, err := json.Marshal(entry.Changes)
		h.must(err)
		if strings.Contains(string(text), "Eve") || len(text) > 6000 {
			t.Errorf("an entry has what was answered, or is long: %d bytes", len(text))
		}
		for _, outcome := range []string{"answered", "refused", "failed"} {
			if strings.Contains(string(text), `"`+outcome+`"`) {
				byOutcome[outcome]++
			}
		}
		if strings.Contains(string(text), "answered") && (!strings.Contains(string(text), agent.String()) || !strings.Contains(string(text), run.String())) {
			t.Errorf("the agent and the run are missing: %s", text)
		}
	}
	if byOutcome["answered"] != 1 || byOutcome["refused"]+byOutcome["failed"] != 4 || byOutcome["refused"] < 2 {
		t.Errorf("entries: %v", byOutcome)
	}
	// The error of an unreachable database does not contain its address.
	_, err = h.db.Ent.Connector.UpdateOneID(row.ID).SetConfig(map[string]any{"host": "secret.internal", "database": "x"}).Save(ctx)
	h.must(err)
	if _, err := h.databases.Query(ctx, scope, attached.Statement{SQL: "select 1"}); apierr.From(err).Code != apierr.Unavailable || strings.Contains(err.Error(), "internal") {
		t.Errorf("got %v", err)
	}
}

func TestDatabasesAreReachedByTheirCollections(t *testing.T) {
	t.Parallel()
	h := newFixture(t)
	ada, all := h.person("ada")
	eve, foreign := h.person("eve")
	database, login := h.script(shop)
	open, closed := h.collection(ada, "Open"), h.collection(ada, "Closed")
	shown := h.connector(ada, "Shop", open, database, login, nil)
	hidden := h.connector(ada, "Payroll", closed, database, login, nil)
	some, err := all.Narrow(open)
	h.must(err)
	none, err := all.Narrow()
	h.must(err)
	ask := func(ctx context.Context, scope viewer.Scope, name string) error {
		_, err := h.databases.Query(ctx, scope, attached.Statement{Database: name, SQL: "select 1"})
		return err
	}
	for name, c := range map[string]struct {
		ctx   context.Context
		scope viewer.Scope
		name  string
		code  apierr.Code // "" for none
	}{
		"the only one in reach": {ada, some, "", ""}, "by name": {ada, all, "shop", ""}, "by id": {ada, all, hidden.ID.String(), ""},
		"one of two": {ada, all, "", apierr.InvalidRequest}, "by what both have": {ada, all, database, apierr.InvalidRequest},
		"out of the agent's collections": {ada, some, "Payroll", apierr.CodeNotFound}, "by id, out of reach": {ada, some, hidden.ID.String(), apierr.CodeNotFound},
		"no collections": {ada, none, "", apierr.CodeNotFound}, "another workspace": {eve, foreign, "Shop", apierr.CodeNotFound},
		"another workspace's by id": {eve, foreign, shown.ID.String(), apierr.CodeNotFound}, "another's scope": {eve, all, "Shop", apierr.CodeNotFound},
	} {
		err := ask(c.ctx, c.scope, c.name)
		if c.code == "" && err != nil || c.code != "" && apierr.From(err).Code != c.code {
			t.Errorf("%s: %v", name, err)
		}
		if c.code == apierr.CodeNotFound && strings.Contains(err.Error(), "Payroll") {
			t.Errorf("%s: %v names what is out of reach", name, err)
		}
	}
	// A key needs the flag, and reaches what it names.
	key := viewer.Viewer{Workspace: shown.WorkspaceID, Subject: uuid.New(), Kind: viewer.KindKey, Secret: true, Collections: []uuid.UUID{open}}
	reach, err := key.Scope()
	h.must(err)
	if err := ask(viewer.With(t.Context(), key), reach, "Shop"); err == nil {
		t.Error("a key without the flag queries a database")
	}
	key.DatabaseTools = true
	for name, code := range map[string]apierr.Code{"Shop": "", "Payroll": apierr.CodeNotFound} {
		if err := ask(viewer.With(t.Context(), key), reach, name); code == "" && err != nil || code != "" && apierr.From(err).Code != code {
			t.Errorf("a key at %s: %v", name, err)
		}
	}
	if err := ask(viewer.With(t.Context(), key), foreign, "Shop"); apierr.From(err).Code != apierr.CodeNotFound {
		t.Errorf("a key with another's scope: %v", err)
	}
	if _, err := h.databases.List(t.Context(), all); err == nil {
		t.Error("nobody lists databases")
	}
	if _, err := h.databases.List(ada, viewer.Scope{}); err == nil {
		t.Error("the zero scope lists databases")
	}
	for _, scope := range []viewer.Scope{foreign, none} {
		if found, err := h.databases.Search(eve, scope, "", "orders", 10); apierr.From(err).Code != apierr.CodeNotFound {
			t.Errorf("search: %v, %v", found, err)
		}
	}
	found, err := h.databases.Search(ada, some, "", "orders of customers", 50)
	h.must(err)
	for _, f := range found {
		if f.Database.ID != shown.ID {
			t.Errorf("a table of %s was found", f.Database.Name)
		}
	}
	if _, err := h.databases.Table(ada, some, "Payroll", "orders"); apierr.From(err).Code != apierr.CodeNotFound {
		t.Errorf("a table out of reach: %v", err)
	}
	// Disabled and deleted connectors have no database.
	h.must(h.db.Ent.Connector.UpdateOneID(hidden.ID).SetEnabled(false).Exec(ada))
	if err := ask(ada, all, "Payroll"); apierr.From(err).Code != apierr.CodeNotFound {
		t.Errorf("a disabled one: %v", err)
	}
}

func TestTablesAreFoundAndDescribed(t *testing.T) {
	t.Parallel()
	h := newFixture(t)
	ctx, scope := h.person("ada")
	if _, err := h.databases.Search(ctx, scope, "", "orders", 5); apierr.From(err).Code != apierr.CodeNotFound {
		t.Errorf("without a database: %v", err)
	}
	database, login := h.script(shop)
	row := h.connector(ctx, "Shop", h.collection(ctx, "Open"), database, login, map[string]any{"sampleRows": true})
	first := func(query string) attached.Match {
		t.Helper()
		found, err := h.databases.Search(ctx, scope, "", query, 3)
		h.must(err)
		if len(found) == 0 {
			t.Fatalf("%q finds nothing", query)
		}
		return found[0]
	}
	if f := first("Which customers have the best mood?"); f.Table.Name != "customers" || !strings.Contains(strings.Join(f.Columns, ","), "mood") || len(f.Joins) != 1 || f.Joins[0].Table != "orders" {
		t.Errorf("%+v", f)
	}
	if f := first("sku quantity"); f.Table.Name != "order_line" {
		t.Errorf("%+v", f.Table.Name)
	}
	if f := first("shipped"); f.Table.Name != "orders" && f.Table.Name != "big_orders" { // a value of a type
		t.Errorf("%+v", f.Table.Name)
	}
	for _, query := range []string{"", "the", "\x00", strings.Repeat("x ", 2000), "zzzzqqq"} {
		if _, err := h.databases.Search(ctx, scope, "", query, 5); err != nil {
			t.Errorf("%.20q: %v", query, err)
		}
	}
	for _, name := range []string{"orders", "PUBLIC.Orders", `"public"."orders"`} {
		d, err := h.databases.Table(ctx, scope, "", name)
		if err != nil || d.Table.Name != "orders" || len(d.Joins) != 2 || d.Samples == nil || len(d.Samples.Values) != 3 {
			t.Errorf("%s: %+v, %v", name, d, err)
		}
	}
	if _, err := h.databases.Table(ctx, scope, "shop", "order"); apierr.From(err).Code != apierr.CodeNotFound || !strings.Contains(err.Error(), "public.orders") {
		t.Errorf("nearly a table: %v", err)
	}
	// A sync takes effect at once.
	h.sync(ctx, row, []connectors.Table{{Schema: "public", Name: "penguins", Rows: -1}})
	if f := first("penguin"); f.Table.Name != "penguins" {
		t.Errorf("%+v", f)
	}
	if _, err := h.databases.Table(ctx, scope, "", "orders"); apierr.From(err).Code != apierr.CodeNotFound {
		t.Errorf("a table that is gone: %v", err)
	}
}

// TestSearchFindsTheTablesOfQuestions measures how many of the tables that a
// question needs are among the first eight, over the sample databases that are
// available, without and with values of their rows.
func TestSearchFindsTheTablesOfQuestions(t *testing.T) {
	t.Parallel()
	h := newFixture(t)
	ctx, scope := h.person("ada")
	folder := filepath.Join("..", "..", "..", "..", "shared", "databases")
	collection := h.collection(ctx, "Open")
	logins := map[*ent.Connector]map[string]string{}
	for name, path := range map[string]string{
		"academic": "text2sql/academic_pgsql.sql", "broker": "text2sql/broker_pgsql.sql", "geography": "text2sql/geography_pgsql.sql",
		"restaurants": "text2sql/restaurants_pgsql.sql", "chinook": "chinook/Chinook_PostgreSql.sql",
	} {
		database, login := h.script(filepath.Join(folder, path))
		logins[h.connector(ctx, name, collection, database, login, nil)] = login
	}
	without := h.measure(ctx, scope, "names", folder)
	for row, login := range logins {
		h.syncDatabase(ctx, h.showRows(ctx, row, true), login)
	}
	with := h.measure(ctx, scope, "names and values", folder)
	if without < 0.95 || with < without {
		t.Error("the search finds fewer tables than it did")
	}
}

// measure returns the share of the tables that the questions of a folder need which are
// among the first eight.
func (h *fixture) measure(ctx context.Context, scope viewer.Scope, name, folder string) float64 {
	h.Helper()
	expected, whole, questions := 0, 0, 0
	first := map[int]int{2: 0, 8: 0}
	for _, set := range []string{"text2sql", "chinook"} {
		loaded, err := texttosql.Load(filepath.Join(folder, set))
		h.must(err)
		for _, q := range loaded.Questions {
			if q.Type != "postgresql" || !q.Answerable() {
				continue
			}
			s, err := postgresql.Inspect(q.Gold[0])
			h.must(err)
			hits, err := h.databases.Search(ctx, scope, "", q.Text, 8)
			h.must(err)
			need, have := map[string]bool{}, 0
			for _, table := range s.Tables {
				need[strings.ToLower(table.Name)] = true
			}
			for at, hit := range hits {
				if hit.Database.Name != q.Database || !need[strings.ToLower(hit.Table.Name)] {
					continue
				}
				have++
				for most := range first {
					if at < most {
						first[most]++
					}
				}
			}
			questions++
			expected += len(need)
			if have == len(need) {
				whole++
			}
		}
	}
	share := func(n int) float64 { return float64(n) / float64(expected) }
	h.Logf("%s, %d questions: of %d tables %.3f among the first 2 and %.3f among the first 8; all of them for %d questions (%.3f)",
		name, questions, expected, share(first[2]), share(first[8]), whole, float64(whole)/float64(questions))
	return share(first[8])
}

// What a comment says of a column is a part of what its table is about.
func TestCommentsOfColumnsAreEmbedded(t *testing.T) {
	t.Parallel()
	h := newFixture(t)
	ctx, scope := h.person("ada")
	row, err := h.db.Ent.Connector.Create().SetName("shop").SetType("postgresql").SetCollectionID(h.collection(ctx, "Sales")).SetConfig(map[string]any{"database": "shop"}).Save(ctx)
	h.must(err)
	h.sync(ctx, row, []connectors.Table{{Schema: "public", Name: "bkg", Columns: []connectors.Column{{Name: "amt", Type: "numeric", Comment: "Revenue " + strings.Repeat("x", 500)}, {Name: "dt", Type: "date"}}}})
	_, err = h.databases.Search(ctx, scope, "", "revenue", 8)
	h.must(err)
	if len(h.embedded) == 0 || !strings.Contains(h.embedded[0], "amt (Revenue xxx") || !strings.HasSuffix(h.embedded[0], "dt") || len(h.embedded[0]) > 200 {
		t.Errorf("embedded: %q", h.embedded)
	}
}
