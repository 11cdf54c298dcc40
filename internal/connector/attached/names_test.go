package attached

import (
	"slices"
	"strings"
	"testing"

	"github.com/magpie-search/magpie/connectors"
)

func TestCommonPrefix(t *testing.T) {
	t.Parallel()
	for names, want := range map[string]string{
		"sbCustomer sbTicker SBPrice":    "sb",
		"customer ticker price":          "",
		"sbCustomer sbTicker":            "", // two may begin alike by chance
		"order order_line order_history": "", // it is all of a name
		"a_x a_y a_z":                    "a_",
		"ax ay az":                       "",
		"":                               "",
	} {
		if got := commonPrefix(strings.Fields(names)); got != want {
			t.Errorf("%s: %q, want %q", names, got, want)
		}
	}
}

func TestSpaced(t *testing.T) {
	t.Parallel()
	for name, want := range map[string]string{"OrderLine": "Order Line", "order_line": "order line", "HTTPCode": "HTTPCode", "straßeÜber": "straße Über", "": ""} {
		if got := spaced(name); got != want {
			t.Errorf("%s: %q, want %q", name, got, want)
		}
	}
}

// table makes a table; the first column is the primary key if its name ends with a star.
func table(schema, name string, columns ...string) connectors.Table {
	t := connectors.Table{Schema: schema, Name: name}
	for _, column := range columns {
		column, isKey := strings.CutSuffix(column, "*")
		if isKey {
			t.PrimaryKey = []string{column}
		}
		t.Columns = append(t.Columns, connectors.Column{Name: column})
	}
	return t
}

func TestRelatedTables(t *testing.T) {
	t.Parallel()
	many := make([]connectors.Table, 0, 20)
	for _, name := range strings.Split("a b c d e f g h i j k l m n", " ") {
		many = append(many, table("s", name, "tenantid", "x"))
	}
	withForeignKey := table("s", "invoice", "number", "customer")
	withForeignKey.ForeignKeys = []connectors.ForeignKey{{Columns: []string{"customer"}, Schema: "s", Table: "customer", References: []string{"nr"}}, {Schema: "s", Table: "invoice"}, {Schema: "s", Table: "gone"}}
	for name, c := range map[string]struct {
		tables []connectors.Table
		want   string // pairs of names
	}{
		"foreign key":             {[]connectors.Table{table("s", "customer", "nr"), withForeignKey}, "customer-invoice"},
		"primary key's name":      {[]connectors.Table{table("s", "state", "state_name*", "area"), table("s", "city", "city_name*", "state_name")}, "city-state"},
		"id of a table":           {[]connectors.Table{table("s", "Authors", "id*", "name"), table("s", "book", "id*", "author_id")}, "Authors-book"},
		"prefixes":                {[]connectors.Table{table("s", "sbCustomer", "sbCustId*", "sbCustName", "sbCustCity"), table("s", "sbTx", "sbTxId*", "sbTxCustId", "sbTxDay"), table("s", "sbNote", "text")}, "sbCustomer-sbTx"},
		"between two":             {[]connectors.Table{table("s", "author", "aid", "name"), table("s", "writes", "aid", "pid"), table("s", "paper", "pid", "title"), table("s", "reads", "aid", "pid")}, "author-reads author-writes paper-reads paper-writes"},
		"a column of all tables":  {many, ""},
		"id alone is no relation": {[]connectors.Table{table("s", "a", "id*", "x"), table("s", "b", "id*", "y")}, ""},
		"another schema":          {[]connectors.Table{table("s", "a", "aid", "x"), table("t", "b", "aid", "y")}, ""},
	} {
		var got []string
		for i, others := range relate(c.tables, namingOf(c.tables)) {
			for _, other := range others {
				if pair := c.tables[i].Name + "-" + c.tables[other].Name; c.tables[i].Name < c.tables[other].Name {
					got = append(got, pair)
				}
			}
		}
		slices.Sort(got)
		if strings.Join(got, " ") != c.want {
			t.Errorf("%s: %v, want %s", name, got, c.want)
		}
	}
}
