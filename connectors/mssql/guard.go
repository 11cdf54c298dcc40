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
	in := &inspector{tokens: tokens, result: &Statement{}, levels: []level{{isQuery: true}}}
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
	result *Statement
	levels []level
	ctes   []string
	// mayBegin says that SELECT may follow the definition of a CTE.
	mayBegin bool
}

// at returns a token, or an empty one outside of the statement.
func (in *inspector) at(i int) token {
	if i < 0 || i >= len(in.tokens) {
		return token{kind: symbol}
	}
	return in.tokens[i]
}

func (in *inspector) inspect() error {
	first := 0
	for in.at(first).is("(") {
		first++
	}
	if !in.at(first).is("SELECT", "WITH") || first > 0 && in.at(first).is("WITH") {
		return sqldb.Refuse("Only SELECT and WITH … SELECT are allowed, not %s.", sqldb.QuoteName(in.at(first).raw))
	}
	in.mayBegin = in.at(0).is("WITH")
	for i := 0; i < len(in.tokens); i++ {
		next, err := in.token(i)
		if err != nil {
			return err
		}
		i = next
	}
	if len(in.levels) != 1 {
		return sqldb.Refuse("A parenthesis is not closed.")
	}
	return nil
}

// token checks a token, and returns the position of the last token that it covers.
func (in *inspector) token(i int) (last int, err error) {
	t, here := in.at(i), &in.levels[len(in.levels)-1]
	switch {
	case t.is(";"):
		return i, sqldb.Refuse("There is more than one statement; one at a time is allowed.")
	case t.is("("):
		return i, in.open(i)
	case t.is(")"):
		if len(in.levels) == 1 {
			return i, sqldb.Refuse("A parenthesis is closed that was not opened.")
		}
		in.levels = in.levels[:len(in.levels)-1]
		return i, nil
	case t.is(","):
		here.wantsTable = here.inFrom
		return i, nil
	case !t.isName():
		return i, nil
	}
	if last, err = in.name(i); err != nil {
		return i, err
	}
	return last, in.word(i, last)
}

// open begins a level.
func (in *inspector) open(i int) error {
	if len(in.levels) > maxDepth {
		return sqldb.Refuse("The statement is nested too deep.")
	}
	here := &in.levels[len(in.levels)-1]
	inner := in.at(i+1).is("SELECT") || in.at(i+1).is("(")
	next := level{isQuery: inner || here.wantsTable, inFrom: here.wantsTable && !in.at(i+1).is("SELECT", "VALUES"), wantsTable: here.wantsTable && !in.at(i+1).is("SELECT", "VALUES")}
	here.wantsTable = false
	in.levels = append(in.levels, next)
	return nil
}

// word checks a word that is no part of a longer name.
func (in *inspector) word(i, last int) error {
	t, here := in.at(i), &in.levels[len(in.levels)-1]
	if t.kind != word || last > i || in.at(i-1).is(".") {
		return nil
	}
	switch {
	case t.is("SELECT"):
		here.isQuery, here.inFrom, here.wantsTable = true, false, false
		return in.checkBeginning(i)
	case t.is("NEXT") && in.at(i+1).is("VALUE"):
		return sqldb.Refuse("NEXT VALUE FOR changes a sequence and is not allowed.")
	case t.is("FETCH") && !in.at(i-1).is("ROW", "ROWS"):
		return sqldb.Refuse("FETCH is only allowed behind OFFSET … ROWS.")
	case t.is("FROM") && here.isQuery && !in.at(i-1).is("DISTINCT"), t.is("JOIN", "APPLY"):
		here.inFrom, here.wantsTable = true, true
	case endsFrom(t.value):
		here.inFrom, here.wantsTable = false, false
	}
	return nil
}

// checkBeginning refuses SELECT where it begins another statement.
func (in *inspector) checkBeginning(i int) error {
	before := in.at(i - 1)
	switch {
	case i == 0, before.is("(", "UNION", "EXCEPT", "INTERSECT"), before.is("ALL") && in.at(i-2).is("UNION"):
		return nil
	case before.is(")") && in.mayBegin && len(in.levels) == 1:
		in.mayBegin = false
		return nil
	}
	return sqldb.Refuse("There is more than one statement; one at a time is allowed.")
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
			break
		}
		last++
		parts = append(parts, in.at(last))
	}
	const most = 3 // database, schema and table, or schema, table and column
	if len(parts) > most {
		return last, sqldb.Refuse("Names of four parts reach other servers and are not allowed.")
	}
	for _, part := range parts {
		if part.kind == word && isForbidden(part.value) {
			return last, sqldb.Refuse("%s is not allowed here; a column of this name is written in brackets.", part.value)
		}
		if upper := strings.ToUpper(part.value); strings.HasPrefix(upper, "XP_") || strings.HasPrefix(upper, "SP_") {
			return last, sqldb.Refuse("The procedure %s is not allowed.", sqldb.QuoteName(part.value))
		}
	}
	if in.at(last + 1).is("(") {
		return last, in.call(i, last, parts)
	}
	in.table(i, parts)
	return last, nil
}

// call checks a name that a parenthesis follows.
func (in *inspector) call(i, last int, parts []token) error {
	here := &in.levels[len(in.levels)-1]
	called := parts[len(parts)-1]
	value := strings.ToUpper(called.value)
	wantsTable := here.wantsTable
	switch {
	case len(parts) > 1 && slices.Contains([]string{"value", "query", "exist", "nodes"}, called.value) && called.kind == word:
		here.wantsTable = false
		return nil // a method of XML
	case len(parts) > 1:
	case called.kind == word && wantsTable && isTableFunction(value):
		here.wantsTable = false
		return nil
	case called.kind == word && !wantsTable && isFunction(value), called.kind == word && opensParenthesis(value):
		return nil
	case wantsTable && in.at(last+2).is("NOLOCK"):
	case in.at(i-1).is("AS", ")"), in.at(i - 1).is("WITH"), in.at(i-1).is(",") && in.isDefinition(last+1):
		if in.isDefinition(last + 1) {
			in.ctes = append(in.ctes, called.text())
		}
		return nil // a list of columns, or a type behind AS
	}
	return sqldb.Refuse("The function %s is not among those that are known to compute only.", sqldb.QuoteName(called.value))
}

// isDefinition reports whether the parenthesis at a position is a list of columns
// that the definition of a CTE has.
func (in *inspector) isDefinition(i int) bool {
	for depth := 0; i < len(in.tokens); i++ {
		switch t := in.at(i); {
		case t.is("("):
			depth++
		case t.is(")"):
			if depth--; depth == 0 {
				return len(in.levels) == 1 && in.mayBegin && in.at(i+1).is("AS") && in.at(i+2).is("(")
			}
		}
	}
	return false
}

// table adds the table or CTE that a name at a position is. In T-SQL, a CTE is known
// from its own definition on.
func (in *inspector) table(i int, parts []token) {
	here := &in.levels[len(in.levels)-1]
	if !here.wantsTable {
		if in.mayBegin && len(in.levels) == 1 && in.at(i-1).is("WITH", ",") && in.at(i+1).is("AS") {
			in.ctes = append(in.ctes, parts[0].text())
		}
		return
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
	if count > 1 || !slices.ContainsFunc(in.ctes, func(cte string) bool { return strings.EqualFold(cte, n.Name) }) {
		in.result.Tables = append(in.result.Tables, n)
	}
}
