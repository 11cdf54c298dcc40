package jira

import (
	"context"
	"fmt"
	"slices"

	"github.com/magpie-search/magpie/connectors"
)

// Jira shows a project that an account may no longer browse as little as one that
// does not exist. Without projectKeys, the projects that had issues are remembered:
// if one is no longer shown, nothing of it is deleted.

const projectsKey = "projects"

// A listedProject is a project that had issues.
type listedProject struct {
	Key string `json:"k"`
	// Hidden says that the last walk did not see it.
	Hidden bool `json:"h,omitempty"`
}

// loadListed returns the projects that had issues, by id.
func (s *source) loadListed(ctx context.Context) (map[string]listedProject, error) {
	s.mutex.Lock()
	listed := s.listed
	s.mutex.Unlock()
	if listed != nil {
		return listed, nil
	}
	listed = map[string]listedProject{}
	if _, err := connectors.GetJSON(ctx, s.settings.State, projectsKey, &listed); err != nil {
		return nil, err
	}
	return listed, nil
}

func (s *source) saveListed(ctx context.Context, listed map[string]listedProject) error {
	if err := connectors.PutJSON(ctx, s.settings.State, projectsKey, listed); err != nil {
		return err
	}
	s.mutex.Lock()
	defer s.mutex.Unlock()
	s.listed = listed
	return nil
}

// rememberProjects adds the projects of issues to those that had some.
func (s *source) rememberProjects(ctx context.Context, issues []issue) error {
	if len(s.keys) > 0 {
		return nil
	}
	before, err := s.loadListed(ctx)
	if err != nil {
		return err
	}
	var added map[string]listedProject
	for i := range issues {
		p := issues[i].Fields.Project
		if before[string(p.ID)].Key != "" || added[string(p.ID)].Key != "" {
			continue
		}
		if added == nil {
			added = map[string]listedProject{}
		}
		added[string(p.ID)] = listedProject{Key: p.Key}
	}
	if added == nil {
		return nil
	}
	for id, p := range before {
		added[id] = p
	}
	return s.saveListed(ctx, added)
}

// compareProjects compares the projects that had issues with those that Jira shows.
// hidden are the ids of those that it does not show. changed says that the last walk
// saw one of them, or did not see one that is there again.
func (s *source) compareProjects(ctx context.Context, shown []project) (hidden []string, now map[string]listedProject, changed bool, err error) {
	if len(s.keys) > 0 {
		return nil, nil, false, nil
	}
	before, err := s.loadListed(ctx)
	if err != nil {
		return nil, nil, false, err
	}
	now = make(map[string]listedProject, len(before))
	for id, p := range before {
		isShown := slices.ContainsFunc(shown, func(other project) bool { return string(other.ID) == id })
		changed = changed || isShown == p.Hidden
		if p.Hidden = !isShown; p.Hidden {
			hidden = append(hidden, id)
			s.addWarning(fmt.Sprintf("Jira no longer shows the project %s to the account: it may have lost the right to browse it, or the project is archived or deleted. "+
				"None of its documents is deleted; to delete them, name the other projects in config.%s.", p.Key, optionProjects))
		}
		now[id] = p
	}
	slices.Sort(hidden)
	return hidden, now, changed, nil
}

// beginProjects returns the containers that a walk cannot list.
func (s *source) beginProjects(ctx context.Context, shown []project) ([]string, error) {
	if len(s.keys) > 0 {
		if s.settings.State == nil {
			return nil, nil
		}
		// Projects that are not named lose their documents.
		if err := s.settings.State.DeletePrefix(ctx, projectsKey); err != nil {
			return nil, fmt.Errorf("delete the list of projects: %w", err)
		}
		return nil, nil
	}
	hidden, now, changed, err := s.compareProjects(ctx, shown)
	if err == nil && changed {
		err = s.saveListed(ctx, now)
	}
	return hidden, err
}
