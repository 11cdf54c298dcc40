package jira

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"

	"github.com/magpie-search/magpie/connectors"
	"github.com/magpie-search/magpie/connectors/atlassian"
	"github.com/magpie-search/magpie/connectors/restapi"
)

// The readers of an issue hold the permission to browse its project and, if the
// issue has a security level, belong to the level. Either list names people,
// groups, roles of the project, or fields of the issue. If a list cannot be read,
// nobody reads the issue.

// holders are those who hold a permission.
type holders struct {
	list     atlassian.AllowList
	everyone bool // visitors without an account, too
	// reporter and assignee say that the issue's are holders, fields the custom fields
	// with further people and groups.
	reporter, assignee bool
	fields             []string
	// unknown says that the list cannot be read.
	unknown bool
}

// facts are what decides about the readers of an issue.
type facts struct {
	project, level     string
	reporter, assignee string
	fields             map[string]atlassian.AllowList // custom fields, nil if they were not read
}

const maxFacts = 100_000

// rememberFacts stores what Readers needs.
func (s *source) rememberFacts(issues []issue) {
	if !s.importsPermissions {
		return
	}
	s.mutex.Lock()
	defer s.mutex.Unlock()
	if len(s.facts) > maxFacts {
		clear(s.facts)
	}
	for i := range issues {
		found := &issues[i]
		s.facts[string(found.ID)] = newFacts(found.Fields.Project, found.Fields.Security, found.Fields.Reporter, found.Fields.Assignee)
	}
}

func newFacts(p project, level *named, reporter, assignee *user) facts {
	f := facts{project: string(p.ID), reporter: reporter.id(), assignee: assignee.id()}
	if level != nil {
		if f.level = string(level.ID); f.level == "" {
			f.level = atlassian.UnknownEntry
		}
	}
	return f
}

// resetReaders deletes what is known about readers. The caller holds the mutex.
func (s *source) resetReaders() {
	s.browsers, s.levels, s.roles = map[string]*holders{}, map[string]*holders{}, map[string]*holders{}
	s.schemes, s.public, s.byApplication, s.applications = map[string]string{}, map[string]bool{}, map[string][]string{}, nil
}

// Readers implements [connectors.PermissionLister].
func (s *source) Readers(ctx context.Context, items []connectors.Item) (map[string]connectors.Readers, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	projects, err := s.selectedProjects(ctx)
	if err != nil {
		return nil, err
	}
	ids := map[string]bool{}
	for _, item := range items {
		if id, _ := parseID(item.ID); id != "" {
			ids[id] = true
		}
	}
	byIssue, err := s.factsOf(ctx, ids, nil)
	if err != nil {
		return nil, err
	}
	if err := s.readFields(ctx, projects, byIssue); err != nil {
		return nil, err
	}
	listed := map[string]*connectors.Readers{} // nil for nobody
	readers := make(map[string]connectors.Readers, len(items))
	for _, item := range items {
		id, _ := parseID(item.ID)
		f, found := byIssue[id]
		if !found {
			continue
		}
		if _, done := listed[id]; !done {
			if listed[id], err = s.issueReaders(ctx, projects, f); err != nil {
				return nil, err
			}
		}
		if r := listed[id]; r != nil {
			readers[item.ID] = *r
		}
	}
	return readers, nil
}

// factsOf returns the facts of issues. With fields, it reads those custom fields.
func (s *source) factsOf(ctx context.Context, ids map[string]bool, fields []string) (map[string]facts, error) {
	found := map[string]facts{}
	var missing []string
	s.mutex.Lock()
	for id := range ids {
		f, known := s.facts[id]
		if known && (fields == nil || f.fields != nil) {
			found[id] = f
		} else {
			missing = append(missing, id)
		}
	}
	s.mutex.Unlock()
	slices.SortFunc(missing, compareIDs)
	for batch := range slices.Chunk(missing, issuesByID) {
		rows, _, err := byID[factRow](ctx, s.api, batch, append([]string{"project", "security", "reporter", "assignee"}, fields...))
		if err != nil {
			return nil, err
		}
		for _, row := range rows {
			f, err := row.facts(fields)
			if err != nil || !isID(string(row.ID)) {
				return nil, s.api.ErrInvalid("an issue")
			}
			found[string(row.ID)] = f
		}
	}
	return found, nil
}

type factRow struct {
	ID     identifier
	Fields map[string]json.RawMessage
}

func (r factRow) facts(fields []string) (facts, error) {
	var p project
	var level *named
	var reporter, assignee *user
	for name, out := range map[string]any{"project": &p, "security": &level, "reporter": &reporter, "assignee": &assignee} {
		if raw, exists := r.Fields[name]; exists {
			if err := json.Unmarshal(raw, out); err != nil {
				return facts{}, err
			}
		}
	}
	if p.ID == "" {
		return facts{}, errors.New("an issue without a project")
	}
	f := newFacts(p, level, reporter, assignee)
	if fields != nil {
		f.fields = map[string]atlassian.AllowList{}
	}
	for _, name := range fields {
		f.fields[name] = pickedIn(r.Fields[name])
	}
	return f, nil
}

