package mysql

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"vitess.io/vitess/go/vt/sqlparser"

	"github.com/magpie-search/magpie/connectors"
	"github.com/magpie-search/magpie/connectors/sqldb"
)

// A Statement is a statement that passed Inspect.
type Statement struct {
	// Text is the statement as the parser writes it, without comments, since
	// servers run some of them.
	Text string
	// Tables are the tables that are read. CTEs are the names of common table
	// expressions, which are not among them.
	Tables []Name
	CTEs   []string
}

// A Name is a table's name with the database that qualifies it, "" for none.
type Name struct{ Database, Name string }

// Inspect parses a statement and refuses it unless it only reads: SELECT, WITH
// … SELECT, VALUES, EXPLAIN of one of these, DESCRIBE, or SHOW of tables,
// columns and keys. Unknown elements are refused. Errors are
// *connectors.QueryError.
func Inspect(text string) (*Statement, error) {
	if err := sqldb.CheckText(text); err != nil {
		return nil, err
	}
	if strings.Contains(text, "/*!") || strings.Contains(strings.ToUpper(text), "/*M!") {
		return nil, sqldb.Refuse("Comments that the server would run (/*! … */) are not allowed.")
	}
	if maxNesting(text) > maxDepth {
		return nil, sqldb.Refuse("The statement is nested too deep.")
	}
	parser, err := sqlparser.New(sqlparser.Options{MySQLServerVersion: "8.0.40", TruncateErrLen: 200})
	if err != nil {
		return nil, fmt.Errorf("make the parser: %w", err)
	}
	pieces, err := parser.SplitStatementToPieces(text)
	if err != nil {
		return nil, parseError(err)
	}
	if err := sqldb.CheckCount(len(pieces)); err != nil {
		return nil, err
	}
	tree, err := parser.Parse(pieces[0])
	if err != nil {
		return nil, parseError(err)
	}
	in := &inspector{result: &Statement{}}
	if err := in.statement(tree); err != nil {
		return nil, err
	}
	in.result.Text = sqlparser.String(tree)
	return in.result, nil
}

// maxDepth bounds the nesting of parentheses, since the parser is recursive.
const maxDepth = 500

func maxNesting(text string) (deepest int) {
	depth := 0
	for i := range len(text) {
		switch text[i] {
		case '(':
			depth++
			deepest = max(deepest, depth)
		case ')':
			depth--
		}
	}
	return deepest
}

func parseError(err error) error {
	return &connectors.QueryError{Refused: true, Code: "1064", Message: "The statement cannot be read: " + sqldb.QuoteName(err.Error())}
}

type inspector struct{ result *Statement }

func (in *inspector) statement(tree sqlparser.Statement) error {
	switch s := tree.(type) {
	case *sqlparser.Select, *sqlparser.Union, *sqlparser.ValuesStatement:
		return in.query(s)
	case *sqlparser.ExplainStmt:
		if s.Type == sqlparser.AnalyzeType {
			return sqldb.Refuse("EXPLAIN ANALYZE would run the statement and is not allowed.")
		}
		s.Comments = nil
		switch inner := s.Statement.(type) {
		case *sqlparser.Select, *sqlparser.Union, *sqlparser.ValuesStatement:
			return in.query(inner)
		}
		return sqldb.Refuse("Only SELECT can be explained here.")
	case *sqlparser.ExplainTab:
		return in.table(s.Table)
	case *sqlparser.Show:
		return in.show(s)
	default:
		return sqldb.Refuse("Only SELECT, WITH … SELECT, VALUES, EXPLAIN, DESCRIBE and SHOW are allowed, not %s.", statementName(tree))
	}
}

// statementName returns the name of a statement for people.
func statementName(tree sqlparser.SQLNode) string {
	return strings.ToUpper(strings.TrimPrefix(strings.TrimPrefix(fmt.Sprintf("%T", tree), "*"), "sqlparser."))
}

func (in *inspector) show(s *sqlparser.Show) error {
	switch show := s.Internal.(type) {
	case *sqlparser.ShowBasic:
		if !slices.Contains([]sqlparser.ShowCommandType{sqlparser.Table, sqlparser.TableStatus, sqlparser.Column, sqlparser.Index}, show.Command) {
			return sqldb.Refuse("SHOW is allowed of tables, columns and indexes only.")
		}
		if show.Filter != nil && show.Filter.Filter != nil {
			return sqldb.Refuse("SHOW … WHERE is not allowed here; use LIKE, or ask information_schema.")
		}
		if name := show.DbName.String(); name != "" {
			in.result.Tables = append(in.result.Tables, Name{Database: name})
		}
		if show.Tbl.Name.String() != "" {
			return in.table(show.Tbl)
		}
		return nil
	case *sqlparser.ShowCreate:
		if show.Command != sqlparser.CreateTbl && show.Command != sqlparser.CreateV {
			return sqldb.Refuse("SHOW CREATE is allowed of tables and views only.")
		}
		return in.table(show.Op)
	default:
		return sqldb.Refuse("SHOW is allowed of tables, columns and indexes only.")
	}
}

