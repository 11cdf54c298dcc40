package attached

import (
	"context"
	"fmt"
	"log/slog"
	"math"
	"slices"
	"strings"

	"github.com/magpie-search/magpie/connectors"
	"github.com/magpie-search/magpie/internal/apierr"
	"github.com/magpie-search/magpie/internal/viewer"
)

// How a table is ranked: a word counts by where it stands and by how few tables
// have it. The figures are not fitted to anything; docs/databases.md has what
// they come to on the questions of five sample databases.
const (
	weightName    = 3.0
	weightColumn  = 1.5
	weightComment = 1.0
	// weightPart is what a word counts that is only a part of another one, as in
	// sbcustomer; shortestPart is how long it has to be.
	weightPart   = 0.6
	shortestPart = 4
	// weightMeaning is how much the likeness of meaning counts against the words.
	weightMeaning = 0.6
	// weightNeighbour is what a table gets of the score of one that it is joined to.
	weightNeighbour = 0.25
	// maxColumnsEmbedded is how many columns the vector of a table is made of.
	maxColumnsEmbedded = 60
)

// entry is a table as it is searched.
type entry struct {
	database Database
	table    *connectors.Table
	name     map[string]bool
	columns  []map[string]bool
	comment  map[string]bool
	vector   []float32
}

// Found is a table that a search found.
type Found struct {
	Database Database
	Table    *connectors.Table
	// Columns are the names of those that the search's words are in.
	Columns []string
	// Joins are the foreign keys of the table and those that point at it.
	Joins []Join
	Score float64
}

// Join says by which columns two tables of a database are joined.
type Join struct {
	Schema, Table      string
	Columns            []string
	OtherSchema, Other string
	References         []string
}

// entries prepares tables for searches.
func (d *Databases) entries(ctx context.Context, one Database, tables []connectors.Table) []*entry {
	out := make([]*entry, len(tables))
	texts := make([]string, len(tables))
	for i := range tables {
		t := &tables[i]
		e := &entry{database: one, table: t, name: d.terms(t.Name), comment: d.terms(t.Comment)}
		text := words(t.Name) + ". " + t.Comment + "."
		for at, c := range t.Columns {
			e.columns = append(e.columns, d.terms(c.Name))
			for term := range d.terms(c.Comment) {
				e.comment[term] = true
			}
			for _, value := range c.Values {
				for term := range d.terms(value) {
					e.comment[term] = true
				}
			}
			if at < maxColumnsEmbedded {
				text += " " + words(c.Name)
			}
		}
		out[i], texts[i] = e, text
	}
	if d.o.Embed == nil || len(texts) == 0 {
		return out
	}
	vectors, err := d.o.Embed(ctx, texts, false)
	if err != nil || len(vectors) != len(texts) {
		d.o.Log.WarnContext(ctx, "the tables of a database are found by words alone", slog.String("connector", one.ID.String()), slog.Any("error", err))
		return out
	}
	for i := range out {
		out[i].vector = vectors[i]
	}
	return out
}

// words is an identifier as one would say it.
func words(name string) string {
	return strings.NewReplacer("_", " ", "-", " ", ".", " ").Replace(name)
}

func (d *Databases) terms(text string) map[string]bool {
	out := map[string]bool{}
	for _, token := range d.o.Analyzer.Tokens(text, "en") {
		out[strings.Clone(token.Term)] = true
	}
	return out
}

