package postgresql

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	pgquery "github.com/pganalyze/pg_query_go/v6"
	"google.golang.org/protobuf/reflect/protoreflect"

	"github.com/magpie-search/magpie/connectors"
	"github.com/magpie-search/magpie/connectors/sqldb"
)

// A Statement is a statement that passed Inspect. The server must still resolve
// its names: which functions are volatile, and which tables are read.
type Statement struct {
	// Functions are the names of functions that are called, or may be: a field
	// of a row has the syntax of a function call. Schema is "" for unqualified
	// names.
	Functions []Name
	// Operators are the names of operators.
	Operators []Name
	// Tables are the tables that are read, without CTEs.
	Tables []Name
	// Fixed says that the result has no rows of tables: EXPLAIN or SHOW.
	Fixed bool
}

// A Name is a name with the schema that qualifies it, "" for none.
type Name struct{ Schema, Name string }

// Inspect parses a statement and refuses it unless it only reads: SELECT,
// VALUES, TABLE, WITH … SELECT, EXPLAIN of one of these, or SHOW. Unknown
// elements are refused. Errors are *connectors.QueryError.
func Inspect(text string) (*Statement, error) {
	if err := sqldb.CheckText(text); err != nil {
		return nil, err
	}
	tree, err := parse(text)
	if err != nil {
		return nil, &connectors.QueryError{Refused: true, Code: "42601", Message: "The statement cannot be read: " + sqldb.QuoteName(err.Error())}
	}
	if err := sqldb.CheckCount(len(tree.GetStmts())); err != nil {
		return nil, err
	}
	in := &inspector{result: &Statement{}}
	if err := in.statement(tree.GetStmts()[0].GetStmt()); err != nil {
		return nil, err
	}
	return in.result, nil
}

// maxDepth bounds the nesting of a statement.
const maxDepth = 2000

var errDepth = errors.New("nested too deep")

type inspector struct {
	result *Statement
	depth  int
}

func (in *inspector) statement(node *pgquery.Node) error {
	switch s := node.GetNode().(type) {
	case *pgquery.Node_SelectStmt:
	case *pgquery.Node_VariableShowStmt:
		in.result.Fixed = true
		return nil
	case *pgquery.Node_ExplainStmt:
		in.result.Fixed = true
		for _, o := range s.ExplainStmt.GetOptions() {
			name := strings.ToLower(o.GetDefElem().GetDefname())
			if !slices.Contains([]string{"format", "verbose", "costs", "summary", "settings"}, name) {
				return sqldb.Refuse("EXPLAIN may not have the option %s here: it would run the statement, or is not known.", sqldb.QuoteName(name))
			}
		}
		if _, reads := s.ExplainStmt.GetQuery().GetNode().(*pgquery.Node_SelectStmt); !reads {
			return sqldb.Refuse("Only SELECT can be explained here.")
		}
		node = s.ExplainStmt.GetQuery()
	default:
		return sqldb.Refuse("Only SELECT, WITH … SELECT, VALUES, TABLE, EXPLAIN and SHOW are allowed, not %s.", statementName(node))
	}
	err := in.walk(node.ProtoReflect(), nil)
	if errors.Is(err, errDepth) {
		return sqldb.Refuse("The statement is nested too deep.")
	}
	return err
}

// statementName returns the name of a statement for people: that of InsertStmt
// is INSERT.
func statementName(node *pgquery.Node) string {
	message := node.ProtoReflect()
	field := message.WhichOneof(message.Descriptor().Oneofs().ByName("node"))
	if field == nil {
		return "nothing"
	}
	return keywords(string(field.Message().Name()))
}

func keywords(message string) string {
	var b strings.Builder
	for i, r := range strings.TrimSuffix(message, "Stmt") {
		if i > 0 && r >= 'A' && r <= 'Z' {
			b.WriteByte(' ')
		}
		b.WriteRune(r)
	}
	return strings.ToUpper(b.String())
}

// isAllowedNode reports whether a node may be part of a statement that only
// reads.
func isAllowedNode(message string) bool {
	switch message {
	case "Node", "List", "SelectStmt", "RangeVar", "Alias", "JoinExpr", "RangeSubselect", "RangeFunction", "RangeTableSample",
		"RangeTableFunc", "RangeTableFuncCol", "ResTarget", "ColumnRef", "A_Star", "A_Const", "Integer", "Float", "Boolean", "String",
		"BitString", "A_Expr", "BoolExpr", "NullTest", "BooleanTest", "SubLink", "CaseExpr", "CaseWhen", "CoalesceExpr", "MinMaxExpr",
		"FuncCall", "NamedArgExpr", "TypeCast", "TypeName", "CollateClause", "SortBy", "WindowDef", "WithClause", "CommonTableExpr",
		"CTESearchClause", "CTECycleClause", "GroupingSet", "GroupingFunc", "A_ArrayExpr", "A_Indirection", "A_Indices", "RowExpr",
		"SQLValueFunction", "XmlExpr", "XmlSerialize", "JsonFormat", "JsonReturning", "JsonValueExpr", "JsonOutput", "JsonKeyValue",
		"JsonObjectConstructor", "JsonArrayConstructor", "JsonArrayQueryConstructor", "JsonAggConstructor", "JsonObjectAgg",
		"JsonArrayAgg", "JsonIsPredicate", "JsonParseExpr", "JsonScalarExpr", "JsonSerializeExpr", "JsonFuncExpr", "JsonArgument", "JsonBehavior",
		"JsonTable", "JsonTablePathSpec", "JsonTableColumn":
		return true
	default:
		return false
	}
}

