package jira

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync"

	"github.com/magpie-search/magpie/connectors"
	"github.com/magpie-search/magpie/connectors/atlassian"
	"github.com/magpie-search/magpie/connectors/restapi"
)

// A source is an opened site.
type source struct {
	api                *api
	settings           connectors.Settings
	base               string // the settings' part of each query
	jql                string // the person's part
	keys               []string
	withComments       bool
	withFiles          bool
	excluded           map[string]bool // authors of comments, in lower case
	importsPermissions bool
	readers            *atlassian.Readers

	mutex          sync.Mutex // guards the fields below
	accountChecked bool
	projects       []project // nil until they are read
	warnings       []string
	warningSet     map[string]bool
	listed         map[string]listedProject // nil until they are read
	facts          map[string]facts         // of issues that were listed, by id
	browsers       map[string]*holders
	levels         map[string]*holders // by project and security level
	roles          map[string]*holders // by project and role
	schemes        map[string]string   // security schemes by project, "" for none
	applications   *holders            // nil until they are read
	byApplication  map[string][]string // groups
	public         map[string]bool     // by project
	addressOf      map[string]string   // by user, "" for a hidden address
	membersOf      map[string][]string // ids by group
}

func open(dial connectors.Dial, gateway string, s connectors.Settings) (*source, error) {
	site, err := product().Site(s)
	if err != nil {
		return nil, connectors.Fatal(err)
	}
	jql, err := clause(s.String(optionJQL))
	if err != nil {
		return nil, connectors.Fatal(&connectors.OptionError{Field: "config." + optionJQL, Message: err.Error()})
	}
	permissions, _ := s.IncludesPermissions()
	src := &source{
		api: &api{product().NewClient(site, gateway, dial, s)}, settings: s, jql: jql, keys: s.Strings(optionProjects),
		withComments: s.Boolean(optionComments), withFiles: s.Boolean(optionAttachments), excluded: map[string]bool{}, importsPermissions: permissions,
		warningSet: map[string]bool{}, addressOf: map[string]string{}, membersOf: map[string][]string{},
	}
	src.base = baseQuery(src.keys, jql)
	for _, name := range s.Strings(optionExcluded) {
		src.excluded[strings.ToLower(strings.TrimSpace(name))] = true
	}
	src.readers = &atlassian.Readers{State: s.State, People: src.people, Members: src.members}
	src.resetCaches()
	return src, nil
}

// resetCaches deletes what a new walk must request again.
func (s *source) resetCaches() {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	s.projects, s.listed, s.facts = nil, nil, map[string]facts{}
	s.resetReaders()
}

// addWarning adds a warning to the next page, once.
func (s *source) addWarning(text string) {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	if !s.warningSet[text] {
		s.warningSet[text] = true
		s.warnings = append(s.warnings, text)
	}
}

func (s *source) takeWarnings() []string {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	warnings := s.warnings
	s.warnings = nil
	return warnings
}

// checkAccount checks that the site knows the account. To unknown accounts, both
// deployments show public projects, which may be none. A token with scopes works at
// the gateway only, which is tried if the site refuses it.
func (s *source) checkAccount(ctx context.Context) error {
	s.mutex.Lock()
	checked := s.accountChecked
	s.mutex.Unlock()
	if checked {
		return nil
	}
	err := s.readAccount(ctx)
	if atlassian.IsRefused(err) && s.api.SwitchToGateway() {
		if s.readAccount(ctx) == nil {
			err = nil
		} else {
			s.api.SwitchBack()
		}
	}
	if isAbsent(err) || restapi.StatusOf(err) == http.StatusForbidden {
		// A proxy may serve the content only, and a token may lack the scope for users.
		_, _, err = search[entry](ctx, s.api, query{base: s.base, order: walkOrder}, []string{"id"}, 1, "")
	}
	switch {
	case isAbsent(err):
		return connectors.Fatal(fmt.Errorf("there is no Jira at config.%s; correct the address, with the path that issues have in front of /browse", atlassian.OptionURL))
	case err != nil:
		return err
	}
	s.mutex.Lock()
	defer s.mutex.Unlock()
	s.accountChecked = true
	return nil
}

func (s *source) readAccount(ctx context.Context) error {
	var me user
	if err := s.api.Get(ctx, s.api.path("myself"), nil, &me); err != nil {
		return scopeError(err)
	}
	if me.id() == "" {
		return s.api.ErrInvalid("an account")
	}
	return nil
}

// isAbsent reports whether a site does not have a part of the API.
func isAbsent(err error) bool {
	switch restapi.StatusOf(err) {
	case http.StatusNotFound, http.StatusMethodNotAllowed, http.StatusGone, http.StatusNotImplemented:
		return true
	}
	return false
}

// lacksScope reports whether a grant or token lacks a scope.
func lacksScope(err error) bool {
	failure, ok := errors.AsType[*restapi.StatusError](err)
	return ok && strings.Contains(strings.ToLower(string(failure.Body)), "scope does not match")
}

// scopeError names the scopes if a grant or token lacks one.
func scopeError(err error) error {
	if lacksScope(err) {
		return connectors.NeedsAuth(fmt.Errorf("the token lacks a scope; it needs read:jira-work and read:jira-user: %w", err))
	}
	return err
}

