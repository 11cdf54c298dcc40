package command

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"github.com/magpie-search/magpie/cmd/magpie/console"
	"github.com/magpie-search/magpie/cmd/magpie/local"
	"github.com/magpie-search/magpie/ent/user"
	"github.com/magpie-search/magpie/internal/eval/bench"
	"github.com/magpie-search/magpie/internal/viewer"
)

type benchDashboardCommand struct {
	Collections int     `default:"100" help:"Collections of the workspace."`
	Connectors  int     `default:"100" help:"Connectors of the workspace."`
	Documents   int     `default:"100000" help:"Documents of the workspace."`
	Clients     []int   `default:"1,8" help:"How many clients ask at once."`
	Seconds     float64 `default:"3" help:"How long they ask each query."`
	Keep        bool    `help:"Keep the data, in bench-dashboard of the data folder."`
}

// dashboardBench is what was measured.
type dashboardBench struct {
	Machine bench.Machine   `json:"machine"`
	Rows    bench.Dashboard `json:"rows"`
	Filled  time.Duration   `json:"filledNanoseconds"`
	Queries []dashboardRow  `json:"queries"`
}

// dashboardRow is one query. The statements are those of a whole request, with
// the three that recognise who asks.
type dashboardRow struct {
	Query             string            `json:"query"`
	StatementsAtTenth float64           `json:"statementsAtATenth"`
	Statements        float64           `json:"statements"`
	Bytes             int               `json:"bytes"`
	Loads             []bench.Latencies `json:"loads"`
}

func (c *benchDashboardCommand) check() error {
	switch {
	case c.Collections < 10 || c.Connectors < 10 || c.Documents < 100:
		return errors.New("--collections and --connectors must be 10 or more, --documents 100 or more")
	case len(c.Clients) == 0 || c.Clients[0] < 1:
		return errors.New("--clients must be 1 or more")
	case !(c.Seconds > 0):
		return errors.New("--seconds must be more than 0")
	}
	return nil
}

// Run measures with a Magpie of its own, whose data it deletes at the end.
func (c benchDashboardCommand) Run(r *runtime) error {
	if err := c.check(); err != nil {
		return err
	}
	result := &dashboardBench{Machine: bench.ThisMachine(), Rows: bench.Dashboard{
		Collections: c.Collections, Connectors: c.Connectors, Documents: c.Documents, Jobs: 20, Conversations: 500, Keys: 100, Entries: 10_000,
	}}
	b, err := openBenchStack(r, "bench-dashboard")
	if err == nil {
		err = c.measure(r, b, result)
	}
	if err := errors.Join(err, b.close(r, c.Keep)); err != nil {
		return err
	}
	if err := r.console.Result(result, func() { result.print(r.console) }); err != nil {
		return err
	}
	return result.failure()
}

func (c *benchDashboardCommand) measure(r *runtime, b *benchStack, result *dashboardBench) (err error) {
	owner, err := pgx.Connect(r, b.services.OwnerURL)
	if err != nil {
		return fmt.Errorf("connect as the owner: %w", err)
	}
	defer func() { err = errors.Join(err, owner.Close(context.WithoutCancel(r))) }()
	workspace, err := b.scope.Workspace()
	if err != nil {
		return fmt.Errorf("choose the workspace: %w", err)
	}
	secrets, err := b.folder.Secrets()
	if err != nil {
		return err
	}
	system := viewer.With(r, viewer.System(uuid.Nil))
	person, err := b.app.DB.Ent.User.Query().Where(user.Email(secrets.AdminEmail)).OnlyID(system)
	if err != nil {
		return fmt.Errorf("look the admin up: %w", err)
	}
	fill := func(rows bench.Dashboard) error {
		return rows.Fill(r, owner, workspace, person, b.app.Models.Default().Model())
	}
	if err := r.console.Step("a tenth of the workspace is filled", func() error { return fill(result.Rows.Tenth()) }); err != nil {
		return err
	}
	server, err := b.serve(r)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, server.stop()) }()
	asking := &dashboardClient{server: server, owner: owner, workspace: workspace}
	if err := asking.begin(r, secrets); err != nil {
		return err
	}
	for _, query := range bench.DashboardQueries() {
		statements, _, err := asking.statements(r, query)
		if err != nil {
			return err
		}
		result.Queries = append(result.Queries, dashboardRow{Query: query.Name, StatementsAtTenth: statements})
	}
	began := time.Now()
	if err := r.console.Step("the rest is filled", func() error { return fill(result.Rows) }); err != nil {
		return err
	}
	result.Filled = time.Since(began)
	if err := asking.ids(r); err != nil {
		return err
	}
	for i, query := range bench.DashboardQueries() {
		row := &result.Queries[i]
		if row.Statements, row.Bytes, err = asking.statements(r, query); err != nil {
			return err
		}
		for _, clients := range c.Clients {
			row.Loads = append(row.Loads, bench.Load(r, clients, time.Duration(c.Seconds*float64(time.Second)), func(ctx context.Context, turn int) (int, error) {
				return asking.ask(ctx, query, turn)
			}))
		}
		r.console.Note("%s: measured", query.Name)
	}
	return nil
}

// dashboardClient asks as a signed-in person.
type dashboardClient struct {
	server                *benchServer
	owner                 *pgx.Conn
	workspace             uuid.UUID
	token                 string
	connectors, documents []uuid.UUID
}