// pickedIn returns the people and groups in a custom field: one of them or a list.
func pickedIn(raw json.RawMessage) atlassian.AllowList {
	type picked struct{ AccountID, Key, Name, GroupID, DisplayName, EmailAddress string }
	var several []picked
	if json.Unmarshal(raw, &several) != nil {
		var one *picked
		if json.Unmarshal(raw, &one) != nil || one == nil {
			return atlassian.AllowList{}
		}
		several = []picked{*one}
	}
	var list atlassian.AllowList
	for _, p := range several {
		switch {
		case p.AccountID != "" || p.Key != "" || p.DisplayName+p.EmailAddress != "":
			// The name of a person is never taken for that of a group.
			if id := (&user{AccountID: p.AccountID, Key: p.Key, Name: p.Name}).id(); id != "" {
				list.Users = append(list.Users, id)
			}
		case p.GroupID != "":
			list.Groups = append(list.Groups, p.GroupID)
		case p.Name != "":
			list.Groups = append(list.Groups, strings.ToLower(p.Name))
		}
	}
	return list
}

// holdersOf returns the lists of holders that the readers of an issue are all on.
func (s *source) holdersOf(ctx context.Context, projects []project, f facts) ([]*holders, error) {
	i := slices.IndexFunc(projects, project{ID: identifier(f.project), Key: f.project}.is)
	if i < 0 {
		return []*holders{{unknown: true}}, nil
	}
	browsers, err := s.projectBrowsers(ctx, projects[i])
	if err != nil || f.level == "" {
		return []*holders{browsers}, err
	}
	level, err := s.levelHolders(ctx, projects[i], f.level)
	return []*holders{browsers, level}, err
}

// readFields adds the custom fields that decide about the readers of issues.
func (s *source) readFields(ctx context.Context, projects []project, byIssue map[string]facts) error {
	var fields []string
	ids := map[string]bool{}
	for _, id := range slices.SortedFunc(maps.Keys(byIssue), compareIDs) {
		lists, err := s.holdersOf(ctx, projects, byIssue[id])
		if err != nil {
			return err
		}
		for _, h := range lists {
			if fields = append(fields, h.fields...); len(h.fields) > 0 {
				ids[id] = true
			}
		}
	}
	if len(ids) == 0 {
		return nil
	}
	slices.Sort(fields)
	found, err := s.factsOf(ctx, ids, slices.Compact(fields))
	for id := range ids {
		if f, exists := found[id]; exists {
			byIssue[id] = f
		} else {
			delete(byIssue, id)
		}
	}
	return err
}

// issueReaders returns the readers of an issue, nil for nobody.
func (s *source) issueReaders(ctx context.Context, projects []project, f facts) (*connectors.Readers, error) {
	sets, err := s.holdersOf(ctx, projects, f)
	if err != nil {
		return nil, err
	}
	var lists []atlassian.AllowList
	for _, h := range sets {
		if h.everyone {
			continue
		}
		list := h.of(f)
		if h.unknown || list.Empty() {
			return nil, nil //nolint:nilnil // nobody reads it
		}
		lists = append(lists, list)
	}
	readers, err := s.readers.Intersect(ctx, lists)
	if err != nil {
		return nil, err
	}
	return &readers, nil
}

// of returns the holders for an issue.
func (h *holders) of(f facts) atlassian.AllowList {
	list := atlassian.AllowList{Users: slices.Clone(h.list.Users), Groups: slices.Clone(h.list.Groups)}
	if h.reporter && f.reporter != "" {
		list.Users = append(list.Users, f.reporter)
	}
	if h.assignee && f.assignee != "" {
		list.Users = append(list.Users, f.assignee)
	}
	for _, name := range h.fields {
		list.Users = append(list.Users, f.fields[name].Users...)
		list.Groups = append(list.Groups, f.fields[name].Groups...)
	}
	list.Normalize()
	return list
}

// projectBrowsers returns those who may browse a project.
func (s *source) projectBrowsers(ctx context.Context, p project) (*holders, error) {
	return s.cached(func() map[string]*holders { return s.browsers }, string(p.ID), func() (*holders, error) {
		h, err := s.readBrowsers(ctx, p)
		if isUnreadable(err) {
			s.addWarning("Jira does not tell who may browse the project " + p.Key + "; nobody finds its issues until the account may administer the project.")
			return &holders{unknown: true}, nil
		}
		if err == nil && !h.everyone && !h.reporter && !h.assignee && len(h.fields) == 0 && h.list.Empty() {
			s.addWarning("Jira does not name anybody who may browse the project " + p.Key + "; nobody finds its issues.")
		}
		return h, err
	})
}

// isUnreadable reports whether the account lacks the right to read something.
func isUnreadable(err error) bool {
	return restapi.StatusOf(err) == http.StatusForbidden || isAbsent(err) || lacksScope(err)
}

func permissionError(err error, key string) error {
	if lacksScope(err) {
		return connectors.NeedsAuth(fmt.Errorf("the token lacks a scope; permissions need read:jira-work and manage:jira-configuration: %w", err))
	}
	if isUnreadable(err) {
		return connectors.NeedsAuth(fmt.Errorf("the account may not read the permissions of %s; it needs the permission \"Administer projects\" there, or \"Administer Jira\": %w", key, err))
	}
	return err
}

// cached returns an entry of a table, which make makes once.
func (s *source) cached(table func() map[string]*holders, key string, read func() (*holders, error)) (*holders, error) {
	s.mutex.Lock()
	known := table()[key]
	s.mutex.Unlock()
	if known != nil {
		return known, nil
	}
	h, err := read()
	if err != nil {
		return nil, err
	}
	s.mutex.Lock()
	defer s.mutex.Unlock()
	table()[key] = h
	return h, nil
}
