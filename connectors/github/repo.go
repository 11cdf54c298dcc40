package github

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/magpie-search/magpie/connectors"
	"github.com/magpie-search/magpie/connectors/restapi"
)

const (
	maxRepos         = 5000
	maxMissingChecks = 20 // repositories that are checked after they disappeared from a list
	walkKey          = "walk"
)

// A repo is a repository.
type repo struct {
	ID             int64  `json:"id"`
	FullName       string `json:"full_name"`
	HTMLURL        string `json:"html_url"`
	DefaultBranch  string `json:"default_branch"`
	Archived       bool   `json:"archived"`
	Fork           bool   `json:"fork"`
	HasIssues      bool   `json:"has_issues"`
	HasWiki        bool   `json:"has_wiki"`
	HasDiscussions bool   `json:"has_discussions"`
}

// UnmarshalJSON implements [json.Unmarshaler]. A response without an id, name
// or flags is an error: as a repository, it would seem to be empty.
func (r *repo) UnmarshalJSON(data []byte) error {
	type plain repo
	var decoded struct {
		*plain
		HasIssues *bool `json:"has_issues"`
		HasWiki   *bool `json:"has_wiki"`
	}
	decoded.plain = (*plain)(r)
	if err := json.Unmarshal(data, &decoded); err != nil {
		return err
	}
	if r.ID <= 0 || r.FullName == "" || decoded.HasIssues == nil || decoded.HasWiki == nil {
		return errors.New("not a repository")
	}
	r.HasIssues, r.HasWiki = *decoded.HasIssues, *decoded.HasWiki
	return nil
}

func (r repo) path(rest string) string { return "repos/" + r.FullName + rest }

func (r repo) owner() string { owner, _, _ := strings.Cut(r.FullName, "/"); return owner }

// stateKey returns the key, or prefix of keys, of a part of the repository's
// state.
func (r repo) stateKey(name string) string { return name + "/" + strconv.FormatInt(r.ID, 10) + "/" }

func (r repo) validate() error {
	p, ok := parseSelector(r.FullName)
	if !ok || p.isAll() || r.ID <= 0 {
		return connectors.Retryable(errors.New("GitHub names a repository that cannot be; check config.apiUrl"), 0)
	}
	return nil
}

// hashedKey returns a key for texts of any length.
func hashedKey(kind string, texts ...string) string {
	sum := sha256.Sum256([]byte(strings.ToLower(strings.Join(texts, "\n"))))
	return kind + "/" + hex.EncodeToString(sum[:12])
}

// listRepos returns the repositories of the config, sorted by id. It is an
// error if a named one cannot be reached: GitHub answers alike for deleted
// repositories and for missing rights, and documents must not be deleted
// because rights are missing.
func (s *source) listRepos(ctx context.Context) (repos []repo, warnings []string, err error) {
	for _, p := range s.config.repos {
		var selected []repo
		if p.isAll() {
			selected, err = s.ownerRepos(ctx, p.owner)
		} else {
			var r repo
			if r, err = s.getRepo(ctx, p.owner+"/"+p.name); err == nil && !strings.EqualFold(r.FullName, p.owner+"/"+p.name) {
				warnings = append(warnings, fmt.Sprintf("The repository %s/%s is called %s now; correct config.%s.", p.owner, p.name, r.FullName, optionRepos))
			}
			selected = []repo{r}
		}
		if err != nil {
			return nil, nil, err
		}
		repos = append(repos, selected...)
	}
	slices.SortFunc(repos, func(a, b repo) int { return cmp.Compare(a.ID, b.ID) })
	repos = slices.CompactFunc(repos, func(a, b repo) bool { return a.ID == b.ID })
	for _, r := range repos {
		if err := r.validate(); err != nil {
			return nil, nil, err
		}
	}
	s.mutex.Lock()
	s.listed = repos
	s.mutex.Unlock()
	return repos, warnings, nil
}

func errUnreachable(name string) error {
	return connectors.Fatal(fmt.Errorf("GitHub has no repository %s, or the credentials do not reach it; correct config.%s or give them access", name, optionRepos))
}

// getRepo returns a repository. GitHub redirects from an old name to the new
// one.
func (s *source) getRepo(ctx context.Context, name string) (repo, error) {
	r, _, _, err := getCached[repo](ctx, s, hashedKey("repo", name), restapi.Request{Path: "repos/" + name}, nil)
	switch {
	case errors.Is(err, connectors.ErrNotFound):
		return repo{}, errUnreachable(name)
	case err != nil:
		return repo{}, fmt.Errorf("ask for the repository %s: %w", name, err)
	}
	return r, nil
}

