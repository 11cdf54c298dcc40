package salesforce_test

import (
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/magpie-search/magpie/connectors"
	. "github.com/magpie-search/magpie/internal/testkit/salesforceserver"
)

// The truth table of what users outside may not see: a record whose document has it, and
// a file, are for users inside alone.
func TestUsersOutsideFindNothingInternal(t *testing.T) {
	t.Parallel()
	const inside, outside = "ada admin bob boss joe", "ada admin bob boss joe partner"
	file := func(visibility string) func(c *company, record string) {
		return func(c *company, record string) {
			c.AddFile("plan.txt", []byte("plan"), record)
			c.Change(c.Find("ContentDocumentLink", "LinkedEntityId", record)[0], Row{"Visibility": visibility})
		}
	}
	add := func(object, parent string, more Row) func(c *company, record string) {
		return func(c *company, record string) {
			values := Row{parent: record}
			maps.Copy(values, more)
			c.Add(object, values)
		}
	}
	cases := map[string]struct {
		object     string
		change     func(c *company, record string)
		want, file string // readers of the record and of its file
	}{
		"nothing":                    {"Case", func(*company, string) {}, outside, ""},
		"published comment":          {"Case", add("CaseComment", "ParentId", Row{"IsPublished": true}), outside, ""},
		"internal comment":           {"Case", add("CaseComment", "ParentId", nil), inside, ""},
		"comment without a word":     {"Case", add("CaseComment", "ParentId", Row{"IsPublished": nil}), inside, ""},
		"visible mail":               {"Case", add("EmailMessage", "ParentId", nil), outside, ""},
		"internal mail":              {"Case", add("EmailMessage", "ParentId", Row{"IsExternallyVisible": false}), inside, ""},
		"mail of another object":     {"Account", add("EmailMessage", "RelatedToId", nil), inside, ""},
		"public task":                {"Case", add("Task", "WhatId", Row{"IsVisibleInSelfService": true}), outside, ""},
		"internal task":              {"Case", add("Task", "WhatId", nil), inside, ""},
		"task of a person":           {"Lead", add("Task", "WhoId", nil), inside, ""},
		"file for all":               {"Case", file("AllUsers"), outside, outside},
		"file for users inside":      {"Case", file("InternalUsers"), outside, inside},
		"file for those shared with": {"Case", file("SharedUsers"), outside, inside},
		"both":                       {"Case", func(c *company, r string) { add("CaseComment", "ParentId", nil)(c, r); file("AllUsers")(c, r) }, inside, outside},
		"tasks private outside": {"Case", func(c *company, r string) {
			c.SetDefault("Task", "ControlledByParent", "Private")
			add("Task", "WhatId", Row{"IsVisibleInSelfService": true})(c, r)
		}, inside, ""},
		"field that tells is missing": {"Case", func(c *company, r string) {
			add("CaseComment", "ParentId", Row{"IsPublished": true})(c, r)
			c.withoutField("CaseComment", "IsPublished")
		}, inside, ""},
	}
	for name, try := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := newCompany(t, "Account", "Case", "Lead")
			c.SetDefault(try.object, "Private", "Private")
			record := c.Add(try.object, Row{"OwnerId": c.joe})
			c.Share(record, c.partner, nil)
			try.change(c, record)
			source := c.open(t, map[string]any{"include_permissions": true, "includeFiles": true})
			got := readersOf(t, source)
			expect := func(item, want string) {
				t.Helper()
				if found := names(got[item]); found != want {
					t.Errorf("the readers of %s are %q, want %q", item, found, want)
				}
				// Without a walk before.
				fresh := c.open(t, map[string]any{"include_permissions": true, "includeFiles": true})
				if found := names(readersOfItems(t, fresh, []connectors.Item{{ID: item, Size: -1}})[item]); found != want {
					t.Errorf("by itself, the readers of %s are %q, want %q", item, found, want)
				}
			}
			expect(try.object+"/"+record, try.want)
			if try.file != "" {
				document := c.Find("ContentDocumentLink", "LinkedEntityId", record)[0]
				expect(try.object+"/"+record+"/"+c.Value(document, "ContentDocumentId"), try.file)
			}
		})
	}
}

// withoutField takes a field from an object.
func (c *company) withoutField(object, name string) {
	c.Alter(object, func(o *Object) {
		o.Fields = slices.DeleteFunc(o.Fields, func(f Field) bool { return f.Name == name })
	})
}

