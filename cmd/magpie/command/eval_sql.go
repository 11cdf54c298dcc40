package command

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/google/uuid"

	"github.com/magpie-search/magpie/cmd/magpie/local"
	"github.com/magpie-search/magpie/cmd/magpie/stack"
	"github.com/magpie-search/magpie/cmd/magpie/wire"
	"github.com/magpie-search/magpie/ent"
	"github.com/magpie-search/magpie/ent/membership"
	"github.com/magpie-search/magpie/ent/predicate"
	"github.com/magpie-search/magpie/ent/user"
	"github.com/magpie-search/magpie/internal/client"
	"github.com/magpie-search/magpie/internal/devstack"
	"github.com/magpie-search/magpie/internal/eval/texttosql"
	"github.com/magpie-search/magpie/internal/viewer"
)

const (
	// tablesLooked is how many tables of a search are looked at: the default of the tool.
	tablesLooked = 8
	// rowsCompared is the maximum number of rows of a statement.
	rowsCompared = 1000
	examined     = "Text to SQL"
)

// sqlFigures are the results of eval --sql.
type sqlFigures struct {
	Retrieval []retrievalFigures `json:"retrieval"`
	Answers   []answerFigures    `json:"answers,omitempty"`
}

// retrievalFigures say how well the search finds the tables of questions.
type retrievalFigures struct {
	Database  string  `json:"database"` // all if empty
	Type      string  `json:"type"`
	Questions int     `json:"questions"`
	Tables    int     `json:"tables"` // that the questions need, together
	Recall    float64 `json:"recall@8"`
	Whole     float64 `json:"whole@8"` // the share of questions whose tables are all found

	found, whole int
}

// answerFigures say how many statements of an agent have the rows of the gold.
type answerFigures struct {
	Database  string  `json:"database"`
	Type      string  `json:"type"`
	Category  string  `json:"category"`
	Questions int     `json:"questions"`
	Right     int     `json:"right"`
	Accuracy  float64 `json:"accuracy"`
	// Unjudged is the number of further questions whose gold does not run on the database.
	Unjudged int `json:"unjudged"`
}

// sql measures on questions about databases: those of the set in a Magpie of its own, or
// those that are attached.
func (c *evalCommand) sql(r *runtime) error {
	set, err := texttosql.Load(c.SQL)
	if err != nil {
		return err
	}
	if c.Samples && c.Attached {
		return usagef("--sample-rows is for databases that are made: with --attached, set the option sampleRows of the connectors and sync them")
	}
	var figures sqlFigures
	examine := func(app *wire.App, workspace uuid.UUID) error {
		api, err := newClient(app, workspace)
		if err != nil {
			return err
		}
		x := &sqlExam{runtime: r, api: api, limit: c.Questions}
		if err := x.choose(set); err != nil {
			return err
		}
		found, err := x.retrieval()
		if err != nil {
			return err
		}
		figures.Retrieval = append(figures.Retrieval, found...)
		if len(app.Config.ChatModels) == 0 {
			r.console.Note("No chat model is set up (LLM_BASE_URL, LLM_MODEL), so no statements were written.")
			return nil
		}
		if x.agents, err = personOf(r, app, workspace, c.As); err != nil {
			return err
		}
		answers, err := x.answers()
		figures.Answers = append(figures.Answers, answers...)
		return err
	}
	if c.Attached {
		err = r.open(func(app *wire.App) error {
			workspace, err := chooseWorkspace(r, app.DB.Ent, r.Workspace)
			if err != nil {
				return err
			}
			return examine(app, workspace)
		})
	} else {
		err = c.withSamples(r, set, examine)
	}
	if err != nil {
		return err
	}
	return r.console.Result(figures, func() { figures.print(r) })
}

