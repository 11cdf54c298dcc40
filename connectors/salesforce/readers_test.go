package salesforce_test

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/magpie-search/magpie/connectors"
	"github.com/magpie-search/magpie/connectors/connectortest"
	. "github.com/magpie-search/magpie/internal/testkit/salesforceserver"
)

// readersOf syncs readers and groups, and returns the addresses of the people who may
// read each item, sorted, by the item's id.
func readersOf(t testing.TB, source connectors.Source) map[string][]string {
	t.Helper()
	items, _ := walk(t, source)
	return readersOfItems(t, source, slices.Collect(maps.Values(items)))
}

func readersOfItems(t testing.TB, source connectors.Source, items []connectors.Item) map[string][]string {
	t.Helper()
	readers, err := source.(connectors.PermissionLister).Readers(t.Context(), items)
	if err != nil {
		t.Fatal(err)
	}
	members, cursor := map[string][]string{}, ""
	for done := false; !done; {
		page, err := source.(connectors.GroupLister).Groups(t.Context(), cursor)
		if err != nil {
			t.Fatal(err)
		}
		for _, g := range page.Groups {
			members[g.Principal] = g.Members
		}
		cursor, done = page.Next, page.Done
	}
	found := map[string][]string{}
	for id, r := range readers {
		if r.Everyone {
			t.Errorf("%s is for everyone", id)
		}
		for _, principal := range r.Principals {
			if _, listed := members[principal]; !listed {
				t.Errorf("the group %s of %s is not listed", principal, id)
			}
			for _, member := range members[principal] {
				found[id] = append(found[id], strings.TrimPrefix(member, "user:"))
			}
		}
		slices.Sort(found[id])
		found[id] = slices.Compact(found[id])
	}
	return found
}

// A company has people in roles: the boss above sales and service, sales above the
// juniors. The people of one role do not see what the others own.
type company struct {
	*organization
	boss, ada, bob, joe, sue, partner, idle, admin string
	sales, junior, service                         string // roles
}

func newCompany(t testing.TB, objects ...string) *company {
	t.Helper()
	c := &company{organization: newOrganization(t)}
	top := c.AddRole("Top", "")
	c.sales, c.service = c.AddRole("Sales", top), c.AddRole("Service", top)
	c.junior = c.AddRole("Junior", c.sales)
	user := func(name, role string) string { return c.AddUser(name+"@acme.example", role) }
	c.boss, c.ada, c.bob, c.joe, c.sue = user("Boss", top), user("ada", c.sales), user("bob", c.sales), user("joe", c.junior), user("sue", c.service)
	c.partner, c.idle, c.admin = user("partner", ""), user("idle", c.sales), user("admin", "")
	c.Change(c.partner, Row{"UserType": "PowerPartner"})
	c.Change(c.idle, Row{"IsActive": false})
	c.AddPermissionSet([]string{c.Reader, c.boss, c.ada, c.bob, c.joe, c.sue, c.partner, c.idle}, objects...)
	all := c.AddPermissionSet([]string{c.admin}, objects...)
	c.Change(all, Row{"PermissionsViewAllData": true})
	return c
}

// names returns addresses without their domain.
func names(addresses []string) string {
	var short []string
	for _, a := range addresses {
		short = append(short, strings.TrimSuffix(a, "@acme.example"))
	}
	return strings.Join(short, " ")
}