// ownerRepos returns all repositories of an owner that the credentials reach.
func (s *source) ownerRepos(ctx context.Context, owner string) ([]repo, error) {
	lists, err := s.ownerLists(ctx, owner)
	if err != nil {
		return nil, fmt.Errorf("list the repositories of %s: %w", owner, err)
	}
	var repos []repo
	for _, list := range lists {
		first := list.Query
		number := 0
		err := restapi.AllPages("GitHub", "the repositories of "+owner, maxRepos, func(cursor string) (next string, err error) {
			number++
			if list.Query = first; cursor != "" {
				list.Query = pageQuery(cursor)
			}
			page, next, err := s.repoPage(ctx, hashedKey("repos", owner, list.Path, strconv.Itoa(number)), list)
			if err != nil {
				return "", err
			}
			if cursor != "" && len(page) == 0 {
				return "", connectors.Retryable(errors.New("GitHub names a next page, on which there is nothing"), 0)
			}
			for _, r := range page {
				if strings.EqualFold(r.owner(), owner) && s.config.includesRepo(r) {
					repos = append(repos, r)
				}
			}
			if len(repos) > maxRepos {
				return "", connectors.Fatal(fmt.Errorf("%s has more than %d repositories; name those to take in config.%s", owner, maxRepos, optionRepos))
			}
			return next, nil
		})
		if err != nil {
			return nil, fmt.Errorf("list the repositories of %s: %w", owner, err)
		}
	}
	if len(repos) == 0 {
		return nil, connectors.Fatal(fmt.Errorf("the credentials reach no repository of %s; correct config.%s or give them access", owner, optionRepos))
	}
	return repos, nil
}

// ownerLists returns the requests for the lists with an owner's repositories.
func (s *source) ownerLists(ctx context.Context, owner string) ([]restapi.Request, error) {
	list := func(path string, params ...string) restapi.Request {
		query := url.Values{"per_page": {"100"}}
		for i := 0; i+1 < len(params); i += 2 {
			query.Set(params[i], params[i+1])
		}
		return restapi.Request{Path: path, Query: query}
	}
	if s.byApp {
		return []restapi.Request{list("installation/repositories")}, nil
	}
	type account struct {
		Login string `json:"login"`
		Type  string `json:"type"`
	}
	user, _, _, err := getCached[account](ctx, s, hashedKey("user", owner), restapi.Request{Path: "users/" + owner, RequiredFields: []string{"login", "type"}}, nil)
	switch {
	case errors.Is(err, connectors.ErrNotFound):
		return nil, connectors.Fatal(fmt.Errorf("GitHub has no owner of this name; correct config.%s", optionRepos))
	case err != nil:
		return nil, err
	case user.Type == "Organization":
		return []restapi.Request{list("orgs/"+owner+"/repos", "type", "all")}, nil
	}
	me, _, _, err := getCached[account](ctx, s, "me", restapi.Request{Path: "user", RequiredFields: []string{"login"}}, nil)
	if err != nil {
		return nil, err
	}
	if strings.EqualFold(me.Login, owner) {
		return []restapi.Request{list("user/repos", "affiliation", "owner")}, nil
	}
	return []restapi.Request{list("users/"+owner+"/repos", "type", "owner"), list("user/repos", "affiliation", "collaborator")}, nil
}

// repoPage returns a page of a list, which has one of two forms.
func (s *source) repoPage(ctx context.Context, note string, r restapi.Request) (repos []repo, next string, err error) {
	if r.Path == "installation/repositories" {
		type repoList struct {
			Repositories []repo `json:"repositories"`
		}
		r.RequiredFields = []string{"repositories"}
		page, next, _, err := getCached[repoList](ctx, s, note, r, nil)
		return page.Repositories, next, err
	}
	repos, next, _, err = getCached[[]repo](ctx, s, note, r, nil)
	return repos, next, err
}

// walkRepos returns the repositories of a walk. They are listed at its start
// and saved for the other processes that continue it.
func (s *source) walkRepos(ctx context.Context, start bool) (repos []repo, warnings []string, err error) {
	if !start {
		if repos, err = s.savedRepos(ctx); err != nil || len(repos) > 0 {
			return repos, nil, err
		}
	}
	var before []repo
	if _, err := connectors.GetJSON(ctx, s.state, walkKey, &before); err != nil {
		return nil, nil, err
	}
	if repos, warnings, err = s.listRepos(ctx); err != nil {
		return nil, nil, err
	}
	if start {
		missing, err := s.checkMissingRepos(ctx, before, repos)
		if err != nil {
			return nil, nil, err
		}
		warnings = append(warnings, missing...)
	}
	if err := connectors.PutJSON(ctx, s.state, walkKey, repos); err != nil {
		return nil, nil, err
	}
	s.mutex.Lock()
	s.walked = repos
	s.mutex.Unlock()
	return repos, warnings, nil
}