// personOf returns a client that acts as the member of an email address, or the first owner.
func personOf(ctx context.Context, app *wire.App, workspace uuid.UUID, email string) (*client.Client, error) {
	among := []predicate.Membership{membership.WorkspaceID(workspace)}
	if email != "" {
		among = append(among, membership.HasUserWith(user.EmailEqualFold(email)))
	} else {
		among = append(among, membership.RoleEQ(membership.RoleOwner))
	}
	row, err := app.DB.Ent.Membership.Query().Where(among...).Order(membership.ByCreatedAt()).First(viewer.With(ctx, viewer.System(workspace)))
	if ent.IsNotFound(err) {
		return nil, fmt.Errorf("--as %s: the workspace has no such member, for whom the agent could run", cmp.Or(email, "(an owner)"))
	}
	if err != nil {
		return nil, fmt.Errorf("find a member of the workspace: %w", err)
	}
	v, err := app.Accounts.Member(ctx, workspace, row.UserID)
	if err != nil {
		return nil, err
	}
	return clientOf(app, v)
}

// withSamples makes the databases of the set's scripts, and lets do work with them: once for
// each dialect whose server is here, each in a Magpie of its own, since a search must not find
// the same tables twice.
func (c *evalCommand) withSamples(r *runtime, set *texttosql.Set, do func(*wire.App, uuid.UUID) error) error {
	if len(set.Scripts) == 0 {
		return fmt.Errorf("%s has no scripts NAME_pgsql.sql that make the databases; give --attached to use those of this installation", c.SQL)
	}
	if set.Count("postgresql") > 0 {
		if err := c.withServer(r, set, openPostgres, do); err != nil {
			return err
		}
	}
	if n := set.Count("mysql"); n > 0 {
		if missing := devstack.MariaDBInstalled(); missing != nil {
			r.console.Warn("Left out %d questions in the dialect mysql: %v", n, missing)
		} else if err := c.withServer(r, set, openMariaDB, do); err != nil {
			return err
		}
	}
	for _, kind := range []string{"mssql", "clickhouse"} {
		if n := set.Count(kind); n > 0 {
			r.console.Warn("Left out %d questions in the dialect %s: no databases are made for it; attach them and give --attached.", n, kind)
		}
	}
	return nil
}

// withServer starts a Magpie and a database server, attaches the databases, and lets do work
// with them.
func (c *evalCommand) withServer(r *runtime, set *texttosql.Set, open func(context.Context, string) (sampleServer, error), do func(*wire.App, uuid.UUID) error) error {
	parent, err := r.folder()
	if err != nil {
		return err
	}
	folder, err := local.Make(filepath.Join(parent.Path(), "eval-sql"))
	if err != nil {
		return err
	}
	d, err := stack.StartDev(r, r.devOptions(folder, nil))
	if err != nil {
		return err
	}
	calm := context.WithoutCancel(r)
	err = func() (err error) {
		server, err := open(r, filepath.Join(folder.Path(), "databases"))
		if err != nil {
			return err
		}
		defer func() { err = errors.Join(err, server.Close(calm)) }()
		api, err := newClient(d.App, d.Workspace)
		if err != nil {
			return err
		}
		attached, err := attachSamples(r, api, server, set, c.Samples)
		if err != nil || attached == 0 {
			return err
		}
		return do(d.App, d.Workspace)
	}()
	if err := errors.Join(err, d.Stop(calm)); err != nil {
		return err // and the folder stays, with the log
	}
	return errors.Join(purge(calm, folder, servicesOf(folder)), os.RemoveAll(folder.Path()))
}

// sqlExam asks the questions of a set.
type sqlExam struct {
	*runtime
	api    *client.Client
	agents *client.Client // as a person, since agents run for people
	limit  int            // of questions of each database; 0 for all

	papers []sqlPaper
}

// sqlPaper has the questions about an attached database.
type sqlPaper struct {
	id         uuid.UUID
	name, kind string
	tables     map[string]bool // without their schemas, in lower case
	questions  []texttosql.Question
}

