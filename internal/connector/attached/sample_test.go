package attached_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/magpie-search/magpie/connectors"
	"github.com/magpie-search/magpie/internal/analysis"
	"github.com/magpie-search/magpie/internal/connector/attached"
)

// inline creates a database from SQL.
func (h *fixture) inline(sql string) (name string, login map[string]string) {
	h.Helper()
	path := filepath.Join(h.TempDir(), "database.sql")
	h.must(os.WriteFile(path, []byte(sql), 0o600))
	return h.script(path)
}

const stations = `create table stations (station_id int primary key, region text, password text, note text);
create table readings (reading_id int primary key, station_id int, level int);
insert into stations values (1, 'Svalbard', 'hunter22', 'first'), (2, 'South Georgia', 'hunter23', 'second')`

// A question that names only a value finds its table as long as rows may be shown.
func TestValuesAreFoundWhileRowsMayBeShown(t *testing.T) {
	t.Parallel()
	h := newFixture(t)
	ctx, scope := h.person("ada")
	words := attached.New(attached.Options{Ent: h.db.Ent, Catalog: h.catalog, Kinds: h.kinds, Secrets: h.box, Analyzer: analysis.New()})
	search := func(query string) (found []string) {
		t.Helper()
		matches, err := words.Search(ctx, scope, "", query, 8)
		h.must(err)
		for _, m := range matches {
			found = append(found, m.Table.Name+" "+strings.Join(m.Columns, ","))
		}
		return found
	}
	stored := func() (columns string) {
		t.Helper()
		h.must(h.owner.QueryRow(ctx, "select string_agg(columns::text, ' ') from database_tables").Scan(&columns))
		return columns
	}
	database, login := h.inline(stations)
	row := h.connector(ctx, "Weather", h.collection(ctx, "Open"), database, login, nil)
	if found := search("Svalbard"); len(found) > 0 || strings.Contains(stored(), "Svalbard") {
		t.Errorf("without the option: %v", found)
	}
	// Values alone do not change a table.
	row = h.showRows(ctx, row, true)
	if counts := h.syncDatabase(ctx, row, login); counts.Unchanged != 2 || counts.Modified != 0 {
		t.Errorf("%+v", counts)
	}
	if found := search("How high is it at Svalbard?"); len(found) == 0 || found[0] != "stations region" {
		t.Errorf("found %v", found)
	}
	if found := search("Georgia"); len(found) == 0 || found[0] != "stations " {
		t.Errorf("a part of a value: %v", found)
	}
	if columns := stored(); !strings.Contains(columns, "South Georgia") || strings.Contains(columns, "hunter22") {
		t.Errorf("stored: %s", columns)
	}
	// Switched off, they are not used any more, and the next sync removes them.
	row = h.showRows(ctx, row, false)
	if found := search("Svalbard"); len(found) > 0 {
		t.Errorf("switched off: %v", found)
	}
	if detail, err := words.Table(ctx, scope, "", "stations"); err != nil || detail.Samples != nil || detail.Table.Columns[1].Samples != nil {
		t.Errorf("switched off: %+v, %v", detail, err)
	}
	if counts := h.syncDatabase(ctx, row, login); counts.Unchanged != 2 || strings.Contains(stored(), "Svalbard") || strings.Contains(stored(), "Samples") {
		t.Errorf("%+v, stored: %s", counts, stored())
	}
	// A new value is refreshed, although the table counts as unchanged.
	row = h.showRows(ctx, row, true)
	h.syncDatabase(ctx, row, login)
	if found := search("Svalbard"); len(found) == 0 {
		t.Errorf("switched on again: %v", found)
	}
}

// recorder is a database that records which columns are read.
type recorder struct {
	connectors.Database
	asked []string
	reply func(table string, columns []string) (*connectors.Rows, error)
}

func (r *recorder) SampleColumns(_ context.Context, schema, table string, columns []string) (*connectors.Rows, error) {
	r.asked = append(r.asked, schema+"."+table+": "+strings.Join(columns, " "))
	if r.reply == nil {
		return &connectors.Rows{}, nil
	}
	return r.reply(table, columns)
}

func textColumns(names ...string) []connectors.Column {
	columns := make([]connectors.Column, len(names))
	for i, name := range names {
		columns[i] = connectors.Column{Name: name, Type: "text"}
	}
	return columns
}