// The truth table: defaults, roles and shares. The account belongs to joe.
func TestReadersFollowTheSharingRules(t *testing.T) {
	t.Parallel()
	const everybody = "ada admin bob boss joe reader sue"
	cases := map[string]struct {
		internal, external string
		change             func(c *company, record string)
		want               string
	}{
		"private":                 {"Private", "Private", nil, "ada admin bob boss joe"},
		"public read":             {"Read", "Private", nil, everybody},
		"public write":            {"ReadWrite", "Private", nil, everybody},
		"public transfer":         {"ReadWriteTransfer", "Private", nil, everybody},
		"public outside, too":     {"ReadWrite", "Read", nil, "ada admin bob boss joe partner reader sue"},
		"another default":         {"ControlledByLeadOrContact", "Private", nil, "admin"},
		"owner without a role":    {"Private", "Private", func(c *company, r string) { c.Change(r, Row{"OwnerId": c.partner}) }, "admin partner"},
		"owner at the top":        {"Private", "Private", func(c *company, r string) { c.Change(r, Row{"OwnerId": c.boss}) }, "admin boss"},
		"owner is not active":     {"Private", "Private", func(c *company, r string) { c.Change(r, Row{"OwnerId": c.idle}) }, "admin"},
		"queue":                   {"Private", "Private", func(c *company, r string) { c.Change(r, Row{"OwnerId": c.AddGroup("Queue", false, c.sue)}) }, "admin sue"},
		"queue with bosses":       {"Private", "Private", func(c *company, r string) { c.Change(r, Row{"OwnerId": c.AddGroup("Queue", true, c.sue)}) }, "admin boss sue"},
		"share with a user":       {"Private", "Private", func(c *company, r string) { c.Share(r, c.sue, nil) }, "ada admin bob boss joe sue"},
		"share outside":           {"Private", "Private", func(c *company, r string) { c.Share(r, c.partner, nil) }, "ada admin bob boss joe partner"},
		"share outside of public": {"Read", "Private", func(c *company, r string) { c.Share(r, c.partner, nil) }, "ada admin bob boss joe partner reader sue"},
		"share without access":    {"Private", "Private", func(c *company, r string) { c.Share(r, c.sue, Row{"AccountAccessLevel": "None"}) }, "ada admin bob boss joe"},
		"share with a group":      {"Private", "Private", func(c *company, r string) { c.Share(r, c.AddGroup("Regular", false, c.sue, c.idle), nil) }, "ada admin bob boss joe sue"},
		"groups in groups": {"Private", "Private", func(c *company, r string) {
			c.Share(r, c.AddGroup("Regular", false, c.AddGroup("Regular", false, c.sue)), nil)
		}, "ada admin bob boss joe sue"},
		"share with a role":            {"Private", "Private", func(c *company, r string) { c.Share(r, c.GroupOf(c.service, "Role"), nil) }, "ada admin bob boss joe sue"},
		"share with everybody inside":  {"Private", "Private", func(c *company, r string) { c.Share(r, c.AddGroup("Organization", false), nil) }, everybody},
		"share with a group unknown":   {"Private", "Private", func(c *company, r string) { c.Share(r, c.AddGroup("ChannelProgramGroup", false, c.sue), nil) }, "ada admin bob boss joe"},
		"withdrawn share":              {"Private", "Private", func(c *company, r string) { c.Remove(c.Share(r, c.sue, nil)) }, "ada admin bob boss joe"},
		"no permission for the object": {"Read", "Private", func(c *company, _ string) { c.withoutPermission(c.sue) }, "ada admin bob boss joe reader"},
		"owner without permission":     {"Private", "Private", func(c *company, _ string) { c.withoutPermission(c.joe) }, "ada admin bob boss"},
		"permission only in a session": {"Read", "Private", func(c *company, _ string) {
			c.withoutPermission(c.sue)
			c.Change(c.AddPermissionSet([]string{c.sue}, "Account"), Row{"HasActivationRequired": true})
		}, "ada admin bob boss joe reader"},
		"view all of the object":     {"Private", "Private", func(c *company, _ string) { c.viewAll(c.sue, "Account") }, "ada admin bob boss joe sue"},
		"view all of another object": {"Private", "Private", func(c *company, _ string) { c.viewAll(c.sue, "Contact") }, "ada admin bob boss joe"},
		"role and subordinates": {"Private", "Private", func(c *company, r string) {
			c.Change(r, Row{"OwnerId": c.sue})
			c.Share(r, c.GroupOf(c.sales, "RoleAndSubordinates"), nil)
		}, "ada admin bob boss joe sue"},
		"role alone": {"Private", "Private", func(c *company, r string) {
			c.Change(r, Row{"OwnerId": c.sue})
			c.Share(r, c.GroupOf(c.sales, "Role"), nil)
		}, "ada admin bob boss sue"},
		"role below": {"Private", "Private", func(c *company, r string) {
			c.Change(r, Row{"OwnerId": c.sue})
			c.Share(r, c.GroupOf(c.junior, "Role"), nil)
		}, "ada admin bob boss joe sue"},
		"managers of a user": {"Private", "Private", func(c *company, r string) {
			c.Change(c.joe, Row{"ManagerId": c.sue})
			c.Share(r, c.AddGroupOf("Manager", c.joe), nil)
		}, "ada admin bob boss joe sue"},
		"user and subordinates": {"Private", "Private", func(c *company, r string) {
			c.Change(r, Row{"OwnerId": c.boss})
			c.Change(c.joe, Row{"ManagerId": c.sue})
			c.Share(r, c.AddGroupOf("ManagerAndSubordinatesInternal", c.sue), nil)
		}, "admin boss joe sue"},
		"territory":                     {"Private", "Private", func(c *company, r string) { c.Share(r, c.territory("Territory"), nil) }, "ada admin bob boss joe"},
		"territory and those below":     {"Private", "Private", func(c *company, r string) { c.Share(r, c.territory("TerritoryAndSubordinates"), nil) }, "ada admin bob boss joe sue"},
		"default of the organization":   {"Read", "Private", func(c *company, _ string) { c.Change(c.OrganizationID(), Row{"DefaultAccountAccess": "None"}) }, "ada admin bob boss joe"},
		"nobody has the user's address": {"Private", "Private", func(c *company, _ string) { c.Change(c.joe, Row{"Email": ""}) }, "ada admin bob boss"},
	}
	for name, try := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := newCompany(t, "Account", "Contact")
			record := c.Add("Account", Row{"Name": "Acme", "OwnerId": c.joe})
			c.SetDefault("Account", try.internal, try.external)
			if try.change != nil {
				try.change(c, record)
			}
			got := readersOf(t, c.open(t, map[string]any{"objects": []any{"Account"}, "include_permissions": true}))
			if found := names(got["Account/"+record]); found != try.want {
				t.Errorf("the readers are %q, want %q", found, try.want)
			}
		})
	}
}

