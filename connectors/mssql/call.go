package mssql

import "github.com/magpie-search/magpie/connectors/sqldb"

// call checks a name that a parenthesis follows. It is from i to last.
func (in *inspector) call(i, last int, parts []token) error {
	here, called := in.here(), parts[len(parts)-1]
	switch {
	case len(parts) > 1:
	case here.wantsTable:
		if called.kind == word && isTableFunction(called.value) {
			here.wantsTable = false
			return nil
		}
	case here.inFrom && in.at(i-1).is("AS", ")") && in.isColumnList(last+1):
		return nil // the alias of a table, with names for its columns
	case called.kind == word && (in.mayOpen(i) || isFunction(called.value) && in.beginsExpression(i)):
		return nil
	}
	return sqldb.Refuse("The function %s is not among those that are known to compute only, or is not allowed here.", sqldb.QuoteName(called.value))
}

// isColumnList reports whether the parenthesis at a position has names, with commas
// between them, and nothing else.
func (in *inspector) isColumnList(i int) bool {
	for i++; in.at(i).isName(); i += 2 {
		if in.at(i + 1).is(")") {
			return true
		}
		if !in.at(i + 1).is(",") {
			return false
		}
	}
	return false
}

// mayOpen reports whether a parenthesis may follow the keyword or type at a position.
// Words that can be aliases need something at their side that no alias has: behind an
// alias, a parenthesis may begin another statement.
func (in *inspector) mayOpen(i int) bool {
	t, before, inside := in.at(i), in.at(i-1), in.at(i+2)
	switch {
	case t.is("ALL"):
		return before.is("UNION", "=", "<", ">")
	case t.is("APPLY"):
		return before.is("CROSS", "OUTER")
	case t.is("FIRST", "NEXT"):
		return before.is("FETCH")
	case t.is("SETS"):
		return before.is("GROUPING")
	case t.is("ROLLUP", "CUBE"):
		return before.is("BY", ",", "(")
	case t.is("GROUP"):
		return before.is("WITHIN")
	case t.is("OFFSET"):
		return in.at(in.pairs[i+1]+1).is("ROW", "ROWS")
	case t.is("PATH", "RAW", "ROOT"):
		return inside.kind == literal && in.at(i+3).is(")")
	case isType(t.value):
		return inside.kind == number || inside.is("MAX")
	default:
		return opensParenthesis(t.value)
	}
}

// beginsExpression reports whether an expression begins at a position. Elsewhere, the
// name of a function is an alias.
func (in *inspector) beginsExpression(i int) bool {
	switch before := in.at(i - 1); {
	case before.is(")") || before.kind == number:
		return !in.endsValue(i - 1) // the number of rows behind TOP
	case before.kind == symbol:
		return true
	case before.is("ALL"):
		return in.at(i-2).is("SELECT", "(")
	case before.is("TIES"):
		return in.at(i - 2).is("WITH")
	case before.is("ZONE"):
		return in.at(i - 2).is("TIME")
	default:
		return before.kind == word && precedesExpression(before.value)
	}
}