// Search finds tables of the databases within a scope by what they are about.
func (d *Databases) Search(ctx context.Context, scope viewer.Scope, database, query string, limit int) ([]Found, error) {
	all, err := d.List(ctx, scope)
	if err != nil {
		return nil, err
	}
	if len(all) == 0 {
		return nil, noDatabase()
	}
	if strings.TrimSpace(database) != "" {
		one, err := d.find(ctx, scope, database)
		if err != nil {
			return nil, err
		}
		all = []Database{one}
	}
	if !slices.ContainsFunc(all, func(one Database) bool { return one.Known }) {
		return nil, apierr.New(apierr.CodeNotFound, "The schema of the attached database was not read yet; a schema sync has to run first.")
	}
	schemas, err := d.schemas(ctx, scope, all)
	if err != nil {
		return nil, err
	}
	var entries []*entry
	for _, s := range schemas {
		entries = append(entries, s.tables...)
	}
	terms := d.o.Analyzer.Terms(query, "en")
	scores := d.scores(ctx, entries, query, terms)
	order := make([]int, len(entries))
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(a, b int) int {
		switch {
		case scores[a] > scores[b]:
			return -1
		case scores[a] < scores[b]:
			return 1
		default:
			return 0
		}
	})
	out := []Found{}
	for _, i := range order[:min(len(order), limit)] {
		if scores[i] <= 0 {
			break
		}
		e := entries[i]
		found := Found{Database: e.database, Table: e.table, Joins: joins(entries, e), Score: scores[i]}
		for at, own := range e.columns {
			if slices.ContainsFunc(terms, func(term string) bool { return strength(own, term) > 0 }) {
				found.Columns = append(found.Columns, e.table.Columns[at].Name)
			}
		}
		out = append(out, found)
	}
	return out, nil
}

// strength is how well a word stands among others: whole, or as a part of one.
func strength(among map[string]bool, term string) float64 {
	if among[term] {
		return 1
	}
	if len(term) >= shortestPart {
		for own := range among {
			if strings.Contains(own, term) {
				return weightPart
			}
		}
	}
	return 0
}

// scores ranks entries for the terms of a query.
func (d *Databases) scores(ctx context.Context, entries []*entry, query string, terms []string) []float64 {
	own := make([]float64, len(entries))
	for _, term := range terms {
		points := make([]float64, len(entries))
		have := 0
		for i, e := range entries {
			best := weightName * strength(e.name, term)
			columns := 0.0
			for _, column := range e.columns {
				columns += strength(column, term)
			}
			// Many columns with a word say little more than one.
			best += weightColumn * math.Min(1+math.Log1p(math.Max(columns-1, 0))/2, columns)
			best += weightComment * strength(e.comment, term)
			if points[i] = best; best > 0 {
				have++
			}
		}
		rare := math.Log(1 + (float64(len(entries))-float64(have)+0.5)/(float64(have)+0.5))
		for i := range own {
			own[i] += points[i] * (0.3 + rare)
		}
	}
	best := slices.Max(append(slices.Clone(own), 0))
	d.addMeaning(ctx, entries, query, own, best)
	out := slices.Clone(own)
	at := make(map[[3]string]int, len(entries))
	for i, e := range entries {
		at[[3]string{e.database.ID.String(), e.table.Schema, e.table.Name}] = i
	}
	for i, e := range entries {
		for _, key := range e.table.ForeignKeys {
			other, ok := at[[3]string{e.database.ID.String(), key.Schema, key.Table}]
			if !ok || other == i {
				continue
			}
			out[i] = math.Max(out[i], own[i]+weightNeighbour*own[other])
			out[other] = math.Max(out[other], own[other]+weightNeighbour*own[i])
		}
	}
	return out
}

// addMeaning adds what the likeness of the vectors says, in the measure of the
// best score by words.
func (d *Databases) addMeaning(ctx context.Context, entries []*entry, query string, own []float64, best float64) {
	if d.o.Embed == nil {
		return
	}
	vectors, err := d.o.Embed(ctx, []string{query}, true)
	if err != nil || len(vectors) != 1 {
		return // words have to do
	}
	likeness := make([]float64, len(entries))
	mean, most := 0.0, 0.0
	for i, e := range entries {
		if len(e.vector) != len(vectors[0]) {
			continue
		}
		for at, x := range vectors[0] {
			likeness[i] += float64(x) * float64(e.vector[at])
		}
		mean += likeness[i] / float64(len(entries))
		most = math.Max(most, likeness[i])
	}
	if most <= mean {
		return
	}
	if best == 0 {
		best = 1
	}
	for i := range own {
		own[i] += weightMeaning * best * math.Max(0, (likeness[i]-mean)/(most-mean))
	}
}

