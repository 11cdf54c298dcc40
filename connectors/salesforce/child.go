package salesforce

import (
	"context"
	"fmt"
	"strings"
	"time"
)

// A child is an entry in the document of its record.
type child struct {
	id, kind, author, title, text string
	created, changed              time.Time
}

// A childKind is a sort of children of an object.
type childKind struct {
	object, parent string // the object, and its field with the id of the record
	label          string
	fields         []string
	read           func(r row) child
}

// childKinds returns the children that documents of an object have.
func (s *source) childKinds(ctx context.Context, o *object) ([]childKind, error) {
	if o.isKnowledge() {
		return nil, nil
	}
	var kinds []childKind
	isPerson := o.Name == "Contact" || o.Name == "Lead"
	if s.settings.Boolean(optionComments) && o.Name == "Case" {
		kinds = append(kinds, childKind{
			object: "CaseComment", parent: "ParentId", label: "Comment", fields: []string{"CommentBody", "CreatedDate", "CreatedBy.Name"},
			read: func(r row) child {
				return child{author: r.text("CreatedBy.Name"), text: r.text("CommentBody"), created: r.time("CreatedDate")}
			},
		})
	}
	if s.settings.Boolean(optionEmails) && !isPerson {
		parent := "RelatedToId"
		if o.Name == "Case" {
			parent = "ParentId"
		}
		kinds = append(kinds, childKind{
			object: "EmailMessage", parent: parent, label: "Mail", fields: []string{"Subject", "TextBody", "HtmlBody", "FromAddress", "FromName", "ToAddress", "MessageDate", "CreatedDate"},
			read: readEmail,
		})
	}
	if s.settings.Boolean(optionTasks) {
		parent := "WhatId"
		if isPerson {
			parent = "WhoId"
		}
		kinds = append(kinds, childKind{
			object: "Task", parent: parent, label: "Task", fields: []string{"Subject", "Description", "Status", "ActivityDate", "CreatedDate", "Owner.Name"},
			read: func(r row) child {
				title := strings.TrimSpace(r.text("Subject"))
				if status := r.text("Status"); status != "" {
					title = strings.TrimSpace(title + " (" + strings.Trim(status+", "+r.text("ActivityDate"), ", ") + ")")
				}
				return child{author: r.text("Owner.Name"), title: title, text: r.text("Description"), created: r.time("CreatedDate")}
			},
		})
	}
	return s.sharedChildren(ctx, kinds)
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
	return table{
		query: selection{
			fields: append([]string{"Id", "SystemModstamp", kind.parent}, kind.fields...), object: kind.object, where: []string{in(kind.parent, ids)},
		},
		absent: func() { s.markAbsent(kind.object) },
		visit: func(r row) error {
			owner := byID[r.text(kind.parent)]
			c := kind.read(r)
			c.id, c.kind, c.changed = r.text("Id"), kind.label, r.time("SystemModstamp")
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

// sharedChildren returns the children that everybody who reads the record may read.
func (s *source) sharedChildren(ctx context.Context, kinds []childKind) ([]childKind, error) {
	var models map[string]string
	if s.imports && len(kinds) > 0 {
		rules, err := s.rules(ctx)
		if err != nil {
			return nil, err
		}
		models = rules.models
	}
	var shared []childKind
	for _, kind := range kinds {
		if s.isAbsent(kind.object) {
			continue
		}
		// Comments of cases have no sharing of their own.
		if model := models[kind.object]; s.imports && kind.object != "CaseComment" && model != controlledByParent && !isPublic(model) {
			s.warn(fmt.Sprintf("The organization shares %s by rules of their own, which documents of records cannot express; they are left out.", kind.object))
			continue
		}
		shared = append(shared, kind)
	}
	return shared, nil
}
