package mssql

import (
	"slices"
	"strings"

	"github.com/magpie-search/magpie/connectors/sqldb"
)

// A Statement is a statement that passed Inspect.
type Statement struct {
	// Text is the statement without comments.
	Text string
	// Tables are the tables that are read, without common table expressions.
	Tables []Name
}

// A Name is a table's name with the database and schema that qualify it, "" for
// none.
type Name struct{ Database, Schema, Name string }

// maxDepth bounds the nesting of parentheses.
const maxDepth = 200

// Inspect refuses a statement unless it is one SELECT, or WITH … SELECT, that only
// reads. Unknown elements are refused. Errors are *connectors.QueryError.
func Inspect(statement string) (*Statement, error) {
	if err := sqldb.CheckText(statement); err != nil {
		return nil, err
	}
	tokens, clean, err := scan(statement)
	if err != nil {
		return nil, err
	}
	for len(tokens) > 0 && tokens[len(tokens)-1].is(";") {
		tokens = tokens[:len(tokens)-1]
	}
	if len(tokens) == 0 {
		return nil, sqldb.CheckCount(0)
	}
	in := &inspector{tokens: tokens, result: &Statement{}, levels: []level{{isQuery: true}}, definitions: map[int]int{}}
	if err := in.inspect(); err != nil {
		return nil, err
	}
	in.result.Text = clean
	return in.result, nil
}

// A level is a pair of parentheses, or the statement itself.
type level struct {
	// isQuery says that it is a query, or that tables are joined in it, and not the
	// arguments of a function.
	isQuery bool
	// inFrom says that commas separate tables here. wantsTable says that the next
	// name is a table.
	inFrom, wantsTable bool
}

type inspector struct {
	tokens []token
	// pairs has the position of the other parenthesis of each.
	pairs  []int
	result *Statement
	levels []level
	// definitions has the positions of AS by those of the names of CTEs.
	definitions map[int]int
	// ctes are those that are defined so far.
	ctes []string
	// main is the position at which the query behind the CTEs begins.
	main int
}

// at returns a token, or an empty one outside of the statement.
func (in *inspector) at(i int) token {
	if i < 0 || i >= len(in.tokens) {
		return token{kind: symbol}
	}
	return in.tokens[i]
}

// here returns the innermost level.
func (in *inspector) here() *level { return &in.levels[len(in.levels)-1] }

func (in *inspector) inspect() error {
	if err := in.pair(); err != nil {
		return err
	}
	first := 0
	for in.at(first).is("(") {
		first++
	}
	if !in.at(first).is("SELECT", "WITH") || first > 0 && in.at(first).is("WITH") {
		return sqldb.Refuse("Only SELECT and WITH … SELECT are allowed, not %s.", sqldb.QuoteName(in.at(first).raw))
	}
	i := 0
	if in.at(0).is("WITH") {
		if err := in.define(); err != nil {
			return err
		}
		i = 1
	}
	for ; i < len(in.tokens); i++ {
		next, err := in.token(i)
		if err != nil {
			return err
		}
		i = next
	}
	return nil
}

// pair finds the pairs of parentheses.
func (in *inspector) pair() error {
	in.pairs = make([]int, len(in.tokens))
	var open []int
	for i, t := range in.tokens {
		switch {
		case t.is("("):
			if open = append(open, i); len(open) > maxDepth {
				return sqldb.Refuse("The statement is nested too deep.")
			}
		case t.is(")"):
			if len(open) == 0 {
				return sqldb.Refuse("A parenthesis is closed that was not opened.")
			}
			in.pairs[i] = open[len(open)-1]
			in.pairs[in.pairs[i]] = i
			open = open[:len(open)-1]
		}
	}
	if len(open) > 0 {
		return sqldb.Refuse("A parenthesis is not closed.")
	}
	return nil
}

// define finds the definitions of CTEs: name [(columns)] AS (query), …
func (in *inspector) define() error {
	for i := 1; ; i++ {
		name := i
		if i++; in.at(i).is("(") && in.isColumnList(i) {
			i = in.pairs[i] + 1
		}
		if !in.at(name).isName() || !in.at(i).is("AS") || !in.at(i+1).is("(") {
			return sqldb.Refuse("Behind WITH, name AS (SELECT …) is needed, or several of these with commas between them.")
		}
		in.definitions[name] = i
		if i = in.pairs[i+1] + 1; !in.at(i).is(",") {
			in.main = i
			return nil
		}
	}
}

