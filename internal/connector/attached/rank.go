package attached

import (
	"context"
	"fmt"
	"log/slog"
	"maps"
	"math"
	"slices"
	"strings"

	"github.com/google/uuid"

	"github.com/magpie-search/magpie/connectors"
	"github.com/magpie-search/magpie/internal/apierr"
	"github.com/magpie-search/magpie/internal/safetext"
	"github.com/magpie-search/magpie/internal/viewer"
)

// Weights of a table's score. A term counts by the field that contains it and by
// its idf. The values are not fitted to data; docs/databases.md has their results
// on five sample databases.
const (
	weightName    = 3.0
	weightColumn  = 1.5
	weightComment = 1.0
	// weightValue is the weight of a value that the query has whole.
	weightValue = 1.0
	// weightPart is the weight of a term that is part of a longer word, as in
	// sbcustomer; minPartLength is the minimum length of such a term.
	weightPart    = 0.6
	minPartLength = 4
	// weightSimilarity is the weight of the vectors' similarity relative to the
	// best score by words.
	weightSimilarity = 0.6
	// weightJoined is the share of its score that a table passes on to tables that
	// it is joined with, see joined.
	weightJoined = 0.25
	// maxColumnsEmbedded is the maximum number of columns in the embedded text.
	maxColumnsEmbedded = 60
	// maxCommentEmbedded is the maximum length of a column's comment there, in
	// characters.
	maxCommentEmbedded = 100
)

// entry is a table prepared for search.
type entry struct {
	database uuid.UUID
	table    *connectors.Table
	name     map[string]bool
	columns  []map[string]bool
	comment  map[string]bool
	values   []value
	vector   []float32
	related  []*entry // that it is joined with
}

// value has the terms of a value of a column.
type value struct {
	column int
	terms  []string
}

// Match is a table that a search found.
type Match struct {
	Database Database
	Table    *connectors.Table
	// Columns are the names of the columns that match the query.
	Columns []string
	// Joins are the foreign keys of the table and those that reference it.
	Joins []Join
	Score float64
}

// Join is a foreign key between two tables of a database.
type Join struct {
	Schema, Table      string
	Columns            []string
	OtherSchema, Other string
	References         []string
}

// entries prepares tables for search.
func (d *Databases) entries(ctx context.Context, database uuid.UUID, tables []connectors.Table) []*entry {
	out := make([]*entry, len(tables))
	texts := make([]string, len(tables))
	names := namingOf(tables)
	for i := range tables {
		t := &tables[i]
		e := &entry{database: database, table: t, name: d.nameTerms(t.Name, names.tables[t.Schema]), comment: d.terms(t.Comment)}
		text := spaced(withoutPrefix(t.Name, names.tables[t.Schema])) + ". " + t.Comment + "."
		for at, c := range t.Columns {
			e.columns = append(e.columns, d.nameTerms(c.Name, names.columns[i]))
			maps.Copy(e.comment, d.terms(c.Comment))
			for _, text := range slices.Concat(c.Values, c.Samples) {
				e.values = append(e.values, value{column: at, terms: d.valueTerms(text)})
			}
			if at < maxColumnsEmbedded {
				text += " " + spaced(withoutPrefix(c.Name, names.columns[i]))
				if c.Comment != "" {
					text += " (" + safetext.Truncate(c.Comment, maxCommentEmbedded) + ")"
				}
			}
		}
		out[i], texts[i] = e, text
	}
	for i, others := range relate(tables, names) {
		for _, other := range others {
			out[i].related = append(out[i].related, out[other])
		}
	}
	if d.o.Embed == nil || len(texts) == 0 {
		return out
	}
	vectors, err := d.o.Embed(ctx, texts, false)
	if err != nil || len(vectors) != len(texts) {
		d.o.Log.WarnContext(ctx, "embedding tables failed, search uses words only", slog.String("connector", database.String()), slog.Any("error", err))
		return out
	}
	for i := range out {
		out[i].vector = vectors[i]
	}
	return out
}

// nameTerms returns the terms of an identifier, whole, in words, and without a prefix.
func (d *Databases) nameTerms(name, prefix string) map[string]bool {
	return d.terms(name + " " + spaced(name) + " " + spaced(withoutPrefix(name, prefix)))
}

func (d *Databases) terms(text string) map[string]bool {
	out := map[string]bool{}
	for _, token := range d.o.Analyzer.Tokens(text, "en") {
		out[strings.Clone(token.Term)] = true
	}
	return out
}

// valueTerms returns the terms of a value as those of a query.
func (d *Databases) valueTerms(text string) []string {
	terms := d.o.Analyzer.Terms(text, "en")
	for i := range terms {
		terms[i] = strings.Clone(terms[i])
	}
	return terms
}

