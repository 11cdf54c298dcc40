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

// shelf is one attached database, which notes what it was asked.
type shelf struct {
	reach    viewer.Scope
	question attached.Question
	limit    int
	err      error
}

func (s *shelf) found() attached.Found {
	columns := []connectors.Column{{Name: "order_id", Type: "integer"}, {Name: "customer_id", Type: "integer", Nullable: true, Comment: "who <bought>"}}
	for range 70 {
		columns = append(columns, connectors.Column{Name: "more", Type: "text", Values: []string{"a", "b"}})
	}
	return attached.Found{
		Database: attached.Database{ID: uuid.New(), Name: "Shop", Type: "postgresql"}, Columns: []string{"customer_id"},
		Table: &connectors.Table{Schema: "public", Name: "orders", Columns: columns, PrimaryKey: []string{"order_id"}, Rows: 3},
		Joins: []attached.Join{{Schema: "public", Table: "orders", Columns: []string{"customer_id"}, OtherSchema: "public", Other: "customers", References: []string{"id"}}},
	}
}

func (s *shelf) Search(_ context.Context, reach viewer.Scope, _, _ string, limit int) ([]attached.Found, error) {
	s.reach, s.limit = reach, limit
	return []attached.Found{s.found()}, s.err
}

func (s *shelf) Table(_ context.Context, reach viewer.Scope, _, _ string) (*attached.Detail, error) {
	s.reach = reach
	return &attached.Detail{Found: s.found(), Samples: &connectors.Rows{Columns: []string{"order_id"}, Values: [][]any{{int64(1)}}, Truncated: "bytes", Omitted: 1, OversizedRow: 2}}, s.err
}

func (s *shelf) Query(_ context.Context, reach viewer.Scope, q attached.Question) (*attached.Answer, error) {
	s.reach, s.question = reach, q
	return &attached.Answer{Database: s.found().Database, Rows: &connectors.Rows{
		Columns: []string{"n", "exact"}, Types: []string{"int8", "numeric"}, Values: [][]any{{int64(7), json.Number("12.50")}, {nil, "NaN"}}, Truncated: "rows", Omitted: 3, OmittedAtLeast: true, Duration: 5 * time.Millisecond,
	}}, s.err
}

func TestDatabaseToolsTellWhatTheyFind(t *testing.T) {
	t.Parallel()
	scope, err := viewer.System(uuid.New()).Scope()
	if err != nil {
		t.Fatal(err)
	}
	s := &shelf{}
	desk := tools.Desk{Reach: scope, Agent: uuid.New(), Run: uuid.New()}
	all := (&tools.Kit{Databases: s, Now: time.Now}).Tools(desk, tools.Names())
	for name, c := range map[string]struct{ arguments, parts string }{
		tools.SearchDatabaseSchema: {`{"query":"orders of customers"}`, `"database":"Shop"|"dialect":"PostgreSQL"|"table":"public.orders"|"order_id integer"|"more_columns":12|"matched_columns":["customer_id"]|"joins":["public.orders.customer_id = public.customers.id"]|"estimated_rows":3`},
		tools.GetTableInfo:         {`{"table":"orders"}`, `"primary_key":["order_id"]|"nullable":true|"comment":"who <bought>"|"values":["a","b"]|"sample_rows":{"columns":["order_id"],"notice":"Row 2 alone is larger|"rows":[[1]]}`},
		tools.QueryDatabase:        {`{"query":"select 1","limit":7}`, `"rows":[[7,12.50],[null,"NaN"]]|"row_count":2|"truncated":"rows"|"left_out":3|"left_out_at_least":true|"notice":"Rows left out: at least 3.|"took_ms":5|"types":["int8","numeric"]`},
	} {
		s.reach = viewer.Scope{}
		_, result, err := call(t.Context(), t, all, name, c.arguments)
		if err != nil {
			t.Errorf("%s: %v", name, err)
		}
		for part := range strings.SplitSeq(c.parts, "|") {
			if !strings.Contains(result.Text, part) {
				t.Errorf("%s has no %s:\n%s", name, part, result.Text)
			}
		}
		if _, err := s.reach.Workspace(); err != nil {
			t.Errorf("%s: the reach of the desk was not handed on", name)
		}
	}
	if s.limit != 8 || s.question.Limits.Rows != 7 || s.question.Agent != desk.Agent || s.question.Run != desk.Run || s.question.Limits.Timeout > 30*time.Second {
		t.Errorf("%d, %+v", s.limit, s.question)
	}
	s.err = apierr.New(apierr.InvalidRequest, "Refused: no.")
	for name, arguments := range map[string]string{tools.SearchDatabaseSchema: `{"query":"x"}`, tools.GetTableInfo: `{"table":"x"}`, tools.QueryDatabase: `{"query":"delete from x"}`} {
		if _, _, err := call(t.Context(), t, all, name, arguments); apierr.From(err).Message != "Refused: no." {
			t.Errorf("%s: %v", name, err)
		}
	}
}