// Columns that sound secret or personal, and those that are not text, are never read.
func TestSensitiveColumnsAreNeverRead(t *testing.T) {
	t.Parallel()
	types := []connectors.Column{{Name: "n", Type: "integer"}, {Name: "e", Type: "Enum8('a' = 1)", Values: []string{"a"}}, {Name: "j", Type: "jsonb"}, {Name: "u", Type: "uuid"}, {Name: "at", Type: "timestamp with time zone"}, {Name: "b", Type: "varbinary(20)"}}
	for _, kind := range []string{"character varying(20)", "VARCHAR(20)", "Nullable(String)", "LowCardinality(Nullable(String))", "nvarchar(max)", "enum('x','y')", "FixedString(3)", "ntext"} {
		types = append(types, connectors.Column{Name: kind[:4], Type: kind})
	}
	tables := []connectors.Table{
		{Schema: "s", Name: "people", Columns: textColumns(
			"password", "userPasswd", "api_token", "ClientSecret", "ssn", "SSN_last4", "eMail", "mail", "sbcustphone", "fax", "customer_id", "customerID", "sbtickerid", "password_hash", "key", "api_key", "pin", "Kennwort", "iban", "date_of_birth",
			"country", "status", "Bezirk", "keyword", "shipping")},
		{Schema: "s", Name: "secret", Columns: textColumns("pwd")},
		{Schema: "s", Name: "types", Columns: types},
	}
	r := &recorder{}
	if _, err := attached.SampleValues(t.Context(), r, tables); err != nil {
		t.Fatal(err)
	}
	if want := []string{"s.people: country status Bezirk keyword shipping", "s.types: char VARC Null LowC nvar enum Fixe ntex"}; !slices.Equal(r.asked, want) {
		t.Errorf("asked %q", r.asked)
	}
}

func TestOnlyValuesThatPeopleNameAreKept(t *testing.T) {
	t.Parallel()
	many := make([]string, 201)
	for i := range many {
		many[i] = "value " + strings.Repeat("x", i%7) + string(rune('a'+i%26)) + string(rune('a'+i/26))
	}
	for name, c := range map[string]struct{ values, kept []string }{
		"states":          {[]string{"paid", "open", "paid", "", "open"}, []string{"open", "paid"}},
		"names":           {[]string{"New York", "A-1", "2024-01-02", "+49 30 1234567", "Q3 Report", "日本"}, []string{"New York", "Q3 Report", "日本"}},
		"padded":          {[]string{"DE\x00\x00", "FR  "}, []string{"DE", "FR"}},
		"free text":       {[]string{"open", strings.Repeat("long ", 13)}, nil},
		"addresses":       {[]string{"Ada", "ada@example.com"}, nil},
		"links":           {[]string{"none", "https://example.com"}, nil},
		"hashes":          {[]string{"abcdefabcdefab12", "x"}, nil},
		"identifiers":     {[]string{"3f2504e0-4f89-41d3-9a0c-0305e82c3301"}, nil},
		"JSON":            {[]string{`{"a": 1}`}, nil},
		"lines":           {[]string{"a\nb"}, nil},
		"bytes":           {[]string{`\x00ff`}, nil},
		"too many":        {many, nil},
		"as many as kept": {many[:200], slices.Sorted(slices.Values(many[:200]))},
	} {
		rows := &connectors.Rows{}
		for _, value := range c.values {
			rows.Values = append(rows.Values, []any{value, nil})
		}
		tables := []connectors.Table{{Schema: "s", Name: "t", Columns: textColumns("a", "b")}}
		r := &recorder{reply: func(string, []string) (*connectors.Rows, error) { return rows, nil }}
		if _, err := attached.SampleValues(t.Context(), r, tables); err != nil {
			t.Fatal(err)
		}
		if got := tables[0].Columns[0].Samples; !slices.Equal(got, c.kept) || tables[0].Columns[1].Samples != nil {
			t.Errorf("%s: %q", name, got)
		}
	}
}

