package jira

import (
	"context"
	"errors"
	"regexp"
	"strings"

	"github.com/magpie-search/magpie/connectors"
	"github.com/magpie-search/magpie/connectors/atlassian"
)

const parallelLookups = 4

// Resolve implements [connectors.Resolver] for paths and ids.
func (s *source) Resolve(ctx context.Context, names []string) (found []connectors.Item, missing []string, err error) {
	if err := ctx.Err(); err != nil {
		return nil, nil, err
	}
	projects, err := s.selectedProjects(ctx)
	if err != nil {
		return nil, nil, err
	}
	hidden, _, _, err := s.compareProjects(ctx, projects)
	if err != nil {
		return nil, nil, err
	}
	return connectors.ResolveEach(ctx, names, parallelLookups, func(ctx context.Context, name string) ([]connectors.Item, error) {
		item, err := s.resolve(ctx, name)
		if errors.Is(err, connectors.ErrNotFound) && len(hidden) > 0 {
			return nil, nil // it may be in a project that is not shown: it is neither found nor missing
		}
		return []connectors.Item{item}, err
	})
}

// resolve returns the item with a name.
func (s *source) resolve(ctx context.Context, name string) (connectors.Item, error) {
	key, _ := parseID(name)
	if key == "" {
		segments := strings.SplitN(name, "/", 3)
		if len(segments) < 2 || len(name) > connectors.MaxIDBytes || !regexp.MustCompile(`^[A-Za-z][A-Za-z0-9_]*-[0-9]{1,18}$`).MatchString(segments[1]) {
			return connectors.Item{}, connectors.ErrNotFound
		}
		key = segments[1]
	}
	i, err := s.issueNamed(ctx, key, textFields(s.withComments, s.withFiles))
	if err != nil {
		return connectors.Item{}, err
	}
	s.rememberFacts([]issue{*i})
	matches, err := s.matchesJQL(ctx, []string{string(i.ID)})
	if err != nil {
		return connectors.Item{}, err
	}
	if !matches[string(i.ID)] {
		return connectors.Item{}, connectors.ErrNotFound
	}
	item := s.issueItem(i)
	if item.ID == name || item.Path == name {
		item.Content = s.content(i)
		return item, nil
	}
	for _, file := range s.fileItems(i) {
		if file.ID == name || file.Path == name {
			return file, nil
		}
	}
	return connectors.Item{}, connectors.ErrNotFound
}

// maxReconciled is the number of issues that a search takes from the database, and
// not from its index.
const maxReconciled = 50

// matchesJQL returns which of some existing issues match the person's JQL, at most
// maxReconciled.
func (s *source) matchesJQL(ctx context.Context, ids []string) (map[string]bool, error) {
	matches := map[string]bool{}
	if s.jql == "" {
		for _, id := range ids {
			matches[id] = true
		}
		return matches, nil
	}
	q := query{base: s.base, reconcile: ids}.with("%s", inIDs(ids))
	match := func(found []entry) error {
		for _, i := range found {
			matches[string(i.ID)] = true
		}
		return nil
	}
	err := searchAll(ctx, s.api, q, []string{"updated"}, maxReconciled, match)
	if errors.Is(err, errQuery) && s.api.Site.Cloud {
		q.reconcile = nil // it may not know this
		err = searchAll(ctx, s.api, q, []string{"updated"}, maxReconciled, match)
	}
	return matches, err
}

// An entry is an issue of which little is requested.
type entry struct {
	ID     identifier
	Fields struct {
		Project    project
		Updated    atlassian.Timestamp
		Attachment []struct{ ID identifier }
	}
}