// withoutPermission takes the permission sets of a user away.
func (c *company) withoutPermission(user string) {
	for _, id := range c.Find("PermissionSetAssignment", "AssigneeId", user) {
		c.Remove(id)
	}
}

func (c *company) viewAll(user, object string) {
	set := c.AddPermissionSet([]string{user}, object)
	for _, id := range c.Find("ObjectPermissions", "ParentId", set) {
		c.Change(id, Row{"PermissionsViewAllRecords": true})
	}
}

// territory returns the group of a territory that has a territory of sue below it.
func (c *company) territory(kind string) string {
	west := c.Add("Territory2", Row{"Name": "West"})
	coast := c.Add("Territory2", Row{"Name": "Coast", "ParentTerritory2Id": west})
	c.Add("UserTerritory2Association", Row{"UserId": c.sue, "Territory2Id": coast, "IsActive": true})
	c.Add("UserTerritory2Association", Row{"UserId": c.bob, "Territory2Id": west, "IsActive": true})
	return c.AddGroupOf(kind, west)
}

func TestChildrenFollowTheirParent(t *testing.T) {
	t.Parallel()
	c := newCompany(t, "Account", "Contact", "Case")
	master := func(name string) Field {
		return Field{Name: name + "__c", Label: name, Type: "reference", ReferenceTo: []string{name + "__c"}, Relation: name + "__r", Master: true}
	}
	c.Define(NewObject("Project__c", "a00"))
	c.Define(NewObject("Step__c", "a01", master("Project")))
	c.Define(NewObject("Link__c", "a02", master("Project"), master("Step")))
	c.AddPermissionSet([]string{c.ada, c.bob, c.joe, c.sue, c.boss, c.Reader}, "Project__c", "Step__c", "Link__c")
	c.SetDefault("Account", "Private", "Private")
	c.SetDefault("Contact", "ControlledByParent", "ControlledByParent")
	c.SetDefault("Case", "Private", "Private")
	c.SetDefault("Step__c", "ControlledByParent", "ControlledByParent")
	c.SetDefault("Link__c", "ControlledByParent", "ControlledByParent")
	account := c.Add("Account", Row{"Name": "Acme", "OwnerId": c.joe})
	contact := c.Add("Contact", Row{"Name": "Ann", "AccountId": account, "OwnerId": c.sue})
	alone := c.Add("Contact", Row{"Name": "Alone", "OwnerId": c.joe})
	ticket := c.Add("Case", Row{"Subject": "Leak", "AccountId": account, "OwnerId": c.sue})
	c.Share(account, c.bob, Row{"CaseAccessLevel": "Read"})
	c.Share(account, c.ada, Row{"CaseAccessLevel": "None"})
	project := c.Add("Project__c", Row{"Name": "Bridge", "OwnerId": c.joe})
	step := c.Add("Step__c", Row{"Name": "Measure", "Project__c": project})
	link := c.Add("Link__c", Row{"Name": "Both", "Project__c": project, "Step__c": step})
	file := c.AddFile("plan.txt", []byte("plan"), contact)
	c.withoutPermission(c.bob)
	c.AddPermissionSet([]string{c.bob}, "Contact", "Case") // but not accounts
	config := map[string]any{"objects": []any{"Contact", "Case", "Step__c", "Link__c"}, "include_permissions": true, "includeFiles": true}
	source := c.open(t, config)
	got := readersOf(t, source)
	for id, want := range map[string]string{
		"Contact/" + contact: "ada admin boss joe", "Contact/" + contact + "/" + file: "ada admin boss joe", "Contact/" + alone: "admin joe",
		"Case/" + ticket: "admin bob boss sue", "Step__c/" + step: "admin joe", "Link__c/" + link: "admin",
	} {
		if found := names(got[id]); found != want {
			t.Errorf("the readers of %s are %q, want %q", id, found, want)
		}
	}
	// With the role hierarchy, which Salesforce does not tell of custom objects.
	config["hierarchyObjects"] = []any{"Project__c"}
	if found := names(readersOf(t, c.open(t, config))["Step__c/"+step]); found != "ada admin boss joe" {
		t.Errorf("with the hierarchy, the readers of the step are %q", found)
	}
	c.Restrictions = []string{"Step__c"}
	if found := names(readersOf(t, c.open(t, config))["Step__c/"+step]); found != "" {
		t.Errorf("with a restriction rule, the readers of the step are %q", found)
	}
	c.Restrictions, c.NoTooling = nil, true
	if found := names(readersOf(t, c.open(t, config))["Step__c/"+step]); found != "" {
		t.Errorf("without the restriction rules, the readers of the step are %q", found)
	}
}

