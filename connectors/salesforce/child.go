package salesforce

import (
	"fmt"
	"slices"
	"strings"
	"time"
)

// A child is an entry in the document of its record.
type child struct {
	id, kind, author, title, text string
	created, changed              time.Time
	internal                      bool // users outside may not see it
}

// A childKind is a sort of children of an object.
type childKind struct {
	object, parent string // the object, and its field with the id of the record
	label          string
	fields         []string
	// outside is the field that says whether users outside may see a child, "" if they
	// may see none.
	outside string
	read    func(r row) child
}

// selectedChildren returns the children that the settings select for documents of an
// object.
func (s *source) selectedChildren(o *object) []childKind {
	if o.isKnowledge() {
		return nil
	}
	var kinds []childKind
	isPerson := o.Name == "Contact" || o.Name == "Lead"
	if s.settings.Boolean(optionComments) && o.Name == "Case" {
		kinds = append(kinds, childKind{
			object: "CaseComment", parent: "ParentId", label: "Comment", fields: []string{"CommentBody", "CreatedDate", "CreatedBy.Name"}, outside: "IsPublished",
			read: func(r row) child {
				return child{author: r.text("CreatedBy.Name"), text: r.text("CommentBody"), created: r.time("CreatedDate")}
			},
		})
	}
	if s.settings.Boolean(optionEmails) && !isPerson {
		parent, outside := "RelatedToId", ""
		if o.Name == "Case" { // sites show mails of cases only
			parent, outside = "ParentId", "IsExternallyVisible"
		}
		kinds = append(kinds, childKind{
			object: "EmailMessage", parent: parent, label: "Mail", fields: []string{"Subject", "TextBody", "HtmlBody", "FromAddress", "FromName", "ToAddress", "MessageDate", "CreatedDate"},
			outside: outside, read: readEmail,
		})
	}
	if s.settings.Boolean(optionTasks) {
		parent := "WhatId"
		if isPerson {
			parent = "WhoId"
		}
		kinds = append(kinds, childKind{
			object: "Task", parent: parent, label: "Task", fields: []string{"Subject", "Description", "Status", "ActivityDate", "CreatedDate", "Owner.Name"},
			outside: "IsVisibleInSelfService",
			read: func(r row) child {
				title := strings.TrimSpace(r.text("Subject"))
				if status := r.text("Status"); status != "" {
					title = strings.TrimSpace(title + " (" + strings.Trim(status+", "+r.text("ActivityDate"), ", ") + ")")
				}
				return child{author: r.text("Owner.Name"), title: title, text: r.text("Description"), created: r.time("CreatedDate")}
			},
		})
	}
	return kinds
}

func readEmail(r row) child {
	c := child{title: r.text("Subject"), text: r.text("TextBody"), author: r.text("FromName"), created: r.time("MessageDate")}
	if strings.TrimSpace(c.text) == "" {
		c.text = htmlText(r.text("HtmlBody"))
	}
	if address := r.text("FromAddress"); address != "" && address != c.author {
		c.author = strings.TrimSpace(c.author + " <" + address + ">")
	}
	if to := r.text("ToAddress"); to != "" {
		c.author = strings.TrimSpace(c.author + " to " + to)
	}
	if c.created.IsZero() {
		c.created = r.time("CreatedDate")
	}
	return c
}

// childTable returns the table of the children of some records.
func (s *source) childTable(kind childKind, ids []string, byID map[string]*record) table {
	fields := append([]string{"Id", "SystemModstamp", kind.parent}, kind.fields...)
	if s.imports && kind.outside != "" {
		fields = append(fields, kind.outside)
	}
	return table{
		query:  selection{fields: fields, object: kind.object, where: []string{in(kind.parent, ids)}},
		absent: func() { s.markAbsent(kind.object) },
		visit: func(r row) error {
			owner := byID[r.text(kind.parent)]
			c := kind.read(r)
			c.id, c.kind, c.changed = r.text("Id"), kind.label, r.time("SystemModstamp")
			c.internal = kind.outside == "" || !r.flag(kind.outside)
			if owner == nil || c.changed.IsZero() {
				return errInvalid("a row of " + kind.object)
			}
			owner.children = append(owner.children, c)
			return nil
		},
	}
}

// markAbsent remembers that the organization does not have an object of children.
func (s *source) markAbsent(name string) {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	s.absent[name] = true
}

func (s *source) isAbsent(name string) bool {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	return s.absent[name]
}

// childKinds returns the children that documents of an object have.
func (s *source) childKinds(o *object) []childKind {
	var kinds []childKind
	for _, kind := range o.children {
		if !s.isAbsent(kind.object) {
			kinds = append(kinds, kind)
		}
	}
	return kinds
}

// restrictChildren takes from documents what not everybody sees who may read the object:
// children with sharing of their own, and fields. Users outside are left out of records
// with children that not all of them see, so that their rights do not matter here.
func (s *source) restrictChildren(rules *sharing, o *object) {
	var shared []childKind
	for _, kind := range o.children {
		described := rules.children[kind.object]
		if described == nil {
			continue // the organization does not have them, or does not show them
		}
		// Comments of cases have no sharing of their own.
		isShared := func(model string) bool {
			return kind.object == "CaseComment" || model == controlledByParent || isPublic(model)
		}
		if !isShared(rules.models[kind.object]) {
			s.warn(fmt.Sprintf("The organization shares %s by rules of their own, which documents of records cannot express; they are left out.", kind.object))
			continue
		}
		kind.fields = s.fieldsForAll(rules, o, kind)
		sees := func(field string) bool { return rules.allSee(o.Name, described, field, (*user).isOutside) }
		if !described.has(kind.outside) || !isShared(rules.external[kind.object]) || !sees(kind.outside) ||
			slices.ContainsFunc(kind.fields, func(field string) bool { return !sees(field) }) {
			kind.outside = ""
		}
		shared = append(shared, kind)
	}
	o.children = shared
}

// fieldsForAll returns the fields of children that all users inside see who may read the
// object, and those that the settings name.
func (s *source) fieldsForAll(rules *sharing, o *object, kind childKind) []string {
	described := rules.children[kind.object]
	var kept, lost []string
	for _, field := range kind.fields {
		switch {
		case !described.has(fieldKey(field)):
		case slices.Contains(s.fields[kind.object], field) || rules.allSee(o.Name, described, field, (*user).isInside):
			kept = append(kept, field)
		default:
			lost = append(lost, field)
		}
	}
	if len(lost) > 0 {
		o.lost = append(o.lost, kind.object+": "+strings.Join(lost, ","))
		s.warn(fmt.Sprintf("Not everybody who may read %s sees these fields of %s, so they are left out: %s. To include them for all readers, name them in config.%s.",
			o.Name, kind.object, strings.Join(lost, ", "), optionFields))
	}
	return kept
}