// token checks a token, and returns the position of the last token that it covers.
func (in *inspector) token(i int) (last int, err error) {
	t := in.at(i)
	if as, ok := in.definitions[i]; ok {
		in.ctes = append(in.ctes, t.text()) // in T-SQL, a CTE is known from its own definition on
		return as, nil
	}
	switch {
	case t.is(";"):
		return i, errSeveral()
	case t.is("."):
		return i, sqldb.Refuse("A period is not allowed here: it neither continues a name nor begins a number.")
	case t.is("("):
		return i, in.open(i)
	case t.is(")"):
		in.levels = in.levels[:len(in.levels)-1]
		return i, nil
	case t.is(","):
		in.here().wantsTable = in.here().inFrom
		return i, nil
	case !t.isName():
		return i, nil
	}
	if last, err = in.name(i); err != nil {
		return i, err
	}
	if t.kind == word && last == i {
		err = in.word(i)
	}
	return last, err
}

func errSeveral() error {
	return sqldb.Refuse("There is more than one statement; one at a time is allowed.")
}

// open begins a level.
func (in *inspector) open(i int) error {
	if before := in.at(i - 1); i != in.main && in.endsValue(i-1) || before.is("*") && in.at(i-2).is("SELECT", "DISTINCT", "ALL", ",", ".", "PERCENT", "TIES") {
		// T-SQL may take the parenthesis for the beginning of another statement.
		return sqldb.Refuse("A parenthesis is not allowed behind %s.", sqldb.QuoteName(before.raw))
	}
	here := in.here()
	isTables := here.wantsTable && !in.at(i+1).is("SELECT", "VALUES")
	next := level{isQuery: here.wantsTable || in.at(i+1).is("SELECT", "("), inFrom: isTables, wantsTable: isTables}
	here.wantsTable = false
	in.levels = append(in.levels, next)
	return nil
}

// endsValue reports whether the literal, number or parenthesis at a position ends a
// value, and not the number of rows behind TOP.
func (in *inspector) endsValue(i int) bool {
	switch t := in.at(i); {
	case t.is(")"):
		return !in.at(in.pairs[i] - 1).is("TOP")
	case t.kind == number:
		return !in.at(i - 1).is("TOP")
	default:
		return t.kind == literal
	}
}

// word checks a word that is no part of a longer name.
func (in *inspector) word(i int) error {
	t, here := in.at(i), in.here()
	switch {
	case t.is("SELECT"):
		here.isQuery, here.inFrom, here.wantsTable = true, false, false
		return in.checkBeginning(i)
	case t.is("NEXT") && in.at(i+1).is("VALUE"):
		return sqldb.Refuse("NEXT VALUE FOR changes a sequence and is not allowed.")
	case t.is("FETCH"):
		return in.checkFetch(i)
	case t.is("FROM") && here.isQuery && !in.isDistinctFrom(i), t.is("JOIN"), t.is("APPLY") && in.at(i-1).is("CROSS", "OUTER"):
		here.inFrom, here.wantsTable = true, true
	case t.is("FOR") && here.isQuery:
		return in.checkFor(i)
	case in.endsFrom(i):
		here.inFrom, here.wantsTable = false, false
	}
	return nil
}

// isDistinctFrom reports whether the FROM at a position belongs to IS [NOT] DISTINCT
// FROM.
func (in *inspector) isDistinctFrom(i int) bool {
	return in.at(i-1).is("DISTINCT") && (in.at(i-2).is("IS") || in.at(i-2).is("NOT") && in.at(i-3).is("IS"))
}

// endsFrom reports whether the word at a position ends the tables of FROM. A word
// that can be an alias does so only before what cannot follow an alias.
func (in *inspector) endsFrom(i int) bool {
	switch t := in.at(i); {
	case t.is("WHERE", "HAVING", "UNION", "EXCEPT", "INTERSECT"): // reserved, and nowhere else in a query
		return true
	case t.is("GROUP", "ORDER"): // not WITHIN GROUP in a condition of JOIN
		return in.at(i + 1).is("BY")
	case t.is("OPTION"):
		return in.at(i + 1).is("(")
	case t.is("WINDOW"):
		return in.at(i+1).isName() && in.at(i+2).is("AS") && in.at(i+3).is("(")
	default:
		return false
	}
}