// walk inspects a node and its children. own are the CTEs in scope.
func (in *inspector) walk(m protoreflect.Message, own []string) error {
	if in.depth++; in.depth > maxDepth {
		return errDepth
	}
	defer func() { in.depth-- }()
	name := string(m.Descriptor().Name())
	if !isAllowedNode(name) {
		switch name {
		case "LockingClause":
			return sqldb.Refuse("FOR UPDATE and FOR SHARE lock rows and are not allowed.")
		case "IntoClause":
			return sqldb.Refuse("SELECT INTO makes a table and is not allowed.")
		case "ParamRef":
			return sqldb.Refuse("A statement has no parameters here; write the values themselves.")
		}
		return sqldb.Refuse("%s is not allowed here; only what reads is.", keywords(name))
	}
	switch part := m.Interface().(type) {
	case *pgquery.SelectStmt:
		return in.query(part, own)
	case *pgquery.RangeVar:
		if part.GetCatalogname() != "" {
			return sqldb.Refuse("Other databases cannot be asked: leave %s out.", sqldb.QuoteName(part.GetCatalogname()))
		}
		if part.GetSchemaname() != "" || !slices.Contains(own, part.GetRelname()) {
			in.result.Tables = append(in.result.Tables, Name{part.GetSchemaname(), part.GetRelname()})
		}
	case *pgquery.RangeTableSample:
		if name, ok := parseName(part.GetMethod()); !ok || name.Schema != "" || name.Name != "bernoulli" && name.Name != "system" {
			return sqldb.Refuse("TABLESAMPLE may be bernoulli or system.")
		}
	case *pgquery.FuncCall:
		if err := in.addFunction(part.GetFuncname()); err != nil {
			return err
		}
	case *pgquery.A_Indirection:
		if err := in.checkFields(part.GetIndirection()); err != nil {
			return err
		}
	case *pgquery.ColumnRef:
		// A function of a whole row: none that is barred takes one, and columns may
		// have their names. Whether it is volatile the server says.
		if fields := part.GetFields(); len(fields) > 1 {
			for _, field := range fields[1:] {
				if text := field.GetString_().GetSval(); text != "" {
					in.result.Functions = append(in.result.Functions, Name{Name: text})
				}
			}
		}
	case *pgquery.A_Expr:
		in.addOperator(part.GetName())
	case *pgquery.SubLink:
		in.addOperator(part.GetOperName())
	case *pgquery.SortBy:
		in.addOperator(part.GetUseOp())
	case *pgquery.TypeName:
		return in.typeName(part, own)
	}
	return in.walkChildren(m, own)
}

// walkChildren inspects the children of a node.
func (in *inspector) walkChildren(m protoreflect.Message, own []string) (err error) {
	m.Range(func(field protoreflect.FieldDescriptor, value protoreflect.Value) bool {
		if field.Kind() != protoreflect.MessageKind {
			return true
		}
		if !field.IsList() {
			err = in.walk(value.Message(), own)
			return err == nil
		}
		list := value.List()
		for i := range list.Len() {
			if err = in.walk(list.Get(i).Message(), own); err != nil {
				return false
			}
		}
		return true
	})
	return err
}

// query inspects a SELECT. A CTE is in scope in the CTEs after it, in all of
// them with RECURSIVE, and in the query itself.
func (in *inspector) query(s *pgquery.SelectStmt, own []string) error {
	if with := s.GetWithClause(); with != nil {
		own = slices.Clone(own)
		if with.GetRecursive() {
			for _, node := range with.GetCtes() {
				own = append(own, node.GetCommonTableExpr().GetCtename())
			}
		}
		for _, node := range with.GetCtes() {
			if err := in.walk(node.ProtoReflect(), slices.Clone(own)); err != nil {
				return err
			}
			own = append(own, node.GetCommonTableExpr().GetCtename())
		}
	}
	m := s.ProtoReflect()
	var failed error
	m.Range(func(field protoreflect.FieldDescriptor, value protoreflect.Value) bool {
		if field.Kind() != protoreflect.MessageKind || field.Name() == "with_clause" {
			return true
		}
		if !field.IsList() {
			failed = in.walk(value.Message(), own)
			return failed == nil
		}
		list := value.List()
		for i := range list.Len() {
			if failed = in.walk(list.Get(i).Message(), own); failed != nil {
				return false
			}
		}
		return true
	})
	return failed
}