// selectedProjects returns the projects of the connector, after it checked the
// account.
func (s *source) selectedProjects(ctx context.Context) ([]project, error) {
	s.mutex.Lock()
	projects := s.projects
	s.mutex.Unlock()
	if projects != nil {
		return projects, nil
	}
	if err := s.checkAccount(ctx); err != nil {
		return nil, err
	}
	projects, err := s.readProjects(ctx)
	if err != nil {
		return nil, scopeError(err)
	}
	s.mutex.Lock()
	defer s.mutex.Unlock()
	s.projects = projects
	return projects, nil
}

func (s *source) readProjects(ctx context.Context) ([]project, error) {
	if len(s.keys) == 0 {
		all, err := s.api.projects(ctx, nil)
		if err == nil && len(all) == 0 {
			err = connectors.NeedsAuth(errors.New("the account does not see any project; give it the right to browse those that are to be found"))
		}
		return all, err
	}
	selected := []project{}
	for _, key := range s.keys {
		found, err := s.api.project(ctx, strings.ToUpper(key))
		if isAbsent(err) {
			found, err = s.projectByKey(ctx, strings.ToUpper(key))
		}
		switch {
		case errors.Is(err, connectors.ErrNotFound):
			return nil, connectors.NeedsAuth(fmt.Errorf("the project %q does not exist, or the account may not see it; give it the right to browse the project, or take it out of config.%s", key, optionProjects))
		case err != nil:
			return nil, err
		}
		selected = append(selected, found)
	}
	return selected, nil
}

// projectByKey looks for a project in the list of all projects. If there is no such
// list either, the site does not tell whether the project exists: the search does.
func (s *source) projectByKey(ctx context.Context, key string) (project, error) {
	found, err := s.api.projects(ctx, []string{key})
	if isAbsent(err) {
		issues, _, err := search[entry](ctx, s.api, query{base: "project in (" + quoted(key) + ")", order: walkOrder}, []string{"project"}, 1, "")
		if errors.Is(err, errQuery) {
			err = connectors.ErrNotFound
		}
		known := project{ID: identifier(key), Key: key}
		if len(issues) > 0 && known.is(issues[0].Fields.Project) {
			known.ID = issues[0].Fields.Project.ID
		}
		return known, err
	}
	if err != nil {
		return project{}, err
	}
	i := slices.IndexFunc(found, func(p project) bool { return strings.EqualFold(p.Key, key) })
	if i < 0 {
		return project{}, connectors.ErrNotFound
	}
	return found[i], nil
}

// isSelected reports whether an issue belongs to one of the projects. The person's
// JQL is not tested.
func isSelected(projects []project, found *issue) bool {
	return slices.ContainsFunc(projects, func(p project) bool { return p.is(found.Fields.Project) })
}

// Check implements [connectors.Source].
func (s *source) Check(ctx context.Context) error {
	projects, err := s.checkRead(ctx)
	if err != nil || !s.importsPermissions || len(projects) == 0 {
		return err
	}
	return s.checkPermissions(ctx, projects[0])
}

// CheckTiers implements [connectors.TierChecker].
func (s *source) CheckTiers(ctx context.Context) ([]connectors.Tier, error) {
	projects, err := s.checkRead(ctx)
	tiers := []connectors.Tier{{Name: connectors.TierRead, Err: err}}
	if s.importsPermissions && len(projects) > 0 {
		tiers = append(tiers, connectors.Tier{Name: connectors.TierPermissions, Err: s.checkPermissions(ctx, projects[0])})
	}
	return tiers, ctx.Err()
}

// checkRead checks the rights to read, and returns the projects.
func (s *source) checkRead(ctx context.Context) ([]project, error) {
	s.resetCaches()
	projects, err := s.selectedProjects(ctx)
	if err != nil {
		return nil, err
	}
	if _, _, err := search[issue](ctx, s.api, query{base: s.base, order: walkOrder}, factFields(false), 1, ""); err != nil {
		return nil, scopeError(err)
	}
	return projects, nil
}

// checkPermissions checks the rights that an import of permissions needs.
func (s *source) checkPermissions(ctx context.Context, p project) error {
	if _, err := s.readBrowsers(ctx, p); err != nil {
		return fmt.Errorf("read who may browse the project %s: %w", p.Key, permissionError(err, p.Key))
	}
	if _, _, err := s.api.groups(ctx, 0); err != nil {
		switch {
		case lacksScope(err):
			err = connectors.NeedsAuth(fmt.Errorf("the token lacks a scope; permissions need read:jira-user and manage:jira-configuration: %w", err))
		case isAbsent(err):
			return nil // groups are read from a server that has them
		case restapi.StatusOf(err) == http.StatusForbidden:
			err = connectors.NeedsAuth(errors.New("the account lacks the global permission \"Browse users and groups\"; an administrator grants it under System, Global permissions"))
		}
		return fmt.Errorf("read the groups: %w", err)
	}
	return nil
}

// Close implements [connectors.Source].
func (s *source) Close() error {
	s.api.Close()
	return nil
}