// checkFor checks FOR in a query.
func (in *inspector) checkFor(i int) error {
	switch next := in.at(i + 1); {
	case next.is("XML", "JSON", "BROWSE"):
		in.here().inFrom, in.here().wantsTable = false, false
		return nil
	case next.is("SYSTEM_TIME") && !in.at(i+2).is("FROM"):
		return nil
	case next.is("SYSTEM_TIME"):
		return sqldb.Refuse("FOR SYSTEM_TIME FROM is not allowed; write BETWEEN … AND … or CONTAINED IN (…, …).")
	default:
		return sqldb.Refuse("FOR is only allowed before XML, JSON, BROWSE and SYSTEM_TIME.")
	}
}

// checkFetch refuses FETCH where it reads from a cursor.
func (in *inspector) checkFetch(i int) error {
	if count := in.at(i + 2); in.at(i-1).is("ROW", "ROWS") && in.at(i+1).is("FIRST", "NEXT") && (count.kind == number || count.is("(")) {
		return nil
	}
	return sqldb.Refuse("FETCH is only allowed behind OFFSET … ROWS.")
}

// checkBeginning refuses SELECT where it begins another statement.
func (in *inspector) checkBeginning(i int) error {
	if before := in.at(i - 1); i == in.main || before.is("(", "UNION", "EXCEPT", "INTERSECT") || before.is("ALL") && in.at(i-2).is("UNION") {
		return nil
	}
	return errSeveral()
}

// name checks a name with its qualifiers, which begins at a position, and returns
// the position of its last token.
func (in *inspector) name(i int) (last int, err error) {
	var parts []token
	last = i
	for parts = []token{in.at(i)}; in.at(last + 1).is("."); {
		last++
		for in.at(last + 1).is(".") { // the default schema, as in db..t
			parts = append(parts, token{kind: name})
			last++
		}
		if !in.at(last+1).isName() && !in.at(last+1).is("*") {
			return last, sqldb.Refuse("A name ends with a period.")
		}
		last++
		parts = append(parts, in.at(last))
	}
	if err := checkParts(parts); err != nil {
		return last, err
	}
	if in.at(last + 1).is("(") {
		return last, in.call(i, last, parts)
	}
	return last, in.table(parts)
}

// checkParts checks the parts of a name.
func checkParts(parts []token) error {
	const most = 3 // database, schema and table, or schema, table and column
	if len(parts) > most {
		return sqldb.Refuse("Names of four parts reach other servers and are not allowed.")
	}
	for _, part := range parts {
		if part.kind == word && (isForbidden(part.value) || len(parts) > 1 && isClause(part.value)) {
			return sqldb.Refuse("%s is not allowed here; a column of this name is written in brackets.", part.value)
		}
		if upper := strings.ToUpper(part.value); strings.HasPrefix(upper, "XP_") || strings.HasPrefix(upper, "SP_") {
			return sqldb.Refuse("The procedure %s is not allowed.", sqldb.QuoteName(part.value))
		}
	}
	return nil
}

// table adds the table that a name is, unless it is a CTE.
func (in *inspector) table(parts []token) error {
	here := in.here()
	if !here.wantsTable {
		return nil
	}
	here.wantsTable = false
	count := len(parts)
	n := Name{Name: parts[count-1].text()}
	if count > 1 {
		n.Schema = parts[count-2].text()
	}
	if count > 2 {
		n.Database = parts[count-3].text()
	}
	if count == 1 {
		if slices.Contains(in.ctes, n.Name) {
			return nil
		}
		// By the database's collation, it may be the CTE or a table.
		if at := slices.IndexFunc(in.ctes, func(cte string) bool { return strings.EqualFold(cte, n.Name) }); at >= 0 {
			return sqldb.Refuse("%s must be written as behind WITH: %s.", sqldb.QuoteName(n.Name), sqldb.QuoteName(in.ctes[at]))
		}
	}
	in.result.Tables = append(in.result.Tables, n)
	return nil
}
