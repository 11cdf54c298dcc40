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

// Statement is what one that passed Inspect asks for. The server has to be asked
// about the names: which functions are volatile, which tables they mean.
type Statement struct {
	// Functions are the names of functions that are called, or could be: a field
	// of a row is written like a function of it. Schema is "" for none.
	Functions []Name
	// Operators are the names of operators.
	Operators []Name
	// Tables are those that are read, without the statement's own.
	Tables []Name
	// Fixed says that it gives no rows of tables: EXPLAIN or SHOW.
	Fixed bool
}

// Name is a name with the schema that was written before it.
type Name struct{ Schema, Name string }

// Inspect reads a statement and refuses it unless it is one that only reads:
// SELECT, VALUES, TABLE, WITH … SELECT, EXPLAIN of one of these, or SHOW. What
// is not known to read is refused. Errors are *connectors.QueryError.
func Inspect(text string) (*Statement, error) {
	if len(text) > connectors.MaxStatement {
		return nil, sqldb.Refuse("The statement has %d bytes; at most %d are allowed.", len(text), connectors.MaxStatement)
	}
	if strings.ContainsRune(text, 0) {
		return nil, sqldb.Refuse("The statement holds the character U+0000.")
	}
	tree, err := pgquery.Parse(text)
	if err != nil {
		return nil, &connectors.QueryError{Refused: true, Code: "42601", Message: "The statement cannot be read: " + sqldb.Brief(err.Error())}
	}
	switch len(tree.GetStmts()) {
	case 0:
		return nil, sqldb.Refuse("There is no statement.")
	case 1:
	default:
		return nil, sqldb.Refuse("These are %d statements; one at a time is allowed.", len(tree.GetStmts()))
	}
	in := &inspector{out: &Statement{}}
	if err := in.statement(tree.GetStmts()[0].GetStmt()); err != nil {
		return nil, err
	}
	return in.out, nil
}

// maxDepth bounds how deep a statement is nested.
const maxDepth = 2000

var errDepth = errors.New("nested too deep")

type inspector struct {
	out   *Statement
	depth int
}

func (in *inspector) statement(node *pgquery.Node) error {
	switch s := node.GetNode().(type) {
	case *pgquery.Node_SelectStmt:
	case *pgquery.Node_VariableShowStmt:
		in.out.Fixed = true
		return nil
	case *pgquery.Node_ExplainStmt:
		in.out.Fixed = true
		for _, o := range s.ExplainStmt.GetOptions() {
			name := strings.ToLower(o.GetDefElem().GetDefname())
			if !slices.Contains([]string{"format", "verbose", "costs", "summary", "settings"}, name) {
				return sqldb.Refuse("EXPLAIN may not have the option %s here: it would run the statement, or is not known.", sqldb.Brief(name))
			}
		}
		if _, reads := s.ExplainStmt.GetQuery().GetNode().(*pgquery.Node_SelectStmt); !reads {
			return sqldb.Refuse("Only SELECT can be explained here.")
		}
		node = s.ExplainStmt.GetQuery()
	default:
		return sqldb.Refuse("Only SELECT, WITH … SELECT, VALUES, TABLE, EXPLAIN and SHOW are allowed, not %s.", kindOf(node))
	}
	err := in.walk(node.ProtoReflect(), nil)
	if errors.Is(err, errDepth) {
		return sqldb.Refuse("The statement is nested too deep.")
	}
	return err
}

// kindOf names a statement as people do: InsertStmt is INSERT.
func kindOf(node *pgquery.Node) string {
	message := node.ProtoReflect()
	field := message.WhichOneof(message.Descriptor().Oneofs().ByName("node"))
	if field == nil {
		return "nothing"
	}
	return spoken(string(field.Message().Name()))
}

func spoken(message string) string {
	var b strings.Builder
	for i, r := range strings.TrimSuffix(message, "Stmt") {
		if i > 0 && r >= 'A' && r <= 'Z' {
			b.WriteByte(' ')
		}
		b.WriteRune(r)
	}
	return strings.ToUpper(b.String())
}