// joins are the foreign keys of a table, and of others that point at it.
func joins(entries []*entry, e *entry) []Join {
	const most = 40
	var out []Join
	for _, other := range entries {
		if other.database.ID != e.database.ID {
			continue
		}
		for _, key := range other.table.ForeignKeys {
			points := key.Schema == e.table.Schema && key.Table == e.table.Name
			if (other == e || points) && len(out) < most {
				out = append(out, Join{other.table.Schema, other.table.Name, key.Columns, key.Schema, key.Table, key.References})
			}
		}
	}
	return out
}

// Detail is a table with all that is known of it.
type Detail struct {
	Found
	// Samples are some rows; nil where the connector shows none.
	Samples *connectors.Rows
}

// Table is the one of a name, in one database or in all within the scope.
func (d *Databases) Table(ctx context.Context, scope viewer.Scope, database, name string) (*Detail, error) {
	all, err := d.List(ctx, scope)
	if err != nil {
		return nil, err
	}
	if len(all) == 0 {
		return nil, noDatabase()
	}
	if strings.TrimSpace(database) != "" {
		one, err := d.find(ctx, scope, database)
		if err != nil {
			return nil, err
		}
		all = []Database{one}
	}
	schemas, err := d.schemas(ctx, scope, all)
	if err != nil {
		return nil, err
	}
	var entries, fitting []*entry
	for _, s := range schemas {
		entries = append(entries, s.tables...)
	}
	for _, e := range entries {
		if sameName(e.table, name) {
			fitting = append(fitting, e)
		}
	}
	switch len(fitting) {
	case 0:
		return nil, d.missing(ctx, entries, name)
	case 1:
		e := fitting[0]
		return &Detail{Found: Found{Database: e.database, Table: e.table, Joins: joins(entries, e)}, Samples: d.samples(ctx, e)}, nil
	}
	names := make([]string, 0, len(fitting))
	for _, e := range fitting[:min(len(fitting), 20)] {
		names = append(names, fmt.Sprintf("%s.%s of %q", e.table.Schema, e.table.Name, e.database.Name))
	}
	return nil, apierr.Invalid("table", "fits several; name one with its schema, and its database: "+strings.Join(names, ", "))
}

// missing says which tables come nearest to a name that none has.
func (d *Databases) missing(ctx context.Context, entries []*entry, name string) error {
	message := "There is no such table for this agent."
	if len(entries) == 0 {
		return apierr.New(apierr.CodeNotFound, message+" No schema was read yet; a schema sync has to run first.")
	}
	scores := d.scores(ctx, entries, name, d.o.Analyzer.Terms(name, "en"))
	order := make([]int, len(entries))
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(a, b int) int { return int(math.Copysign(1, scores[b]-scores[a])) })
	var near []string
	for _, i := range order[:min(len(order), 5)] {
		near = append(near, entries[i].table.Schema+"."+entries[i].table.Name)
	}
	return apierr.New(apierr.CodeNotFound, message+" The nearest are: "+strings.Join(near, ", ")+".")
}

// samples reads some rows, where the connector allows it; that they cannot be
// read is no reason to keep the rest back.
func (d *Databases) samples(ctx context.Context, e *entry) *connectors.Rows {
	const wanted = 3
	if on, _ := e.database.row.Config["sampleRows"].(bool); !on {
		return nil
	}
	leave, err := d.gate(ctx, e.database.ID)
	if err != nil {
		return nil
	}
	defer leave()
	database, _, _, err := d.open(ctx, e.database.row)
	if err != nil {
		return nil
	}
	defer func() { _ = database.Close() }()
	rows, err := database.Sample(ctx, e.table.Schema, e.table.Name, wanted)
	if err != nil {
		return nil
	}
	return rows
}
