package tools_test

import (
	"context"
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/magpie-search/magpie/agents/tools"
	"github.com/magpie-search/magpie/connectors"
	"github.com/magpie-search/magpie/internal/apierr"
	"github.com/magpie-search/magpie/internal/connector/attached"
	"github.com/magpie-search/magpie/internal/viewer"
)

// databases is a fake with one attached database. It records the last call.
type databases struct {
	scope    viewer.Scope
	question attached.Statement
	limit    int
	err      error
}

func (s *databases) found() attached.Match {
	columns := []connectors.Column{{Name: "order_id", Type: "integer"}, {Name: "customer_id", Type: "integer", Nullable: true, Comment: "who <bought>", Samples: []string{"unseen value"}}}
	for range 70 {
		columns = append(columns, connectors.Column{Name: "more", Type: "text", Values: []string{"a", "b"}})
	}
	return attached.Match{
		Database: attached.Database{ID: uuid.New(), Name: "Shop", Type: "postgresql"}, Columns: []string{"customer_id"},
		Table: &connectors.Table{Schema: "public", Name: "orders", Columns: columns, PrimaryKey: []string{"order_id"}, Rows: 3},
		Joins: []attached.Join{{Schema: "public", Table: "orders", Columns: []string{"customer_id"}, OtherSchema: "public", Other: "customers", References: []string{"id"}}},
	}
}

func (s *databases) Search(_ context.Context, scope viewer.Scope, _, _ string, limit int) ([]attached.Match, error) {
	s.scope, s.limit = scope, limit
	return []attached.Match{s.found()}, s.err
}

func (s *databases) Table(_ context.Context, scope viewer.Scope, _, _ string) (*attached.TableDetail, error) {
	s.scope = scope
	return &attached.TableDetail{Match: s.found(), Samples: &connectors.Rows{Columns: []string{"order_id"}, Values: [][]any{{int64(1)}}, Truncated: "bytes", Omitted: 1, OversizedRow: 2}}, s.err
}

func (s *databases) Query(_ context.Context, scope viewer.Scope, q attached.Statement) (*attached.Result, error) {
	s.scope, s.question = scope, q
	return &attached.Result{Database: s.found().Database, Rows: &connectors.Rows{
		Columns: []string{"n", "exact"}, Types: []string{"int8", "numeric"}, Values: [][]any{{int64(7), json.Number("12.50")}, {nil, "NaN"}}, Truncated: "rows", Omitted: 3, OmittedAtLeast: true, Duration: 5 * time.Millisecond,
	}}, s.err
}

func TestDatabaseToolResults(t *testing.T) {
	t.Parallel()
	scope, err := viewer.System(uuid.New()).Scope()
	if err != nil {
		t.Fatal(err)
	}
	s := &databases{}
	run := tools.RunContext{Scope: scope, Agent: uuid.New(), Run: uuid.New()}
	all := (&tools.Kit{Databases: s, Now: time.Now}).Tools(run, tools.Names())
	for name, c := range map[string]struct{ arguments, parts string }{
		tools.SearchDatabaseSchema: {`{"query":"orders of customers"}`, `"database":"Shop"|"dialect":"PostgreSQL"|"table":"public.orders"|"order_id integer"|"more_columns":12|"matched_columns":["customer_id"]|"joins":["public.orders.customer_id = public.customers.id"]|"estimated_rows":3`},
		tools.GetTableInfo:         {`{"table":"orders"}`, `"primary_key":["order_id"]|"nullable":true|"comment":"who <bought>"|"values":["a","b"]|"sample_rows":{"columns":["order_id"],"notice":"Row 2 alone is larger|"rows":[[1]]}`},
		tools.QueryDatabase:        {`{"query":"select 1","limit":7}`, `"rows":[[7,12.50],[null,"NaN"]]|"row_count":2|"truncated":"rows"|"left_out":3|"left_out_at_least":true|"notice":"Rows left out: at least 3.|"took_ms":5|"types":["int8","numeric"]`},
	} {
		s.scope = viewer.Scope{}
		_, result, err := call(t.Context(), t, all, name, c.arguments)
		if err != nil {
			t.Errorf("%s: %v", name, err)
		}
		if strings.Contains(result.Text, "unseen") {
			t.Errorf("%s shows values of rows: %s", name, result.Text)
		}
		for part := range strings.SplitSeq(c.parts, "|") {
			if !strings.Contains(result.Text, part) {
				t.Errorf("%s has no %s:\n%s", name, part, result.Text)
			}
		}
		if _, err := s.scope.Workspace(); err != nil {
			t.Errorf("%s: the scope of the run was not passed on", name)
		}
	}
	if s.limit != 8 || s.question.Limits.Rows != 7 || s.question.Agent != run.Agent || s.question.Run != run.Run || s.question.Limits.Timeout > 30*time.Second {
		t.Errorf("%d, %+v", s.limit, s.question)
	}
	s.err = apierr.New(apierr.InvalidRequest, "Refused: no.")
	for name, arguments := range map[string]string{tools.SearchDatabaseSchema: `{"query":"x"}`, tools.GetTableInfo: `{"table":"x"}`, tools.QueryDatabase: `{"query":"delete from x"}`} {
		if _, _, err := call(t.Context(), t, all, name, arguments); apierr.From(err).Message != "Refused: no." {
			t.Errorf("%s: %v", name, err)
		}
	}
}
