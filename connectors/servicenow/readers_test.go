package servicenow_test

import (
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/magpie-search/magpie/connectors"
	"github.com/magpie-search/magpie/connectors/connectortest"
	. "github.com/magpie-search/magpie/internal/testkit/servicenowserver"
)

// newPeople adds people to an instance and returns the ids of a group above, a group
// below and a role.
func newPeople(i *instance) (above, below, role string) {
	above = i.Add("sys_user_group", Row{"name": "IT"})
	below = i.Add("sys_user_group", Row{"name": "Network", "parent": above})
	role = i.Add("sys_user_role", Row{"name": "itil"})
	i.Name(role, "itil")
	person := func(name, department, active string) string {
		return i.Add("sys_user", Row{"user_name": name, "email": strings.ToUpper(name[:1]) + name[1:] + "@example.com", "department": department, "active": active})
	}
	ada, bob, cleo, dan := person("ada", "d1", "true"), person("bob", "d2", "true"), person("cleo", "d1", "true"), person("dan", "d1", "false")
	i.Add("sys_user", Row{"user_name": "nomail", "email": "", "department": "d1", "active": "true"})
	for user, group := range map[string]string{ada: above, bob: below, dan: above} {
		i.Add("sys_user_grmember", Row{"user": user, "group": group})
	}
	for _, user := range []string{bob, cleo} {
		i.Add("sys_user_has_role", Row{"user": user, "role": role, "state": "active"})
	}
	return above, below, role
}

// The truth table of user criteria. What cannot be expressed hides the article.
func TestUserCriteria(t *testing.T) {
	t.Parallel()
	i := newInstance(t)
	above, below, role := newPeople(i)
	criterion := func(row Row) string {
		made := Row{"active": "true", "match_all": "false", "advanced": "false"}
		maps.Copy(made, row)
		return i.Add("user_criteria", made)
	}
	anybody := criterion(Row{"advanced": "true", "script": " answer = true; "})
	script := criterion(Row{"advanced": "true", "script": "answer = gs.hasRole('x')"})
	inGroup, inBelow, inRole, inDepartment := criterion(Row{"group": above}), criterion(Row{"group": below}), criterion(Row{"role": role}), criterion(Row{"department": "d1"})
	both := criterion(Row{"department": "d1", "role": role, "match_all": "true"})
	either := criterion(Row{"department": "d1", "role": role})
	inactive, place := criterion(Row{"group": above, "active": "false"}), criterion(Row{"location": "l1"})
	empty, emptyAll := criterion(Row{}), criterion(Row{"match_all": "true"})
	const nobody, all = "", "ada bob cleo"
	for name, c := range map[string]struct {
		baseCan, baseNot, can, cannot []string
		roles, want                   string
	}{
		"no criteria":                      {want: nobody},
		"anybody":                          {baseCan: []string{anybody}, want: all},
		"a group":                          {baseCan: []string{inGroup}, want: "ada"},
		"a group below":                    {baseCan: []string{inBelow}, want: "bob"},
		"a role":                           {baseCan: []string{inRole}, want: "bob cleo"},
		"a department":                     {baseCan: []string{inDepartment}, want: "ada cleo"},
		"all of two":                       {baseCan: []string{both}, want: "cleo"},
		"one of two":                       {baseCan: []string{either}, want: all},
		"one of two criteria":              {baseCan: []string{inGroup, inBelow}, want: "ada bob"},
		"a script":                         {baseCan: []string{script}, want: nobody},
		"a script beside a group":          {baseCan: []string{script, inGroup}, want: "ada"},
		"an inactive criterion":            {baseCan: []string{inactive}, want: nobody},
		"an empty criterion":               {baseCan: []string{empty}, want: nobody},
		"an empty criterion, all":          {baseCan: []string{emptyAll}, want: nobody},
		"an empty one beside a group":      {baseCan: []string{empty, inGroup}, want: "ada"},
		"refused by an empty criterion":    {baseCan: []string{anybody}, baseNot: []string{empty}, want: nobody},
		"refused by an empty one, all":     {baseCan: []string{anybody}, baseNot: []string{emptyAll}, want: nobody},
		"article with an empty criterion":  {baseCan: []string{anybody}, can: []string{empty}, want: nobody},
		"article refuses by an empty one":  {baseCan: []string{anybody}, cannot: []string{empty}, want: nobody},
		"an unknown criterion":             {baseCan: []string{"0123456789abcdef0123456789abcdef"}, want: nobody},
		"refused group":                    {baseCan: []string{anybody}, baseNot: []string{inBelow}, want: "ada cleo"},
		"refused group with those below":   {baseCan: []string{anybody}, baseNot: []string{inGroup}, want: "cleo"},
		"refused by script":                {baseCan: []string{anybody}, baseNot: []string{script}, want: nobody},
		"refused by an inactive criterion": {baseCan: []string{anybody}, baseNot: []string{inactive}, want: all},
		"refused by a place":               {baseCan: []string{anybody}, baseNot: []string{place}, want: nobody},
		"refused by an unknown criterion":  {baseCan: []string{anybody}, baseNot: []string{"0123456789abcdef0123456789abcdef"}, want: nobody},
		"allowed and refused":              {baseCan: []string{inGroup}, baseNot: []string{inGroup}, want: nobody},
		"article narrows":                  {baseCan: []string{anybody}, can: []string{inRole}, want: "bob cleo"},
		"article cannot widen":             {baseCan: []string{inGroup}, can: []string{inRole}, want: nobody},
		"article refuses":                  {baseCan: []string{anybody}, cannot: []string{inRole}, want: "ada"},
		"article allows and refuses":       {baseCan: []string{anybody}, can: []string{inDepartment}, cannot: []string{inRole}, want: "ada"},
		"article with a script":            {baseCan: []string{anybody}, can: []string{script}, want: nobody},
		"roles of the article":             {baseCan: []string{anybody}, roles: "itil", want: "bob cleo"},
		"roles and criteria":               {baseCan: []string{inDepartment}, roles: "itil,admin", want: "cleo"},
		"a role that nobody has":           {baseCan: []string{anybody}, roles: "admin", want: nobody},
	} {
		base := i.AddBase(name)
		for table, list := range map[string][]string{"kb_uc_can_read_mtom": c.baseCan, "kb_uc_cannot_read_mtom": c.baseNot} {
			for _, id := range list {
				i.Add(table, Row{"kb_knowledge_base": base, "user_criteria": id})
			}
		}
		id := i.AddArticle(base, Row{"short_description": name, "can_read_user_criteria": strings.Join(c.can, ","), "cannot_read_user_criteria": strings.Join(c.cannot, ","), "roles": c.roles})
		if got := readersOf(t, i, "kb_knowledge:"+id); got != c.want {
			t.Errorf("%s: readers are %q, want %q", name, got, c.want)
		}
	}
}