func TestKnowledgeIsHiddenWithoutItsCategories(t *testing.T) {
	t.Parallel()
	c := newCompany(t, "Knowledge__kav")
	c.Add("Knowledge__kav", Row{"Title": "Reset", "Language": "en_US", "PublishStatus": "Online", "KnowledgeArticleId": "kA0000000000001AAA"})
	const id = "Knowledge__kav/kA0000000000001AAA.en_US"
	config := map[string]any{"objects": []any{"Knowledge__kav"}, "include_permissions": true}
	if got := readersOf(t, c.open(t, config)); len(got[id]) != 0 {
		t.Errorf("the readers are %q", got[id])
	}
	config["knowledgeForReaders"] = true
	for _, external := range []string{"Private", "Read"} { // which articles are for sites is not known
		c.SetDefault("Knowledge__kav", "Read", external)
		if got := names(readersOf(t, c.open(t, config))[id]); got != "ada admin bob boss joe reader sue" {
			t.Errorf("with the default %s outside, the readers are %q", external, got)
		}
	}
}

func TestFieldsThatNotEverybodySeesAreLeftOut(t *testing.T) {
	t.Parallel()
	c := newCompany(t, "Case")
	ticket := c.Add("Case", Row{"Subject": "The secret merger", "Description": "Nobody knows", "OwnerId": c.joe})
	for _, name := range []string{"Case.Subject", "Case.Description"} {
		c.Remove(c.Find("FieldPermissions", "Field", name)[0])
	}
	config := map[string]any{"objects": []any{"Case"}, "include_permissions": true}
	items, warnings := walk(t, c.open(t, config))
	item := items["Case/"+ticket]
	if text := item.Title + item.Path + string(item.Content); strings.Contains(text, "merger") || strings.Contains(text, "Nobody") || strings.Contains(text, "-") && strings.Contains(text, "Description") {
		t.Errorf("the case is %+v: %s", item, item.Content)
	}
	if len(warnings) != 1 || !strings.Contains(warnings[0], "Description") || !strings.Contains(warnings[0], "Subject") {
		t.Errorf("the warnings are %q", warnings)
	}
	config["fields"] = []any{"Case: Description"}
	named, _ := walk(t, c.open(t, config))
	if text := string(named["Case/"+ticket].Content); !strings.Contains(text, "Nobody knows") || strings.Contains(text, "merger") || named["Case/"+ticket].Version == item.Version {
		t.Errorf("with the field named, the case is %s", text)
	}
}

