package clickhouse

import (
	"errors"
	"reflect"
	"regexp"
	"slices"
	"strings"

	"github.com/AfterShip/clickhouse-sql-parser/parser"

	"github.com/magpie-search/magpie/connectors"
	"github.com/magpie-search/magpie/connectors/sqldb"
)

// A Statement is a statement that passed Inspect.
type Statement struct {
	// Text is the statement without comments.
	Text string
	// Tables are the tables that are read. CTEs are the names of common table
	// expressions, which are not among them.
	Tables []Name
	CTEs   []string
}

// A Name is a table's name with the database that qualifies it, "" for none.
type Name struct{ Database, Name string }

// maxDepth bounds the nesting of parentheses and the like, since the parser is
// recursive.
const maxDepth = 300

// plan matches the beginning of EXPLAIN of a plan, which the parser does not know.
var plan = regexp.MustCompile(`(?is)^\s*explain(\s+plan)?\s+(select|with)\b`)

// showTables matches SHOW TABLES without more.
var showTables = regexp.MustCompile(`(?i)^show\s+tables[\s;]*$`)

// Inspect parses a statement and refuses it unless it only reads: SELECT, WITH …
// SELECT, EXPLAIN of one of these, DESCRIBE, or SHOW TABLES. Unknown elements are
// refused. Errors are *connectors.QueryError.
func Inspect(text string) (*Statement, error) {
	if err := sqldb.CheckText(text); err != nil {
		return nil, err
	}
	text, err := withoutComments(text)
	if err != nil {
		return nil, err
	}
	if nesting(text) > maxDepth {
		return nil, sqldb.Refuse("The statement is nested too deep.")
	}
	text = strings.TrimSpace(text)
	query := text
	if match := plan.FindStringSubmatchIndex(text); match != nil {
		query = text[match[4]:] // SELECT or WITH
	}
	trees, err := parse(query)
	if err != nil {
		return nil, err
	}
	if err := sqldb.CheckCount(len(trees)); err != nil {
		return nil, err
	}
	in := &inspector{result: &Statement{Text: text}}
	if err := in.statement(trees[0], query); err != nil {
		return nil, err
	}
	return in.result, nil
}

// nesting returns an upper bound of the parser's recursion: the depth of
// parentheses, and the operators and words that take what follows as their
// operand.
func nesting(text string) (deepest int) {
	depth := 0
	for i := range len(text) {
		switch text[i] {
		case '(', '[', '{':
			depth++
			deepest = max(deepest, depth)
		case ')', ']', '}':
			depth--
		}
	}
	return deepest + len(prefixes.FindAllString(text, -1))/2
}

var prefixes = regexp.MustCompile(`(?i)\b(not|case|union|except|intersect|interval|join|when|then)\b|->|\?|[-+]\s*[-+]`)

// arrayJoin matches words that the parser only knows in upper case: otherwise it
// takes the columns behind them for tables.
var arrayJoin = regexp.MustCompile(`(?i)\barray\s+join\b`)

// parse parses statements. The parser panics on some texts.
func parse(text string) (trees []parser.Expr, err error) {
	defer func() {
		if recover() != nil {
			err = parseError(errors.New("the parser does not know this"))
		}
	}()
	trees, err = parser.NewParser(arrayJoin.ReplaceAllStringFunc(text, strings.ToUpper)).ParseStmts()
	if err != nil {
		return nil, parseError(err)
	}
	return trees, nil
}

func parseError(err error) error {
	first, _, _ := strings.Cut(err.Error(), "\n")
	return &connectors.QueryError{Refused: true, Code: "62", Message: "The statement cannot be read: " + sqldb.QuoteName(first)}
}

type inspector struct{ result *Statement }