// choose assigns the questions to the attached databases that have their names and dialects.
func (x *sqlExam) choose(set *texttosql.Set) error {
	attached, err := x.api.Databases(x)
	if err != nil {
		return err
	}
	for _, db := range attached {
		connector, err := x.api.Connector(x, db.ID)
		if err != nil {
			return err
		}
		p := sqlPaper{id: db.ID, name: db.Name, kind: connector.Type, tables: map[string]bool{}}
		for _, q := range set.Questions {
			if strings.EqualFold(q.Database, db.Name) && q.Type == connector.Type && (x.limit == 0 || len(p.questions) < x.limit) {
				p.questions = append(p.questions, q)
			}
		}
		if len(p.questions) == 0 {
			continue
		}
		tables, err := x.api.Tables(x, db.ID)
		if err != nil {
			return err
		}
		for _, t := range tables {
			p.tables[bareName(t.Table)] = true
		}
		x.papers = append(x.papers, p)
	}
	if len(x.papers) == 0 {
		return errors.New("no attached database has the name and the dialect of the questions' db_name and db_type; attach one with that name")
	}
	return nil
}

// kind returns the connector type of all databases, "" if they have several.
func (x *sqlExam) kind() string {
	for _, p := range x.papers {
		if p.kind != x.papers[0].kind {
			return ""
		}
	}
	return x.papers[0].kind
}

// bareName returns the name of a table without its schema, in lower case.
func bareName(table string) string {
	return strings.ToLower(table[strings.LastIndex(table, ".")+1:])
}

// need returns the tables of the database that a question needs.
func (p *sqlPaper) need(q texttosql.Question) map[string]bool {
	out := map[string]bool{}
	for _, name := range texttosql.Tables(q.Gold[0]) {
		if p.tables[name] {
			out[name] = true
		}
	}
	return out
}

// retrieval measures the search for tables.
func (x *sqlExam) retrieval() ([]retrievalFigures, error) {
	var out []retrievalFigures
	all := retrievalFigures{Type: x.kind()}
	for i := range x.papers {
		p := &x.papers[i]
		f := retrievalFigures{Database: p.name, Type: p.kind}
		for _, q := range p.questions {
			need := p.need(q)
			if len(need) == 0 {
				continue
			}
			hits, err := x.api.SearchTables(x, q.Text, tablesLooked)
			if err != nil {
				return nil, err
			}
			f.count(p, need, hits)
		}
		all.Questions, all.Tables, all.found, all.whole = all.Questions+f.Questions, all.Tables+f.Tables, all.found+f.found, all.whole+f.whole
		out = append(out, f.finished())
	}
	return append(out, all.finished()), nil
}

func (f *retrievalFigures) count(p *sqlPaper, need map[string]bool, hits []client.Table) {
	have := 0
	for _, hit := range hits {
		if hit.DatabaseID == p.id && need[bareName(hit.Table)] {
			have++
		}
	}
	f.Questions++
	f.Tables += len(need)
	f.found += have
	if have == len(need) {
		f.whole++
	}
}

func (f retrievalFigures) finished() retrievalFigures {
	f.Recall, f.Whole = share(f.found, f.Tables), share(f.whole, f.Questions)
	return f
}

func share(part, whole int) float64 {
	if whole == 0 {
		return 0
	}
	return float64(part) / float64(whole)
}

func (f *sqlFigures) print(r *runtime) {
	for _, line := range f.Retrieval {
		r.console.Printf("%s %s: %d questions, %.3f of %d tables among the first %d, all of them for %.3f of the questions\n",
			cmp.Or(line.Database, "all"), line.Type, line.Questions, line.Recall, line.Tables, tablesLooked, line.Whole)
	}
	for _, line := range f.Answers {
		r.console.Printf("%s %s %s: %d of %d right (%.1f %%), %d not judged\n",
			cmp.Or(line.Database, "all"), line.Type, line.Category, line.Right, line.Questions, 100*line.Accuracy, line.Unjudged)
	}
}