// Search returns the best tables of the databases within a scope for a query.
func (d *Databases) Search(ctx context.Context, scope viewer.Scope, database, query string, limit int) ([]Match, error) {
	all, err := d.List(ctx, scope)
	if err != nil {
		return nil, err
	}
	if len(all) == 0 {
		return nil, errNoDatabase()
	}
	if strings.TrimSpace(database) != "" {
		db, err := d.find(ctx, scope, database)
		if err != nil {
			return nil, err
		}
		all = []Database{db}
	}
	if !slices.ContainsFunc(all, func(db Database) bool { return db.HasSchema }) {
		return nil, apierr.New(apierr.CodeNotFound, "The schema of the attached database was not read yet; a schema sync has to run first.")
	}
	schemas, err := d.readSchemas(ctx, scope, all)
	if err != nil {
		return nil, err
	}
	var entries []*entry
	for _, s := range schemas {
		entries = append(entries, s.tables...)
	}
	attached := byID(all)
	terms := d.o.Analyzer.Terms(query, "en")
	asked := setOf(terms)
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
	out := []Match{}
	for _, i := range order[:min(len(order), limit)] {
		if scores[i] <= 0 {
			break
		}
		e := entries[i]
		m := Match{Database: attached[e.database], Table: e.table, Joins: joins(entries, e), Score: scores[i]}
		named := e.namedColumns(asked)
		for at, own := range e.columns {
			if named[at] || slices.ContainsFunc(terms, func(term string) bool { return matchWeight(own, term) > 0 }) {
				m.Columns = append(m.Columns, e.table.Columns[at].Name)
			}
		}
		out = append(out, m)
	}
	return out, nil
}

// matchWeight returns 1 if term is one of the words, weightPart if it is part of
// one, and else 0.
func matchWeight(words map[string]bool, term string) float64 {
	if words[term] {
		return 1
	}
	if len(term) >= minPartLength {
		for own := range words {
			if strings.Contains(own, term) {
				return weightPart
			}
		}
	}
	return 0
}

// scores returns the score of each entry for a query.
func (d *Databases) scores(ctx context.Context, entries []*entry, query string, terms []string) []float64 {
	own := make([]float64, len(entries))
	covered := map[uuid.UUID]float64{} // by database: the best scores of the terms
	values := make([]map[string]float64, len(entries))
	asked := setOf(terms)
	for i, e := range entries {
		values[i] = e.valueShares(asked)
	}
	for _, term := range terms {
		weights := make([]float64, len(entries))
		most := map[uuid.UUID]float64{}
		df := 0
		for i, e := range entries {
			weights[i] = e.weight(term) + weightValue*values[i][term]
			if weights[i] > 0 {
				df++
			}
			most[e.database] = math.Max(most[e.database], weights[i])
		}
		idf := 0.3 + math.Log(1+(float64(len(entries))-float64(df)+0.5)/(float64(df)+0.5))
		for i := range own {
			own[i] += weights[i] * idf
		}
		for id, weight := range most {
			covered[id] += weight * idf
		}
	}
	d.addSimilarity(ctx, entries, query, own, slices.Max(append(slices.Clone(own), 0)))
	favour(entries, own, covered)
	return joined(entries, own)
}

// valueShares returns for each term of a query the largest share of a value's terms that
// the query has, among the table's values with the term. It is 1 for a value that the query
// has whole.
func (e *entry) valueShares(asked map[string]bool) map[string]float64 {
	shares := map[string]float64{}
	for _, v := range e.values {
		share := v.share(asked)
		if share == 0 {
			continue
		}
		for _, term := range v.terms {
			if asked[term] {
				shares[term] = math.Max(shares[term], share)
			}
		}
	}
	return shares
}

// namedColumns returns the columns that have a value which the query has whole.
func (e *entry) namedColumns(asked map[string]bool) map[int]bool {
	columns := map[int]bool{}
	for _, v := range e.values {
		if v.share(asked) == 1 {
			columns[v.column] = true
		}
	}
	return columns
}

// share returns the share of the value's terms that a query has.
func (v value) share(asked map[string]bool) float64 {
	n := 0
	for _, term := range v.terms {
		if asked[term] {
			n++
		}
	}
	return float64(n) / math.Max(1, float64(len(v.terms)))
}

func setOf(terms []string) map[string]bool {
	set := make(map[string]bool, len(terms))
	for _, term := range terms {
		set[term] = true
	}
	return set
}

// weight returns how well names and comments of the table have a term.
func (e *entry) weight(term string) float64 {
	columns := 0.0
	for _, column := range e.columns {
		columns += matchWeight(column, term)
	}
	// Several matching columns count little more than one.
	return weightName*matchWeight(e.name, term) + weightColumn*math.Min(1+math.Log1p(math.Max(columns-1, 0))/2, columns) + weightComment*matchWeight(e.comment, term)
}

// favour reduces the scores of tables in databases that have fewer of the query's terms than
// the best one: all tables of a question are in one database.
func favour(entries []*entry, scores []float64, covered map[uuid.UUID]float64) {
	best := 0.0
	for _, c := range covered {
		best = math.Max(best, c)
	}
	if best == 0 {
		return
	}
	for i, e := range entries {
		scores[i] *= covered[e.database] / best
	}
}