func (in *inspector) statement(tree parser.Expr, text string) error {
	switch s := tree.(type) {
	case *parser.SelectQuery:
		return in.query(s)
	case *parser.ExplainStmt:
		if query, ok := s.Statement.(*parser.SelectQuery); ok {
			return in.query(query)
		}
		return sqldb.Refuse("Only SELECT can be explained here.")
	case *parser.DescribeStmt:
		if !endsAt(text, s.StatementEnd) {
			return sqldb.Refuse("DESCRIBE is allowed of a table only, without more.")
		}
		return in.visit(s.Target)
	case *parser.ShowStmt:
		if !showTables.MatchString(text) {
			return sqldb.Refuse("Of SHOW, only SHOW TABLES is allowed, without more; DESCRIBE shows the columns of a table.")
		}
		return nil
	default:
		return sqldb.Refuse("Only SELECT, WITH … SELECT, EXPLAIN, DESCRIBE and SHOW TABLES are allowed, not %s.", nodeName(reflect.TypeOf(tree)))
	}
}

// endsAt reports whether nothing but the end of a statement is behind a position.
func endsAt(text string, end parser.Pos) bool {
	return int(end) <= len(text) && strings.Trim(text[end:], "`\" \t\r\n;") == ""
}

// query checks a statement that selects, after it has collected the names of
// CTEs.
func (in *inspector) query(s *parser.SelectQuery) error {
	in.collect(reflect.ValueOf(s))
	return in.walk(reflect.ValueOf(s))
}

// children calls f for the values in a value of the tree, until f returns an error.
// It reads all fields, so that no part of a statement is left out, as a visitor of
// the parser could.
func children(value reflect.Value, f func(reflect.Value) error) error {
	switch value.Kind() {
	case reflect.Pointer, reflect.Interface:
		if value.IsNil() {
			return nil
		}
		return f(value.Elem())
	case reflect.Slice, reflect.Array:
		for i := range value.Len() {
			if err := f(value.Index(i)); err != nil {
				return err
			}
		}
	case reflect.Struct:
		for i := range value.NumField() {
			if err := f(value.Field(i)); err != nil {
				return err
			}
		}
	}
	return nil
}

// collect adds the names of common table expressions.
func (in *inspector) collect(value reflect.Value) {
	if value.Kind() == reflect.Struct && value.CanAddr() {
		if cte, ok := value.Addr().Interface().(*parser.CTEStmt); ok {
			for _, side := range []parser.Expr{cte.Expr, cte.Alias} {
				if name, ok := side.(*parser.Ident); ok {
					in.result.CTEs = append(in.result.CTEs, name.Name)
				}
			}
		}
	}
	_ = children(value, func(child reflect.Value) error { // never returns one
		in.collect(child)
		return nil
	})
}

// walk visits each node of a tree.
func (in *inspector) walk(value reflect.Value) error {
	if value.Kind() == reflect.Struct && value.CanAddr() {
		if err := in.visit(value.Addr().Interface()); err != nil {
			return err
		}
	}
	return children(value, in.walk)
}

func (in *inspector) visit(node any) error {
	name := nodeName(reflect.TypeOf(node))
	if !slices.Contains(strings.Fields(allowedNodes), name) {
		return refuseNode(name)
	}
	switch part := node.(type) {
	case *parser.TableIdentifier:
		in.table(part.Database, part.Table)
	case *parser.FunctionExpr:
		return checkFunction(part)
	case *parser.SelectItem:
		for _, modifier := range part.Modifiers {
			if name := strings.ToUpper(modifier.Name.Name); name != "EXCEPT" && name != "REPLACE" {
				return sqldb.Refuse("%s is not allowed behind *.", sqldb.QuoteName(name))
			}
		}
	case *parser.BinaryOperation:
		if operation := strings.ToUpper(string(part.Operation)); operation == "IN" || strings.HasSuffix(operation, " IN") {
			in.set(part.RightExpr)
		}
	case *parser.GroupByClause:
		if part.WithTotals {
			return refuseTotals()
		}
	case *parser.SelectQuery:
		if part.WithTotal {
			return refuseTotals()
		}
	}
	return nil
}

func refuseTotals() error {
	return sqldb.Refuse("WITH TOTALS is not allowed, since its row is outside of the rows of the result; use WITH ROLLUP.")
}