func (in *inspector) typeName(t *pgquery.TypeName, own []string) error {
	if t.GetPctType() {
		return sqldb.Refuse("%%TYPE is not allowed here.")
	}
	for _, part := range [][]*pgquery.Node{t.GetTypmods(), t.GetArrayBounds()} {
		for _, node := range part {
			if err := in.walk(node.ProtoReflect(), own); err != nil {
				return err
			}
		}
	}
	return nil
}

// parseName parses a name of one or two parts.
func parseName(parts []*pgquery.Node) (Name, bool) {
	switch len(parts) {
	case 1:
		return Name{Name: parts[0].GetString_().GetSval()}, true
	case 2:
		return Name{parts[0].GetString_().GetSval(), parts[1].GetString_().GetSval()}, true
	default:
		return Name{}, false
	}
}

func (in *inspector) addFunction(parts []*pgquery.Node) error {
	name, ok := parseName(parts)
	if !ok {
		return sqldb.Refuse("A function's name has too many parts.")
	}
	if isForbiddenFunction(name.Name) {
		return sqldb.Refuse("The function %s is not allowed: it could do more than read the tables.", sqldb.QuoteName(name.Name))
	}
	in.result.Functions = append(in.result.Functions, name)
	return nil
}

// checkFields inspects the selection of fields of a row. PostgreSQL calls a
// function for a field that does not exist.
func (in *inspector) checkFields(parts []*pgquery.Node) error {
	for _, part := range parts {
		text, ok := part.GetNode().(*pgquery.Node_String_)
		if !ok {
			continue
		}
		if err := in.addFunction([]*pgquery.Node{{Node: text}}); err != nil {
			return err
		}
	}
	return nil
}

func (in *inspector) addOperator(parts []*pgquery.Node) {
	if name, ok := parseName(parts); ok {
		in.result.Operators = append(in.result.Operators, name)
	}
}

// isForbiddenFunction reports whether a function of PostgreSQL or its
// extensions writes, waits, locks, accesses files or other servers, or runs a
// text as a statement. Most of them are also volatile.
func isForbiddenFunction(name string) bool {
	name = strings.ToLower(name)
	for _, prefix := range []string{
		"pg_sleep", "pg_read_", "pg_ls_", "pg_stat_", "pg_file_", "pg_logical_", "pg_replication_", "pg_create_", "pg_drop_",
		"pg_copy_", "pg_advisory_", "pg_try_advisory_", "pg_terminate_", "pg_cancel_", "pg_reload_", "pg_rotate_", "pg_promote",
		"pg_switch_", "pg_backup_", "pg_start_", "pg_stop_", "pg_export_", "pg_import_", "pg_restore_", "pg_clear_", "pg_set_", "pg_wal_",
		"pg_get_wal_", "pg_walfile_", "pg_log_", "pg_logdir_", "pg_notify", "pg_prewarm", "pg_hba_", "pg_ident_", "pg_current_logfile", "pg_execute_",
		"pg_extension_config_dump", "pg_nextoid", "pg_truncate_", "pg_show_", "pg_sync_", "pg_listening_", "pg_notification_", "pg_config",
		"lo_", "loread", "lowrite", "dblink", "postgres_fdw_", "query_to_xml", "table_to_xml", "schema_to_xml", "database_to_xml", "cursor_to_xml",
		"brin_summarize_", "brin_desummarize_", "gin_clean_", "txid_current", "pg_current_xact_id", "bt_index_", "verify_heapam", "heap_force_",
		"pg_buffercache_evict", "xpath_table", "crosstab", "connectby", "currtid", "binary_upgrade_",
	} {
		if strings.HasPrefix(name, prefix) {
			return true
		}
	}
	return slices.Contains([]string{
		"set_config", "nextval", "setval", "currval", "lastval", "ts_stat", "ts_rewrite", "setseed", "http", "http_get", "http_post", "copy",
		"plpgsql_call_handler", "plpgsql_inline_handler", "inet_server_addr", "inet_server_port", "inet_client_addr", "inet_client_port",
	}, name)
}

// allowedVolatileFunctions returns the volatile functions that only return
// random numbers, the time or sizes.
func allowedVolatileFunctions() []string {
	return []string{
		"random", "random_normal", "clock_timestamp", "timeofday", "gen_random_uuid", "pg_relation_size", "pg_total_relation_size",
		"pg_table_size", "pg_indexes_size", "pg_database_size", "statement_timestamp", "transaction_timestamp",
	}
}

func (n Name) String() string {
	if n.Schema == "" {
		return n.Name
	}
	return fmt.Sprintf("%s.%s", n.Schema, n.Name)
}