func TestChangedRulesTakeEffect(t *testing.T) {
	t.Parallel()
	c := newCompany(t, "Account")
	c.SetDefault("Account", "Private", "Private")
	record := c.Add("Account", Row{"Name": "Acme", "OwnerId": c.joe})
	source := c.open(t, map[string]any{"objects": []any{"Account"}, "include_permissions": true})
	token := present(t, source)
	items, _ := walk(t, source)
	list := []connectors.Item{{ID: "Account/" + record, Size: -1}}
	readers := func() string { return names(readersOfItems(t, source, list)["Account/"+record]) }
	if got := readers(); got != "ada admin bob boss joe" || len(items) != 1 {
		t.Errorf("at first, the readers are %q", got)
	}
	c.Change(c.joe, Row{"UserRoleId": c.service}) // found by the groups
	if got := readers(); got != "admin boss joe" {
		t.Errorf("in another role, the readers are %q", got)
	}
	c.Advance(time.Hour)
	c.Share(record, c.bob, nil) // found by the feed
	page, err := source.(connectors.Feeder).Changes(t.Context(), token)
	if err != nil || !slices.Contains(page.Permissions, "Account/"+record) {
		t.Errorf("after a share, the changes are %+v, %v", page, err)
	}
	if got := readers(); got != "admin bob boss joe" {
		t.Errorf("after a share, the readers are %q", got)
	}
}

// Random rules: whoever is a reader may read at Salesforce by its own judgement, and
// the other way round.
func TestReadersAreThoseOfSalesforce(t *testing.T) {
	t.Parallel()
	for seed := range uint64(12) {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			t.Parallel()
			dice := rand.New(rand.NewPCG(seed, 25))
			c := newCompany(t, "Account", "Contact", "Case")
			people := []string{c.boss, c.ada, c.bob, c.joe, c.sue, c.partner, c.idle, c.admin}
			pick := func(list []string) string { return list[dice.IntN(len(list))] }
			models := []string{"Private", "Private", "Read", "ReadWrite"}
			for _, object := range []string{"Account", "Contact", "Case"} {
				internal, external := pick(models), "Private"
				if internal != "Private" { // the external default is never wider
					external = pick([]string{"Private", "Read"})
				}
				c.SetDefault(object, internal, external)
			}
			if dice.IntN(2) == 0 {
				c.SetDefault("Contact", "ControlledByParent", "ControlledByParent")
			}
			with := slices.Clone(people)
			for _, role := range []string{c.sales, c.junior, c.service} {
				for _, kind := range []string{"Role", "RoleAndSubordinates", "RoleAndSubordinatesInternal"} {
					with = append(with, c.GroupOf(role, kind))
				}
			}
			for range 6 {
				with = append(with, c.AddGroup(pick([]string{"Regular", "Queue"}), dice.IntN(2) == 0, pick(with), pick(with)))
			}
			c.viewAll(pick(people), pick([]string{"Account", "Contact", "Case"}))
			c.withoutPermission(pick(people))
			var accounts, records []string
			for range 4 {
				accounts = append(accounts, c.Add("Account", Row{"Name": "A", "OwnerId": pick(people)}))
			}
			records = append(records, accounts...)
			for range 4 {
				records = append(records, c.Add("Contact", Row{"Name": "C", "OwnerId": pick(people), "AccountId": pick(accounts)}), c.Add("Case", Row{"Subject": "S", "OwnerId": pick(with), "AccountId": pick(accounts)}))
			}
			for range 8 {
				if record := pick(records); slices.Contains(accounts, record) {
					c.Share(record, pick(with), Row{"CaseAccessLevel": pick([]string{"None", "Read", "Edit"}), "ContactAccessLevel": pick([]string{"None", "Read"})})
				} else {
					c.Share(record, pick(with), nil)
				}
			}
			parts := map[string][]string{} // what a document has, by record
			for range 6 {
				record, isOpen := pick(records), dice.IntN(2) == 0
				part := c.Add("Task", Row{"WhatId": record, "IsVisibleInSelfService": isOpen})
				if strings.HasPrefix(record, "500") {
					part = c.Add("CaseComment", Row{"ParentId": record, "IsPublished": isOpen})
				}
				if !strings.HasPrefix(record, "003") { // tasks of people are theirs by another field
					parts[record] = append(parts[record], part)
				}
			}
			source := c.open(t, map[string]any{"objects": []any{"Account", "Contact", "Case"}, "include_permissions": true})
			got := readersOf(t, source)
			for id, email := range c.Emails() {
				for item, list := range got {
					_, record, _ := strings.Cut(item, "/")
					hidden := func(part string) bool { return !c.CanRead(id, part) }
					if may := c.CanRead(id, record) && !slices.ContainsFunc(parts[record], hidden); may != slices.Contains(list, email) {
						t.Errorf("%s may read %s: %v, by the readers %v", email, item, may, !may)
					}
				}
			}
			if len(got) != len(records) {
				t.Errorf("%d of %d records have readers", len(got), len(records))
			}
		})
	}
}

