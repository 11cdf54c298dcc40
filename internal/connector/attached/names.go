package attached

import (
	"slices"
	"strings"
	"unicode"

	"github.com/magpie-search/magpie/connectors"
)

// commonPrefix returns what all of at least three names begin with, as sb in sbCustomer,
// sbTicker and sbPrice, in lower case. It is "" if that is shorter than two letters or all of
// a name.
func commonPrefix(names []string) string {
	if len(names) < 3 {
		return ""
	}
	prefix := strings.ToLower(names[0])
	for _, name := range names {
		for !strings.HasPrefix(strings.ToLower(name), prefix) {
			prefix = prefix[:len(prefix)-1]
		}
	}
	isAll := slices.ContainsFunc(names, func(name string) bool { return len(name) == len(prefix) })
	if len(prefix) < 2 || isAll {
		return ""
	}
	return prefix
}

// withoutPrefix returns a name without a prefix that it has in any case.
func withoutPrefix(name, prefix string) string {
	if prefix == "" || len(name) <= len(prefix) || !strings.EqualFold(name[:len(prefix)], prefix) {
		return name
	}
	return name[len(prefix):]
}

// spaced splits an identifier into words, also at capital letters as in OrderLine.
func spaced(name string) string {
	var out strings.Builder
	previous := ' '
	for _, r := range name {
		switch {
		case r == '_' || r == '-' || r == '.':
			r = ' '
		case unicode.IsUpper(r) && unicode.IsLower(previous):
			_, _ = out.WriteRune(' ')
		}
		_, _ = out.WriteRune(r)
		previous = r
	}
	return out.String()
}

// keyName is a name as the names of keys are compared: author_id, AuthorID and authorId are
// equal.
func keyName(name string) string {
	return strings.ToLower(strings.NewReplacer("_", "", "-", "", " ", "").Replace(name))
}

// naming has the prefixes of a schema's tables, and of the columns of each table.
type naming struct {
	tables  map[string]string // by schema
	columns []string
}

func namingOf(tables []connectors.Table) naming {
	n := naming{tables: map[string]string{}, columns: make([]string, len(tables))}
	schemas := map[string][]string{}
	for i, t := range tables {
		schemas[t.Schema] = append(schemas[t.Schema], t.Name)
		names := make([]string, len(t.Columns))
		for at, c := range t.Columns {
			names[at] = c.Name
		}
		n.columns[i] = commonPrefix(names)
	}
	for schema, names := range schemas {
		n.tables[schema] = commonPrefix(names)
	}
	return n
}

// relate finds the tables that are joined with each table: by foreign keys, by a column with
// the name of another table's primary key, and by columns whose names end in id that both
// have. Of the last, two tables of keys alone are not joined with each other, but with the
// tables between which they stand.
func relate(tables []connectors.Table, n naming) [][]int {
	edges := make([]map[int]bool, len(tables))
	connect := func(a, b int) {
		if a == b {
			return
		}
		for _, pair := range [][2]int{{a, b}, {b, a}} {
			if edges[pair[0]] == nil {
				edges[pair[0]] = map[int]bool{}
			}
			edges[pair[0]][pair[1]] = true
		}
	}
	at := make(map[tableKey]int, len(tables))
	owners := map[tableKey]int{} // by schema and the name of the primary key
	shared := map[tableKey][]int{}
	link := make([]bool, len(tables))
	for i := range tables {
		t := &tables[i]
		at[tableKey{t.Schema, t.Name}] = i
		if len(t.PrimaryKey) == 1 {
			owners[tableKey{t.Schema, primaryName(t, n.tables[t.Schema])}] = i
		}
		link[i] = len(t.Columns) > 1
		for _, c := range t.Columns {
			name := keyName(c.Name)
			if !strings.HasSuffix(name, "id") || name == "id" {
				link[i] = false
				continue
			}
			key := tableKey{t.Schema, name}
			shared[key] = append(shared[key], i)
		}
	}
	for i := range tables {
		t := &tables[i]
		for _, key := range t.ForeignKeys {
			if other, ok := at[tableKey{key.Schema, key.Table}]; ok {
				connect(i, other)
			}
		}
		for _, c := range t.Columns {
			for _, prefix := range []string{"", n.tables[t.Schema], n.columns[i]} {
				if owner, ok := owners[tableKey{t.Schema, keyName(withoutPrefix(c.Name, prefix))}]; ok {
					connect(i, owner)
				}
			}
		}
	}
	for _, group := range shared {
		if len(group) > maxShared {
			continue // a column that nearly every table has, such as tenant_id
		}
		for a := range group {
			for b := range a {
				if !link[group[a]] || !link[group[b]] {
					connect(group[a], group[b])
				}
			}
		}
	}
	out := make([][]int, len(tables))
	for i := range edges {
		for other := range edges[i] {
			out[i] = append(out[i], other)
		}
	}
	return out
}

// maxShared is the maximum number of tables that are joined by a column that they all have.
const maxShared = 12

// primaryName returns the name by which other tables reference the primary key of a table:
// that of the column, or for a column id that of the table with it.
func primaryName(t *connectors.Table, prefix string) string {
	name := keyName(withoutPrefix(t.PrimaryKey[0], prefix))
	if name != "id" {
		return name
	}
	table := keyName(withoutPrefix(t.Name, prefix))
	return strings.TrimSuffix(table, "s") + "id"
}