func (in *inspector) table(t sqlparser.TableName) error {
	in.result.Tables = append(in.result.Tables, Name{t.Qualifier.String(), t.Name.String()})
	return nil
}

// query walks a statement that selects, after it has collected the names of
// CTEs.
func (in *inspector) query(s sqlparser.SQLNode) error {
	failed := sqlparser.Walk(func(node sqlparser.SQLNode) (bool, error) {
		if own, ok := node.(*sqlparser.CommonTableExpr); ok {
			in.result.CTEs = append(in.result.CTEs, own.ID.String())
		}
		return true, nil
	}, s)
	if failed == nil {
		failed = sqlparser.Walk(in.visit, s)
	}
	var refused *connectors.QueryError
	if failed != nil && !errors.As(failed, &refused) {
		return parseError(failed)
	}
	return failed
}

func (in *inspector) visit(node sqlparser.SQLNode) (bool, error) {
	if node == nil || !isAllowedNode(node) {
		return false, in.refuseNode(node)
	}
	switch part := node.(type) {
	case *sqlparser.Select:
		part.Comments = nil
		if part.Into != nil {
			return false, sqldb.Refuse("SELECT … INTO writes files or variables and is not allowed.")
		}
		return true, checkLock(part.Lock)
	case *sqlparser.Union:
		if part.Into != nil {
			return false, sqldb.Refuse("SELECT … INTO writes files or variables and is not allowed.")
		}
		return true, checkLock(part.Lock)
	case *sqlparser.AliasedTableExpr:
		if name, ok := part.Expr.(sqlparser.TableName); ok {
			if name.Qualifier.IsEmpty() && slices.ContainsFunc(in.result.CTEs, func(own string) bool { return strings.EqualFold(own, name.Name.String()) }) {
				return true, nil
			}
			return true, in.table(name)
		}
	case *sqlparser.FuncExpr:
		if name := part.Name.Lowered(); !part.Qualifier.IsEmpty() || !isAllowedFunction(name) {
			return false, sqldb.Refuse("The function %s is not among those that are known to read only.", sqldb.QuoteName(name))
		}
	}
	return true, nil
}

func checkLock(lock sqlparser.Lock) error {
	if lock != sqlparser.NoLock {
		return sqldb.Refuse("FOR UPDATE and LOCK IN SHARE MODE lock rows and are not allowed.")
	}
	return nil
}

func (in *inspector) refuseNode(node sqlparser.SQLNode) error {
	switch node.(type) {
	case *sqlparser.AssignmentExpr, *sqlparser.Variable:
		return sqldb.Refuse("Variables are not allowed here.")
	case *sqlparser.LockingFunc:
		return sqldb.Refuse("Functions that take locks are not allowed.")
	case *sqlparser.Argument, sqlparser.ListArg:
		return sqldb.Refuse("A statement has no parameters here; write the values themselves.")
	}
	return sqldb.Refuse("%s is not allowed here; only what reads is.", statementName(node))
}