// A statement that fails loses the values of one table. The end of the context ends the
// sync, and the limit of values the reading.
func TestFailedSamplesLoseTheirTable(t *testing.T) {
	t.Parallel()
	tables := []connectors.Table{{Name: "a", Columns: textColumns("x")}, {Name: "b", Columns: textColumns("x")}, {Name: "c", Columns: textColumns("x")}}
	good := &connectors.Rows{Values: [][]any{{"Svalbard"}}}
	failing := &recorder{reply: func(table string, _ []string) (*connectors.Rows, error) {
		if table == "b" {
			return nil, errors.New("stopped after 5s")
		}
		return good, nil
	}}
	s, err := attached.SampleValues(t.Context(), failing, tables)
	if err != nil || s.Failed != 1 || s.Unread != 0 || s.Failure.Error() != "b: stopped after 5s" {
		t.Errorf("%+v, %v", s, err)
	}
	if tables[0].Columns[0].Samples == nil || tables[1].Columns[0].Samples != nil || tables[2].Columns[0].Samples == nil {
		t.Errorf("%+v", tables)
	}
	ctx, cancel := context.WithCancel(t.Context())
	canceled := &recorder{reply: func(string, []string) (*connectors.Rows, error) {
		cancel()
		return nil, ctx.Err()
	}}
	if _, err := attached.SampleValues(ctx, canceled, tables); !errors.Is(err, context.Canceled) || len(canceled.asked) != 1 {
		t.Errorf("canceled: %v, asked %v", err, canceled.asked)
	}
	refused := &recorder{reply: func(string, []string) (*connectors.Rows, error) { return nil, connectors.ErrNoSamples }}
	if s, err := attached.SampleValues(t.Context(), refused, tables); err != nil || !reflect.DeepEqual(s, attached.Sampling{}) || len(refused.asked) != 1 {
		t.Errorf("not allowed: %+v, %v, asked %v", s, err, refused.asked)
	}
	full := &connectors.Rows{}
	for i := range 200 {
		text := fmt.Sprintf("value %c%c", 'a'+i%26, 'a'+i/26)
		full.Values = append(full.Values, []any{text, text, text})
	}
	wide := make([]connectors.Table, 60)
	for i := range wide {
		wide[i] = connectors.Table{Name: "wide", Columns: textColumns("x", "y", "z")}
	}
	reading := &recorder{reply: func(string, []string) (*connectors.Rows, error) { return full, nil }}
	s, err = attached.SampleValues(t.Context(), reading, wide)
	if err != nil || s.Unread != 10 || len(reading.asked) != 50 || wide[0].Columns[1].Samples == nil || wide[0].Columns[2].Samples != nil || wide[50].Columns[0].Samples != nil {
		t.Errorf("%+v, %v, %d statements", s, err, len(reading.asked))
	}
}

// The reading of large tables is bounded: no column of many or long values is kept.
func TestSamplesOfLargeTablesAreBounded(t *testing.T) {
	t.Parallel()
	h := newFixture(t)
	ctx, _ := h.person("ada")
	database, login := h.inline(`create table events (body text, kind text, customer text, "it's ""q""" text);
insert into events select repeat('lorem ipsum ', 20), case g % 3 when 0 then 'opened' when 1 then 'closed' else 'archived' end, 'customer ' || translate((g % 10000)::text, '0123456789', 'abcdefghij'), 'quoted' from generate_series(1, 100000) g`)
	row := h.connector(ctx, "Events", h.collection(ctx, "Open"), database, login, nil)
	kind, _ := h.kinds.Lookup("postgresql")
	place, err := kind.Attach(ctx, connectors.Settings{Config: h.showRows(ctx, row, true).Config, Credentials: login})
	h.must(err)
	defer func() { h.must(place.Close()) }()
	tables, err := place.Schema(ctx)
	h.must(err)
	rows, err := place.SampleColumns(ctx, "public", "events", []string{"body", "kind"})
	if err != nil || len(rows.Values) != connectors.MaxSampledRows || len(rows.Values[0][0].(string)) != connectors.MaxSampledText {
		t.Errorf("%d rows, %v", len(rows.Values), err)
	}
	began := time.Now()
	_, err = attached.SampleValues(ctx, place, tables)
	h.must(err)
	t.Logf("read in %v", time.Since(began))
	got := map[string][]string{}
	for _, c := range tables[0].Columns {
		got[c.Name] = c.Samples
	}
	if want := map[string][]string{"body": nil, "kind": {"archived", "closed", "opened"}, "customer": nil, `it's "q"`: {"quoted"}}; !reflect.DeepEqual(got, want) {
		t.Errorf("%v", got)
	}
}