// readersOf returns the names of the readers of an item, "everyone" for everybody.
func readersOf(t *testing.T, i *instance, id string) string {
	t.Helper()
	source := i.open(t, map[string]any{"include_permissions": true, "includeAttachments": true})
	lister, ok := source.(connectors.GroupLister)
	if !ok {
		t.Fatal("the source is no GroupLister")
	}
	readers, err := source.(connectors.PermissionLister).Readers(t.Context(), []connectors.Item{{ID: id, Size: -1}}) //nolint:forcetypeassert // it is
	if err != nil {
		t.Fatal(err)
	}
	if readers[id].Everyone {
		return "everyone"
	}
	page, err := lister.Groups(t.Context(), "")
	if err != nil || !page.Done {
		t.Fatal(err)
	}
	var names []string
	for _, group := range page.Groups {
		if slices.Contains(readers[id].Principals, group.Principal) {
			for _, member := range group.Members {
				names = append(names, strings.TrimSuffix(strings.TrimPrefix(member, "user:"), "@example.com"))
			}
		}
	}
	return strings.Join(names, " ")
}

// Where the property opens knowledge bases without criteria, they are for all active
// users, and not for people without an account.
func TestOpenBases(t *testing.T) {
	t.Parallel()
	i := newInstance(t)
	_, _, role := newPeople(i)
	inRole := i.Add("user_criteria", Row{"active": "true", "role": role})
	i.Add("sys_properties", Row{"name": "glide.knowman.block_access_with_no_user_criteria", "value": "false"})
	plain := i.AddArticle(i.base, Row{"short_description": "Plain"})
	narrow := i.AddArticle(i.base, Row{"short_description": "Narrow", "can_read_user_criteria": inRole})
	file := i.Attach("kb_knowledge", narrow, "a.txt", "text/plain", []byte("a"))
	incident := i.Add("incident", Row{"number": "INC1", "short_description": "x"})
	for id, want := range map[string]string{"kb_knowledge:" + plain: "ada bob cleo", "kb_knowledge:" + narrow: "bob cleo", "file:" + file: "bob cleo", "incident:" + incident: ""} {
		if got := readersOf(t, i, id); got != want {
			t.Errorf("%s: readers are %q, want %q", id, got, want)
		}
	}
	i.Refuse("sys_properties", true)
	if got := readersOf(t, i, "kb_knowledge:"+plain); got != "" {
		t.Errorf("without the property, readers are %q", got)
	}
	i.Refuse("user_criteria", true)
	source := i.open(t, map[string]any{"include_permissions": true})
	if err := source.Check(t.Context()); !connectors.IsNeedsAuth(err) || !strings.Contains(err.Error(), "user_criteria") {
		t.Errorf("without the right to read criteria: %v", err)
	}
}

// A rule that is absent does not take the members of the groups behind it.
func TestGroupsWithoutOneRule(t *testing.T) {
	t.Parallel()
	i := newInstance(t)
	newPeople(i)
	i.Add("sys_properties", Row{"name": "glide.knowman.block_access_with_no_user_criteria", "value": "false"})
	i.AddArticle(i.base, Row{"short_description": "Plain"})
	i.AddArticle(i.base, Row{"short_description": "Narrow", "roles": "itil"})
	settings := i.settings(map[string]any{"include_permissions": true})
	source := connectortest.Open(t, i.kind(t), settings)
	items, _ := walk(t, source)
	if _, err := source.(connectors.PermissionLister).Readers(t.Context(), slices.Collect(maps.Values(items))); err != nil { //nolint:forcetypeassert // it is
		t.Fatal(err)
	}
	keys, err := settings.State.Keys(t.Context(), "rule/")
	if err != nil || len(keys) != 2 {
		t.Fatalf("the rules are %q, %v", keys, err)
	}
	if err := settings.State.Put(t.Context(), keys[0], []byte("?")); err != nil {
		t.Fatal(err)
	}
	page, err := source.(connectors.GroupLister).Groups(t.Context(), "") //nolint:forcetypeassert // it is
	if err != nil || len(page.Groups) != 1 || len(page.Groups[0].Members) == 0 || "rule/"+strings.TrimPrefix(page.Groups[0].Principal, "group:") != keys[1] {
		t.Errorf("the groups are %+v, %v", page.Groups, err)
	}
}