// savedRepos returns the repositories of the last walk.
func (s *source) savedRepos(ctx context.Context) ([]repo, error) {
	s.mutex.Lock()
	repos := s.walked
	s.mutex.Unlock()
	if len(repos) > 0 {
		return repos, nil
	}
	if _, err := connectors.GetJSON(ctx, s.state, walkKey, &repos); err != nil {
		return nil, err
	}
	for _, r := range repos {
		if r.validate() != nil {
			return nil, nil
		}
	}
	s.mutex.Lock()
	defer s.mutex.Unlock()
	s.walked = repos
	return repos, nil
}

// checkMissingRepos checks the repositories that an owner's list no longer has.
// If one still exists, the list is incomplete.
func (s *source) checkMissingRepos(ctx context.Context, before, now []repo) (warnings []string, err error) {
	checks := 0
	for _, old := range before {
		if slices.ContainsFunc(now, func(r repo) bool { return r.ID == old.ID }) {
			continue
		}
		if err := s.deleteState(ctx, old); err != nil {
			return nil, err
		}
		if checks == maxMissingChecks || !s.coversName(old.FullName) {
			continue
		}
		checks++
		var found repo
		_, err := s.api.JSON(ctx, restapi.Request{Path: old.path("")}, &found)
		switch {
		case errors.Is(err, connectors.ErrNotFound):
			warnings = append(warnings, fmt.Sprintf("The repository %s is gone, or the credentials do not reach it any more; its documents are deleted.", old.FullName))
		case err != nil:
			return nil, fmt.Errorf("ask for the repository %s: %w", old.FullName, err)
		case found.ID == old.ID && s.coversName(found.FullName) && s.config.includesRepo(found):
			return nil, connectors.Retryable(fmt.Errorf("GitHub's list of repositories lacks %s, which is there", found.FullName), 0)
		}
	}
	return warnings, nil
}

// deleteState deletes the state of a repository.
func (s *source) deleteState(ctx context.Context, r repo) error {
	if s.state == nil {
		return nil
	}
	for _, name := range []string{"branch", "tree", "threads", "wiki"} {
		if err := s.state.DeletePrefix(ctx, r.stateKey(name)); err != nil {
			return fmt.Errorf("delete the state of a repository: %w", err)
		}
	}
	return nil
}

// isNamed reports whether the config names a repository itself, and not only
// its owner. A renamed repository counts as named.
func (s *source) isNamed(r repo) bool {
	ofOwner := false
	for _, p := range s.config.repos {
		if !p.isAll() && strings.EqualFold(p.owner+"/"+p.name, r.FullName) {
			return true
		}
		ofOwner = ofOwner || p.isAll() && strings.EqualFold(p.owner, r.owner())
	}
	return !ofOwner || s.config.branch == ""
}

// coversName reports whether the config includes repositories of this name.
func (s *source) coversName(name string) bool {
	owner, rest, _ := strings.Cut(name, "/")
	return slices.ContainsFunc(s.config.repos, func(p repoSelector) bool {
		return strings.EqualFold(p.owner, owner) && (p.isAll() || strings.EqualFold(p.name, rest))
	})
}

// repoByID returns the connector's repository with an id.
func (s *source) repoByID(ctx context.Context, id int64) (repo, error) {
	repos, err := s.savedRepos(ctx)
	if err == nil && len(repos) == 0 {
		repos, _, err = s.listRepos(ctx)
	}
	if err != nil {
		return repo{}, err
	}
	if i := slices.IndexFunc(repos, func(r repo) bool { return r.ID == id }); i >= 0 {
		return repos[i], nil
	}
	return repo{}, fmt.Errorf("no repository of this connector: %w", connectors.ErrNotFound)
}

// isEmpty reports whether a repository has no commit.
func (s *source) isEmpty(ctx context.Context, r repo) (bool, error) {
	var commits []struct {
		SHA string `json:"sha"`
	}
	_, err := s.api.JSON(ctx, restapi.Request{Path: r.path("/commits"), Query: url.Values{"per_page": {"1"}}}, &commits)
	if restapi.StatusOf(err) == http.StatusConflict {
		return true, nil
	}
	if err == nil && (len(commits) == 0 || !isSHA(commits[0].SHA)) {
		err = connectors.Retryable(fmt.Errorf("GitHub lists commits of %s that cannot be; %s", r.FullName, checkAdvice), 0)
	}
	return false, err
}
