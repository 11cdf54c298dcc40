package bench

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
)

// DashboardOptions configures Dashboard.
type DashboardOptions struct {
	Rows     DashboardRows
	Clients  []int         // numbers of clients that ask at a time
	Duration time.Duration // of each query
}

// DashboardResult is the result of Dashboard.
type DashboardResult struct {
	Machine  Machine         `json:"machine"`
	Rows     DashboardRows   `json:"rows"`
	FillTime time.Duration   `json:"filledNanoseconds"`
	Queries  []DashboardLoad `json:"queries"`
}

// A DashboardLoad is the measurement of one query. Its statements are those of a
// whole request with the three that authenticate the caller.
type DashboardLoad struct {
	Query             string      `json:"query"`
	StatementsAtTenth float64     `json:"statementsAtATenth"`
	Statements        float64     `json:"statements"`
	Bytes             int         `json:"bytes"`
	Loads             []Latencies `json:"loads"`
}

// Dashboard measures the queries of a dashboard on a large workspace. It counts
// the SQL statements of each query with all rows and with a tenth of them.
func Dashboard(ctx context.Context, s *Stack, o DashboardOptions) (result *DashboardResult, err error) {
	owner, err := pgx.Connect(ctx, s.OwnerURL)
	if err != nil {
		return nil, fmt.Errorf("connect as the owner: %w", err)
	}
	defer func() { err = errors.Join(err, owner.Close(context.WithoutCancel(ctx))) }()
	fill := func(rows DashboardRows) error {
		return rows.Fill(ctx, owner, s.Workspace, s.Admin.ID, s.Embedder.Model())
	}
	if err := s.Display.Step("a tenth of the workspace is filled", func() error { return fill(o.Rows.Tenth()) }); err != nil {
		return nil, err
	}
	srv, err := s.startServer(ctx)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, srv.stop()) }()
	d := &dashboard{server: srv, owner: owner, workspace: s.Workspace}
	if d.token, err = srv.signIn(ctx, s.Admin); err != nil {
		return nil, err
	}
	if err := d.loadIDs(ctx); err != nil {
		return nil, err
	}
	result = &DashboardResult{Rows: o.Rows}
	for _, query := range DashboardQueries() {
		statements, _, err := d.countStatements(ctx, query)
		if err != nil {
			return nil, err
		}
		result.Queries = append(result.Queries, DashboardLoad{Query: query.Name, StatementsAtTenth: statements})
	}
	start := time.Now()
	if err := s.Display.Step("the rest is filled", func() error { return fill(o.Rows) }); err != nil {
		return nil, err
	}
	result.FillTime = time.Since(start)
	if err := d.loadIDs(ctx); err != nil {
		return nil, err
	}
	for i, query := range DashboardQueries() {
		load := &result.Queries[i]
		if load.Statements, load.Bytes, err = d.countStatements(ctx, query); err != nil {
			return nil, err
		}
		for _, clients := range o.Clients {
			load.Loads = append(load.Loads, Load(ctx, clients, o.Duration, func(ctx context.Context, turn int) (int, error) {
				return d.ask(ctx, query, turn)
			}))
		}
		s.Display.Note("%s: measured", query.Name)
	}
	return result, nil
}

// A dashboard asks as a signed-in person.
type dashboard struct {
	server                *server
	owner                 *pgx.Conn
	workspace             uuid.UUID
	token                 string
	connectors, documents []uuid.UUID
}

// loadIDs reads the ids for the variables of the queries.
func (d *dashboard) loadIDs(ctx context.Context) (err error) {
	d.connectors, d.documents, err = DashboardIDs(ctx, d.owner, d.workspace)
	return err
}

// ask executes a query and returns the size of its answer.
func (d *dashboard) ask(ctx context.Context, query Query, turn int) (int, error) {
	variables := map[string]any{}
	if strings.Contains(query.Text, "$connector") {
		variables["connector"] = d.connectors[turn%len(d.connectors)]
	}
	if strings.Contains(query.Text, "$document") {
		variables["document"] = d.documents[turn%len(d.documents)]
	}
	answer, err := d.server.graphql(ctx, d.token, query.Text, variables)
	if err == nil && bytes.HasPrefix(answer, []byte(`{"errors":`)) {
		err = fmt.Errorf("%s: %.300s", query.Name, answer)
	}
	return len(answer), err
}

// countedCalls is the number of calls of which countStatements returns the
// minimum. The statements of background work raise the count of some calls.
const countedCalls = 5

// countStatements returns the number of SQL statements of a query and the size of
// its answer.
func (d *dashboard) countStatements(ctx context.Context, query Query) (fewest float64, size int, err error) {
	count := func() (float64, error) {
		metrics, err := d.server.metrics(ctx)
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

// Failure returns an error if a call failed or the statements of a query grow with
// the rows.
func (b *DashboardResult) Failure() error {
	for _, q := range b.Queries {
		if q.Statements != q.StatementsAtTenth {
			return fmt.Errorf("%s: %.0f statements with all rows, %.0f with a tenth of them", q.Query, q.Statements, q.StatementsAtTenth)
		}
		for i := range q.Loads {
			if q.Loads[i].Errors > 0 {
				return fmt.Errorf("%s: %w", q.Query, q.Loads[i].failure())
			}
		}
	}
	return nil
}
