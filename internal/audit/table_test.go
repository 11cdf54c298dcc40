package audit_test

import (
	"reflect"
	"strings"
	"testing"

	"github.com/magpie-search/magpie/ent"
	"github.com/magpie-search/magpie/ent/migrate"
	"github.com/magpie-search/magpie/internal/audit"
)

// entities returns the names of all entities, by reflection.
func entities() []string {
	var names []string
	client := reflect.TypeFor[ent.Client]()
	for i := range client.NumField() {
		f := client.Field(i)
		if f.IsExported() && f.Type.Kind() == reflect.Pointer && f.Type.Elem().Name() == f.Name+"Client" {
			names = append(names, f.Name)
		}
	}
	return names
}

func TestEveryEntityIsAuditedOrUnaudited(t *testing.T) {
	t.Parallel()
	audited, unaudited := audit.Audited(), audit.Unaudited()
	names := entities()
	if len(names) < 15 {
		t.Fatalf("only %v were found", names)
	}
	for _, name := range names {
		_, is := audited[name]
		why, not := unaudited[name]
		switch {
		case is == not:
			t.Errorf("%s must be in either Audited or Unaudited (internal/audit/table.go): do people make changes of it that are worth an entry?", name)
		case not && len(why) < 10:
			t.Errorf("%s is unaudited without a reason", name)
		}
	}
	if len(audited)+len(unaudited) != len(names) {
		t.Errorf("%d entities are audited and %d unaudited, of %d", len(audited), len(unaudited), len(names))
	}
	columns := map[string]map[string]bool{}
	for _, table := range migrate.Tables {
		columns[table.Name] = map[string]bool{}
		for _, c := range table.Columns {
			columns[table.Name][c.Name] = true
		}
	}
	for name, spec := range audited {
		if columns[spec.Table] == nil {
			t.Errorf("%s: there is no table %q", name, spec.Table)
			continue
		}
		named := append(append(append([]string{}, spec.Ignored...), spec.Fields...), spec.Hidden...)
		for _, verb := range spec.Verbs {
			if verb.Field != "" {
				named = append(named, verb.Field)
			}
		}
		for _, field := range named {
			if !columns[spec.Table][field] {
				t.Errorf("%s: there is no field %q", name, field)
			}
		}
		if (spec.NoCreate || spec.NoUpdate || spec.NoDelete) && spec.Why == "" {
			t.Errorf("%s excludes operations without a reason", name)
		}
		if strings.ContainsAny(spec.Kind, " -ABCDEFGHIJKLMNOPQRSTUVWXYZ") || spec.Kind == "" {
			t.Errorf("%s: its kind is %q", name, spec.Kind)
		}
	}
}