// joined adds to each score a share of the scores of the two best tables that the table is
// joined with: what stands between two tables of a question is probably needed, too.
func joined(entries []*entry, own []float64) []float64 {
	at := make(map[*entry]int, len(entries))
	for i, e := range entries {
		at[e] = i
	}
	out := slices.Clone(own)
	for i, e := range entries {
		first, second := 0.0, 0.0
		for _, other := range e.related {
			switch score := own[at[other]]; {
			case score > first:
				first, second = score, first
			case score > second:
				second = score
			}
		}
		out[i] += weightJoined * (first + second)
	}
	return out
}

// addSimilarity adds the similarity of the vectors to the scores by words, of which
// best is the highest.
func (d *Databases) addSimilarity(ctx context.Context, entries []*entry, query string, own []float64, best float64) {
	if d.o.Embed == nil {
		return
	}
	vectors, err := d.o.Embed(ctx, []string{query}, true)
	if err != nil || len(vectors) != 1 {
		return // the scores by words are sufficient
	}
	similarity := make([]float64, len(entries))
	mean, highest := 0.0, 0.0
	for i, e := range entries {
		if len(e.vector) != len(vectors[0]) {
			continue
		}
		for at, x := range vectors[0] {
			similarity[i] += float64(x) * float64(e.vector[at])
		}
		mean += similarity[i] / float64(len(entries))
		highest = math.Max(highest, similarity[i])
	}
	if highest <= mean {
		return
	}
	if best == 0 {
		best = 1
	}
	for i := range own {
		own[i] += weightSimilarity * best * math.Max(0, (similarity[i]-mean)/(highest-mean))
	}
}

// joins returns the foreign keys of a table and those that reference it.
func joins(entries []*entry, e *entry) []Join {
	const limit = 40
	var out []Join
	for _, other := range entries {
		if other.database != e.database {
			continue
		}
		for _, key := range other.table.ForeignKeys {
			references := key.Schema == e.table.Schema && key.Table == e.table.Name
			if (other == e || references) && len(out) < limit {
				out = append(out, Join{other.table.Schema, other.table.Name, key.Columns, key.Schema, key.Table, key.References})
			}
		}
	}
	return out
}

// TableDetail is a table with sample rows.
type TableDetail struct {
	Match
	// Samples is nil if the connector allows none.
	Samples *connectors.Rows
}

// Table returns the table with a name, in one database or in all within the scope.
func (d *Databases) Table(ctx context.Context, scope viewer.Scope, database, name string) (*TableDetail, error) {
	all, err := d.List(ctx, scope)
	if err != nil {
		return nil, err
	}
	if len(all) == 0 {
		return nil, errNoDatabase()
	}
	if strings.TrimSpace(database) != "" {
		db, err := d.find(ctx, scope, database)
		if err != nil {
			return nil, err
		}
		all = []Database{db}
	}
	schemas, err := d.readSchemas(ctx, scope, all)
	if err != nil {
		return nil, err
	}
	attached := byID(all)
	var entries, matches []*entry
	for _, s := range schemas {
		entries = append(entries, s.tables...)
	}
	for _, e := range entries {
		if sameName(e.table, name) {
			matches = append(matches, e)
		}
	}
	switch len(matches) {
	case 0:
		return nil, d.errNoTable(ctx, entries, name)
	case 1:
		e := matches[0]
		db := attached[e.database]
		return &TableDetail{Match: Match{Database: db, Table: e.table, Joins: joins(entries, e)}, Samples: d.samples(ctx, db, e.table)}, nil
	}
	names := make([]string, 0, len(matches))
	for _, e := range matches[:min(len(matches), 20)] {
		names = append(names, fmt.Sprintf("%s.%s of %q", e.table.Schema, e.table.Name, attached[e.database].Name))
	}
	return nil, apierr.Invalid("table", "fits several; name one with its schema, and its database: "+strings.Join(names, ", "))
}

// errNoTable returns an error that suggests tables with similar names.
func (d *Databases) errNoTable(ctx context.Context, entries []*entry, name string) error {
	message := "There is no such table in reach of this caller."
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

// samples returns some rows if the connector allows it. An error is ignored.
func (d *Databases) samples(ctx context.Context, db Database, table *connectors.Table) *connectors.Rows {
	const sampleRows = 3
	if !db.showsRows() {
		return nil
	}
	release, err := d.acquireSlot(ctx, db.ID)
	if err != nil {
		return nil
	}
	defer release()
	database, _, _, err := d.open(ctx, db.row)
	if err != nil {
		return nil
	}
	defer func() { _ = database.Close() }()
	rows, err := database.Sample(ctx, table.Schema, table.Name, sampleRows)
	if err != nil {
		return nil
	}
	return rows
}