func TestAccessIsVerified(t *testing.T) {
	t.Parallel()
	c := newCompany(t, "Account", "Case")
	c.SetDefault("Account", "Private", "Private")
	account, ticket := c.Add("Account", Row{"Name": "Acme", "OwnerId": c.joe}), c.Add("Case", Row{"Subject": "Leak"})
	source := c.open(t, map[string]any{"include_permissions": true, "verifyAccess": true})
	verifier := source.(connectors.AccessVerifier)
	file, article := "Account/"+account+"/069000000000001AAA", "Knowledge__kav/kA0000000000001AAA.de"
	ids := []string{"Account/" + account, file, "Case/" + ticket, article, "Account/001000000009999AAA", "nothing"}
	for email, want := range map[string][]string{
		"boss@acme.example": {"Account/" + account, file, "Case/" + ticket, article}, "sue@acme.example": {"Case/" + ticket, article},
		"idle@acme.example": {article}, "o'hara@acme.example": {article},
	} {
		found, err := verifier.VerifyAccess(t.Context(), email, ids)
		var readable []string
		for _, id := range ids {
			if found[id] {
				readable = append(readable, id)
			}
		}
		if err != nil || !slices.Equal(readable, want) {
			t.Errorf("%s may read %q, %v; want %q", email, readable, err, want)
		}
	}
	many := make([]string, 450)
	for i := range many {
		many[i] = fmt.Sprintf("Account/0010000001%05dAAA", i)
	}
	before := c.Requests("/query")
	if _, err := verifier.VerifyAccess(t.Context(), "sue@acme.example", many); err != nil || c.Requests("/query")-before != 4 {
		t.Errorf("450 records: %d requests, %v", c.Requests("/query")-before, err)
	}
	c.Used = c.Allowance
	if found, err := verifier.VerifyAccess(t.Context(), "sue@acme.example", ids); err == nil || len(found) > 0 {
		t.Errorf("without an allowance: %v, %v", found, err)
	}
}

func TestMissingRightsForPermissionsAreNamed(t *testing.T) {
	t.Parallel()
	o := newOrganization(t)
	o.NoAccess = []string{"PermissionSetAssignment"}
	source := o.openWith(t, map[string]any{"include_permissions": true}, &connectortest.State{})
	if err := source.Check(t.Context()); !connectors.IsNeedsAuth(err) || !strings.Contains(err.Error(), "View Setup and Configuration") {
		t.Errorf("Check = %v", err)
	}
	if _, err := source.Walk(t.Context(), ""); !connectors.IsNeedsAuth(err) {
		t.Errorf("Walk = %v", err)
	}
}