// A comment that becomes internal, or public, changes the readers with the next sync.
func TestReadersFollowInternalComments(t *testing.T) {
	t.Parallel()
	c := newCompany(t, "Case")
	c.SetDefault("Case", "Private", "Private")
	ticket := c.Add("Case", Row{"Subject": "Leak", "OwnerId": c.partner})
	comment := c.Add("CaseComment", Row{"ParentId": ticket, "CommentBody": "Hello", "IsPublished": true})
	source := c.open(t, map[string]any{"objects": []any{"Case"}, "include_permissions": true})
	token := present(t, source)
	if got := names(readersOf(t, source)["Case/"+ticket]); got != "admin partner" {
		t.Errorf("at first, the readers are %q", got)
	}
	for _, published := range []bool{false, true} {
		c.Advance(time.Hour)
		c.Change(comment, Row{"IsPublished": published})
		page, err := source.(connectors.Feeder).Changes(t.Context(), token)
		if err != nil || !slices.Contains(page.Permissions, "Case/"+ticket) {
			t.Fatalf("the changes are %+v, %v", page, err)
		}
		token = page.Next
		want := map[bool]string{false: "admin", true: "admin partner"}[published]
		if got := names(readersOfItems(t, source, page.Items)["Case/"+ticket]); got != want {
			t.Errorf("published %v: the readers are %q, want %q", published, got, want)
		}
	}
}

// Fields of comments, mails and tasks have field-level security as well. Fields that users
// outside do not see leave them out, and not the fields.
func TestFieldsOfChildrenThatNotEverybodySeesAreLeftOut(t *testing.T) {
	t.Parallel()
	c := newCompany(t, "Case")
	c.SetDefault("Case", "Read", "Read")
	for _, name := range []string{"Task", "EmailMessage"} {
		c.Alter(name, func(o *Object) {
			for i := range o.Fields {
				o.Fields[i].Restricted = slices.Contains([]string{"Description", "Subject", "TextBody", "OwnerId"}, o.Fields[i].Name)
			}
		})
	}
	ticket := c.Add("Case", Row{"Subject": "Leak"})
	c.Add("Task", Row{"WhatId": ticket, "Subject": "Call Ann", "Description": "Ask about the merger", "IsVisibleInSelfService": true})
	c.Add("EmailMessage", Row{"ParentId": ticket, "Subject": "Re: leak", "TextBody": "The secret price", "FromName": "Ann"})
	people := []string{c.Reader, c.boss, c.ada, c.bob, c.joe, c.sue, c.admin}
	fields := c.AddFieldPermissions(people, "Task.Subject", "Task.Description", "Task.OwnerId", "EmailMessage.Subject", "EmailMessage.TextBody")
	config := map[string]any{"objects": []any{"Case"}, "include_permissions": true}
	const id = "Case/"
	read := func() (connectors.Item, []string, string) {
		source := c.open(t, config)
		items, warnings := walk(t, source)
		return items[id+ticket], warnings, names(readersOf(t, source)[id+ticket])
	}
	all, warnings, readers := read()
	if text := string(all.Content); !strings.Contains(text, "merger") || !strings.Contains(text, "secret price") || len(warnings) != 0 || readers != "ada admin bob boss joe reader sue" {
		t.Errorf("where all users inside see the fields, the warnings are %q, the readers %q:\n%s", warnings, readers, text)
	}
	c.AddFieldPermissions([]string{c.partner}, "Task.Subject", "Task.Description", "Task.OwnerId", "EmailMessage.Subject", "EmailMessage.TextBody")
	if _, _, readers := read(); readers != "ada admin bob boss joe partner reader sue" {
		t.Errorf("where users outside see the fields, too, the readers are %q", readers)
	}
	for _, id := range c.Find("FieldPermissions", "ParentId", fields) {
		if name := c.Value(id, "Field"); name == "Task.Description" || name == "EmailMessage.TextBody" || name == "Task.OwnerId" {
			c.Remove(id)
		}
	}
	less, warnings, _ := read()
	text := string(less.Content)
	if strings.Contains(text, "merger") || strings.Contains(text, "secret price") || !strings.Contains(text, "Call Ann") || !strings.Contains(text, "Re: leak") || strings.Contains(text, "Rea Der") {
		t.Errorf("the document is:\n%s", text)
	}
	if less.Version == all.Version || len(warnings) != 2 || !strings.Contains(strings.Join(warnings, " "), "Task, so they are left out: Description, Owner.Name.") {
		t.Errorf("the versions are %q and %q, the warnings %q", all.Version, less.Version, warnings)
	}
	config["fields"] = []any{"Task: Description"}
	if named, _, _ := read(); !strings.Contains(string(named.Content), "merger") || strings.Contains(string(named.Content), "secret price") {
		t.Errorf("with the field named, the document is:\n%s", named.Content)
	}
}