// known are the parts that a statement that reads may have.
func known(message string) bool {
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

// walk looks at a part and all that is in it. own are the statement's own tables
// that can be named there.
func (in *inspector) walk(m protoreflect.Message, own []string) error {
	if in.depth++; in.depth > maxDepth {
		return errDepth
	}
	defer func() { in.depth-- }()
	name := string(m.Descriptor().Name())
	if !known(name) {
		switch name {
		case "LockingClause":
			return sqldb.Refuse("FOR UPDATE and FOR SHARE lock rows and are not allowed.")
		case "IntoClause":
			return sqldb.Refuse("SELECT INTO makes a table and is not allowed.")
		case "ParamRef":
			return sqldb.Refuse("A statement has no parameters here; write the values themselves.")
		}
		return sqldb.Refuse("%s is not allowed here; only what reads is.", spoken(name))
	}
	switch part := m.Interface().(type) {
	case *pgquery.SelectStmt:
		return in.query(part, own)
	case *pgquery.RangeVar:
		if part.GetCatalogname() != "" {
			return sqldb.Refuse("Other databases cannot be asked: leave %s out.", sqldb.Brief(part.GetCatalogname()))
		}
		if part.GetSchemaname() != "" || !slices.Contains(own, part.GetRelname()) {
			in.out.Tables = append(in.out.Tables, Name{part.GetSchemaname(), part.GetRelname()})
		}
	case *pgquery.RangeTableSample:
		if name, ok := nameOf(part.GetMethod()); !ok || name.Schema != "" || name.Name != "bernoulli" && name.Name != "system" {
			return sqldb.Refuse("TABLESAMPLE may be bernoulli or system.")
		}
	case *pgquery.FuncCall:
		if err := in.function(part.GetFuncname()); err != nil {
			return err
		}
	case *pgquery.A_Indirection:
		if err := in.fields(part.GetIndirection()); err != nil {
			return err
		}
	case *pgquery.ColumnRef:
		// A function of a whole row: none that is barred takes one, and columns may
		// have their names. Whether it is volatile the server says.
		if fields := part.GetFields(); len(fields) > 1 {
			for _, field := range fields[1:] {
				if text := field.GetString_().GetSval(); text != "" {
					in.out.Functions = append(in.out.Functions, Name{Name: text})
				}
			}
		}
	case *pgquery.A_Expr:
		in.operator(part.GetName())
	case *pgquery.SubLink:
		in.operator(part.GetOperName())
	case *pgquery.SortBy:
		in.operator(part.GetUseOp())
	case *pgquery.TypeName:
		return in.typeName(part, own)
	}
	return in.inside(m, own)
}

// inside walks the parts of a part.
func (in *inspector) inside(m protoreflect.Message, own []string) (err error) {
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

// query walks a SELECT. A table of its WITH is known to those after it, with
// RECURSIVE to all, and to the query itself; outside it is not.
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

// nameOf reads a name of one or two parts.
func nameOf(parts []*pgquery.Node) (Name, bool) {
	switch len(parts) {
	case 1:
		return Name{Name: parts[0].GetString_().GetSval()}, true
	case 2:
		return Name{parts[0].GetString_().GetSval(), parts[1].GetString_().GetSval()}, true
	default:
		return Name{}, false
	}
}

func (in *inspector) function(parts []*pgquery.Node) error {
	name, ok := nameOf(parts)
	if !ok {
		return sqldb.Refuse("A function's name has too many parts.")
	}
	if barred(name.Name) {
		return sqldb.Refuse("The function %s is not allowed: it could do more than read the tables.", sqldb.Brief(name.Name))
	}
	in.out.Functions = append(in.out.Functions, name)
	return nil
}

// fields are what is picked from a row or a value. PostgreSQL takes a field that
// does not exist for a function of the whole.
func (in *inspector) fields(parts []*pgquery.Node) error {
	for _, part := range parts {
		text, ok := part.GetNode().(*pgquery.Node_String_)
		if !ok {
			continue
		}
		if err := in.function([]*pgquery.Node{{Node: text}}); err != nil {
			return err
		}
	}
	return nil
}

func (in *inspector) operator(parts []*pgquery.Node) {
	if name, ok := nameOf(parts); ok {
		in.out.Operators = append(in.out.Operators, name)
	}
}

// barred are functions of PostgreSQL and of what ships with it that write, wait,
// lock, reach files or other servers, or run a text as a statement. Most are
// volatile and the server is asked about that as well.
func barred(name string) bool {
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

// harmless are the volatile functions of PostgreSQL itself that are allowed:
// chance, the clock, and sizes.
func harmless() []string {
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