// isAllowedNode reports whether a node may be part of a statement that only
// reads.
func isAllowedNode(node sqlparser.SQLNode) bool {
	switch strings.TrimPrefix(strings.TrimPrefix(fmt.Sprintf("%T", node), "*"), "sqlparser.") {
	case "Select", "Union", "ValuesStatement", "With", "CommonTableExpr", "SelectExprs", "StarExpr", "AliasedExpr", "AliasedTableExpr",
		"JoinTableExpr", "JoinCondition", "ParenTableExpr", "TableName", "TableNames", "TableExprs", "DerivedTable", "Subquery", "Where", "GroupBy",
		"OrderBy", "Order", "Limit", "IdentifierCI", "IdentifierCS", "Columns", "Partitions", "IndexHints", "IndexHint", "Exprs", "ValTuple",
		"AndExpr", "OrExpr", "XorExpr", "NotExpr", "ComparisonExpr", "BetweenExpr", "IsExpr", "ExistsExpr", "BinaryExpr", "UnaryExpr",
		"IntroducerExpr", "CollateExpr", "CaseExpr", "When", "Literal", "NullVal", "BoolVal", "ColName", "RowAlias", "Values", "ParsedComments",
		"WindowSpecification", "WindowDefinition", "WindowDefinitions", "NamedWindow", "NamedWindows", "FrameClause", "FramePoint", "OverClause",
		"NullTreatmentClause", "FromFirstLastClause", "ArgumentLessWindowExpr", "FirstOrLastValueExpr", "NtileExpr", "NTHValueExpr", "LagLeadExpr",
		"FuncExpr", "TrimFuncExpr", "TimestampDiffExpr", "ExtractFuncExpr", "WeightStringFuncExpr", "SubstrExpr", "CastExpr", "ConvertExpr", "ConvertUsingExpr",
		"ConvertType", "MatchExpr", "IntervalFuncExpr", "IntervalDateExpr", "LocateExpr", "CharExpr", "InsertExpr", "CurTimeFuncExpr",
		"JSONPrettyExpr", "JSONArrayExpr", "JSONObjectExpr", "JSONObjectParam", "JSONQuoteExpr", "JSONTableExpr", "JtColumnDefinition",
		"JtOrdinalColDef", "JtPathColDef", "JtNestedPathColDef", "JtOnResponse", "ColumnType", "ColumnTypeOptions", "JSONArrayAgg", "JSONObjectAgg", "JSONContainsExpr",
		"JSONContainsPathExpr", "JSONExtractExpr", "JSONKeysExpr", "JSONOverlapsExpr", "JSONSearchExpr", "JSONValueExpr", "MemberOfExpr",
		"JSONSchemaValidFuncExpr", "JSONAttributesExpr", "JSONValueModifierExpr", "JSONValueMergeExpr", "JSONRemoveExpr", "JSONUnquoteExpr",
		"Count", "CountStar", "Avg", "Max", "Min", "Sum", "BitAnd", "BitOr", "BitXor", "Std", "StdDev", "StdPop", "StdSamp", "VarPop", "VarSamp",
		"Variance", "GroupConcatExpr", "AnyValue", "RegexpInstrExpr", "RegexpLikeExpr", "RegexpReplaceExpr", "RegexpSubstrExpr",
		"PointExpr", "GeomFromTextExpr", "GeomFormatExpr", "GeomPropertyFuncExpr", "PointPropertyFuncExpr":
		return true
	default:
		return false
	}
}

// isAllowedFunction reports whether a function of MySQL or MariaDB only
// computes a value from its arguments, the clock or a random number. Stored
// functions are not allowed.
func isAllowedFunction(name string) bool {
	const names = ` abs acos adddate addtime aes_decrypt aes_encrypt any_value ascii asin atan atan2 bin bin_to_uuid bit_count bit_length
 ceil ceiling char_length character_length coalesce coercibility collation compress concat concat_ws connection_id conv convert_tz cos cot
 crc32 curdate current_date current_role current_time current_timestamp current_user curtime date date_add date_format date_sub datediff day dayname
 dayofmonth dayofweek dayofyear database degrees elt exp export_set field find_in_set floor format format_bytes from_base64 from_days
 from_unixtime greatest grouping hex hour if ifnull inet6_aton inet6_ntoa inet_aton inet_ntoa instr is_ipv4 is_ipv6 is_uuid isnull
 json_array json_array_append json_arrayagg json_compact json_contains json_depth json_detailed json_exists json_extract json_length json_loose json_merge_patch json_merge_preserve
 json_object json_query json_quote json_search json_set json_type json_unquote json_valid json_value last_day lcase least left length
 ln localtime localtimestamp locate log log10 log2 lower lpad ltrim make_set makedate maketime md5 median microsecond mid minute mod month
 monthname natural_sort_key now nullif nvl nvl2 oct octet_length ord percentile_cont percentile_disc period_add period_diff pi position pow power quarter
 quote radians rand regexp_instr regexp_like regexp_replace regexp_substr repeat replace reverse right round row_count rpad rtrim schema
 sec_to_time second sha sha1 sha2 sign sin soundex space sqrt st_area st_distance st_distance_sphere st_geomfromtext st_x st_y str_to_date strcmp subdate
 substr substring substring_index subtime sysdate tan time time_format time_to_sec timediff timestamp timestampadd timestampdiff to_base64
 to_char to_days to_seconds trim truncate ucase uncompress uncompressed_length unhex unix_timestamp upper utc_date utc_time utc_timestamp uuid
 uuid_to_bin version week weekday weekofyear year yearweek row_number rank dense_rank percent_rank cume_dist count sum avg min max group_concat `
	return name != "" && !strings.ContainsAny(name, " \n") && strings.Contains(strings.ReplaceAll(names, "\n", " "), " "+name+" ")
}