// begin signs in and learns what there is to ask for.
func (d *dashboardClient) begin(ctx context.Context, secrets local.Secrets) error {
	body, err := json.Marshal(map[string]string{"email": secrets.AdminEmail, "password": secrets.AdminPassword})
	if err != nil {
		return fmt.Errorf("write the sign-in: %w", err)
	}
	text, err := d.post(ctx, "/api/v1/auth/login", body)
	if err != nil {
		return fmt.Errorf("sign in: %w", err)
	}
	var answer struct {
		Data struct {
			Token string `json:"access_token"`
		} `json:"data"`
	}
	if err := json.Unmarshal(text, &answer); err != nil {
		return fmt.Errorf("read the sign-in's answer: %w", err)
	}
	d.token = answer.Data.Token
	return d.ids(ctx)
}

func (d *dashboardClient) ids(ctx context.Context) (err error) {
	d.connectors, d.documents, err = bench.DashboardIDs(ctx, d.owner, d.workspace)
	return err
}

func (d *dashboardClient) post(ctx context.Context, path string, body []byte) ([]byte, error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, d.server.url+path, bytes.NewReader(body))
	if err != nil {
		return nil, fmt.Errorf("make the request: %w", err)
	}
	request.Header.Set("Content-Type", "application/json")
	if d.token != "" {
		request.Header.Set("Authorization", "Bearer "+d.token)
	}
	response, err := d.server.client.Do(request)
	if err != nil {
		return nil, fmt.Errorf("ask %s: %w", path, err)
	}
	defer func() { _ = response.Body.Close() }() // was read
	text, err := io.ReadAll(response.Body)
	if err == nil && response.StatusCode != http.StatusOK {
		err = fmt.Errorf("%s: %.300s", response.Status, text)
	}
	return text, err
}

// ask makes a query and returns the size of its answer.
func (d *dashboardClient) ask(ctx context.Context, query bench.Query, turn int) (int, error) {
	variables := map[string]any{}
	if strings.Contains(query.Text, "$connector") {
		variables["connector"] = d.connectors[turn%len(d.connectors)]
	}
	if strings.Contains(query.Text, "$document") {
		variables["document"] = d.documents[turn%len(d.documents)]
	}
	body, err := json.Marshal(map[string]any{"query": query.Text, "variables": variables})
	if err != nil {
		return 0, fmt.Errorf("write the query: %w", err)
	}
	text, err := d.post(ctx, "/graphql", body)
	if err == nil && bytes.HasPrefix(text, []byte(`{"errors":`)) {
		err = fmt.Errorf("%s: %.300s", query.Name, text)
	}
	return len(text), err
}

// countedCalls is how many calls the statements are counted of: the fewest
// count, since what the server does beside them is counted with them.
const countedCalls = 5

func (d *dashboardClient) statements(ctx context.Context, query bench.Query) (fewest float64, size int, err error) {
	count := func() (float64, error) {
		metrics, err := bench.ReadMetrics(ctx, d.server.client, d.server.url)
		return metrics["magpie_database_statements_total"], err
	}
	for turn := range countedCalls {
		before, err := count()
		if err != nil {
			return 0, 0, err
		}
		if size, err = d.ask(ctx, query, turn); err != nil {
			return 0, 0, err
		}
		after, err := count()
		if err != nil {
			return 0, 0, err
		}
		if n := after - before; turn == 0 || n < fewest {
			fewest = n
		}
	}
	return fewest, size, nil
}

// failure is the error of a run with a failed call, or with a query whose
// statements grow with the rows.
func (b *dashboardBench) failure() error {
	for _, q := range b.Queries {
		if q.Statements != q.StatementsAtTenth {
			return fmt.Errorf("%s: %.0f statements with all rows, %.0f with a tenth of them", q.Query, q.Statements, q.StatementsAtTenth)
		}
		for _, l := range q.Loads {
			if l.Errors > 0 {
				return fmt.Errorf("%s: %s, the first: %s", q.Query, console.Count(l.Errors, "error"), l.Error)
			}
		}
	}
	return nil
}

func (b *dashboardBench) print(c *console.Console) {
	describeMachine(c, b.Machine, benchText{})
	c.Printf("%d collections, %d connectors, %d documents; the clients run on the same machine as the server and PostgreSQL\n", b.Rows.Collections, b.Rows.Connectors, b.Rows.Documents)
	ms := func(d time.Duration) string { return fmt.Sprintf("%.1f", float64(d.Microseconds())/1000) }
	rows := make([][]string, 0, len(b.Queries))
	for _, q := range b.Queries {
		for i := range q.Loads {
			l := &q.Loads[i]
			name, sql, size := "", "", ""
			if i == 0 {
				name, sql, size = q.Query, fmt.Sprintf("%.0f", q.Statements), fmt.Sprintf("%.1f", float64(q.Bytes)/1024)
			}
			rows = append(rows, []string{name, sql, size, strconv.Itoa(l.Clients), fmt.Sprintf("%.0f", l.PerSecond), ms(l.P50), ms(l.P99), strconv.Itoa(l.Errors)})
		}
	}
	c.Table([]string{"QUERY", "SQL", "KiB", "AT ONCE", "A SECOND", "P50 ms", "P99 ms", "ERRORS"}, rows, "")
}