// checkFunction checks the name of a function. EXCEPT and REPLACE are modifiers of
// *.
func checkFunction(function *parser.FunctionExpr) error {
	name := function.Name.Name
	if upper := strings.ToUpper(name); upper == "EXCEPT" || upper == "REPLACE" || upper == "COLUMNS" || isAllowedFunction(name) {
		return nil
	}
	return sqldb.Refuse("The function %s is not among those that are known to compute only.", sqldb.QuoteName(name))
}

func (in *inspector) table(database, table *parser.Ident) {
	name := Name{Name: table.Name}
	if database != nil {
		name.Database = database.Name
	}
	if name.Database == "" && slices.Contains(in.result.CTEs, name.Name) {
		return
	}
	in.result.Tables = append(in.result.Tables, name)
}

// set adds the table that IN reads if its right side is a name, with or without
// parentheses.
func (in *inspector) set(side parser.Expr) {
	switch part := side.(type) {
	case *parser.Ident:
		in.table(nil, part)
	case *parser.Path:
		if len(part.Fields) == 1 {
			in.table(nil, part.Fields[0])
		} else {
			in.table(part.Fields[0], part.Fields[1])
		}
	case *parser.NestedIdentifier:
		if part.DotIdent == nil {
			in.table(nil, part.Ident)
		} else {
			in.table(part.Ident, part.DotIdent)
		}
	case *parser.IndexOperation:
		database, qualified := part.Object.(*parser.Ident)
		if table, ok := part.Index.(*parser.Ident); qualified && ok {
			in.table(database, table)
		}
	case *parser.ParamExprList:
		if part.Items != nil && len(part.Items.Items) == 1 {
			in.set(part.Items.Items[0])
		}
	case *parser.ColumnExpr:
		in.set(part.Expr)
	case *parser.AliasExpr:
		in.set(part.Expr)
	}
}

func nodeName(t reflect.Type) string {
	return strings.TrimPrefix(strings.TrimPrefix(t.String(), "*"), "parser.")
}

func refuseNode(name string) error {
	switch name {
	case "TableFunctionExpr", "TableArgListExpr":
		return sqldb.Refuse("Table functions read files and other servers and are not allowed; ask the tables of the database.")
	case "SettingsClause", "SettingExpr":
		return sqldb.Refuse("SETTINGS is not allowed in a statement here.")
	case "FormatClause":
		return sqldb.Refuse("FORMAT is not allowed in a statement here.")
	case "QueryParam", "TypedPlaceholder", "PlaceHolder", "WindowFrameParam":
		return sqldb.Refuse("A statement has no parameters here; write the values themselves.")
	}
	return sqldb.Refuse("%s is not allowed here; only what reads is.", strings.ToUpper(name))
}

// allowedNodes are the types of the nodes that a statement that only reads may
// have.
const allowedNodes = ` SelectQuery SubQuery WithClause CTEStmt TopClause DistinctOn SelectItem FromClause TableExpr JoinTableExpr JoinExpr
 JoinConstraintClause OnClause UsingClause TableIdentifier AliasExpr Ident NestedIdentifier Path ColumnIdentifier ColumnExpr ColumnExprList ColumnArgList
 ParamExprList ArrayParamList ObjectParams FunctionExpr WindowFunctionExpr WindowExpr WindowClause WindowDefinition WindowFrameClause
 WindowFrameExtendExpr WindowFrameCurrentRow WindowFrameUnbounded WindowFrameNumber PartitionByClause PrewhereClause WhereClause GroupByClause HavingClause
 OrderByClause OrderExpr Fill InterpolateClause InterpolateItem LimitClause LimitByClause SampleClause RatioExpr OperationExpr
 TernaryOperation BinaryOperation IndexOperation UnaryExpr NotExpr NegateExpr GlobalInOperation IsNullExpr IsNotNullExpr BetweenClause CaseExpr WhenClause
 CastExpr ExtractExpr IntervalExpr IntervalFrom MapLiteral KeyValue NumberLiteral StringLiteral BoolLiteral NullLiteral NotNullLiteral
 ScalarType TypeWithParams ComplexType NestedType EnumType EnumValue PropertyType ColumnTypeExpr JSONType JSONOptions JSONOption JSONPath JSONTypeHint ColumnDef `
