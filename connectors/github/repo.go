package github

import (
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
	maxRepos  = 5000
	maxMissed = 20 // repositories asked after that a list no longer has
	walkNote  = "walk"
)

// repo is what is worth knowing of a repository.
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

// UnmarshalJSON implements [json.Unmarshaler]. What lacks its number or name, or
// does not say what it has, is no repository: it would be taken for an empty one.
func (r *repo) UnmarshalJSON(data []byte) error {
	type plain repo
	var read struct {
		*plain
		HasIssues *bool `json:"has_issues"`
		HasWiki   *bool `json:"has_wiki"`
	}
	read.plain = (*plain)(r)
	if err := json.Unmarshal(data, &read); err != nil {
		return err
	}
	if r.ID <= 0 || r.FullName == "" || read.HasIssues == nil || read.HasWiki == nil {
		return errors.New("it is no repository")
	}
	r.HasIssues, r.HasWiki = *read.HasIssues, *read.HasWiki
	return nil
}

func (r repo) path(rest string) string { return "repos/" + r.FullName + rest }

func (r repo) owner() string { owner, _, _ := strings.Cut(r.FullName, "/"); return owner }

// note names a note about a repository, or begins the names of several.
func (r repo) note(name string) string { return name + "/" + strconv.FormatInt(r.ID, 10) + "/" }

func (r repo) proper() error {
	p, ok := parsePattern(r.FullName)
	if !ok || p.all() || r.ID <= 0 {
		return connectors.Retryable(errors.New("GitHub names a repository that cannot be; check config.apiUrl"), 0)
	}
	return nil
}

// noteOf names a note after texts of any length.
func noteOf(kind string, texts ...string) string {
	sum := sha256.Sum256([]byte(strings.ToLower(strings.Join(texts, "\n"))))
	return kind + "/" + hex.EncodeToString(sum[:12])
}

// list asks for the repositories of the config, in the order of their ids. One
// that is named and not reached is an error: GitHub answers alike for what is
// gone and for what the credentials no longer reach, and its documents are not
// to vanish with an access.
func (s *source) list(ctx context.Context) (repos []repo, warnings []string, err error) {
	for _, p := range s.config.repos {
		var some []repo
		if p.all() {
			some, err = s.listOwner(ctx, p.owner)
		} else {
			var one repo
			if one, err = s.named(ctx, p.owner+"/"+p.name); err == nil && !strings.EqualFold(one.FullName, p.owner+"/"+p.name) {
				warnings = append(warnings, fmt.Sprintf("The repository %s/%s is called %s now; correct config.%s.", p.owner, p.name, one.FullName, optionRepos))
			}
			some = []repo{one}
		}
		if err != nil {
			return nil, nil, err
		}
		repos = append(repos, some...)
	}
	slices.SortFunc(repos, func(a, b repo) int { return int(min(max(a.ID-b.ID, -1), 1)) })
	repos = slices.CompactFunc(repos, func(a, b repo) bool { return a.ID == b.ID })
	for _, r := range repos {
		if err := r.proper(); err != nil {
			return nil, nil, err
		}
	}
	s.mutex.Lock()
	s.fresh = repos
	s.mutex.Unlock()
	return repos, warnings, nil
}

func unreached(name string) error {
	return connectors.Fatal(fmt.Errorf("GitHub has no repository %s, or the credentials do not reach it; correct config.%s or give them access", name, optionRepos))
}

// named asks for a repository. GitHub leads from an old name to the new one.
func (s *source) named(ctx context.Context, name string) (repo, error) {
	r, _, _, err := ask[repo](ctx, s, noteOf("repo", name), restapi.Request{Path: "repos/" + name}, nil)
	switch {
	case errors.Is(err, connectors.ErrNotFound):
		return repo{}, unreached(name)
	case err != nil:
		return repo{}, fmt.Errorf("ask for the repository %s: %w", name, err)
	}
	return r, nil
}

// listOwner asks for all repositories of an owner that the credentials reach.
func (s *source) listOwner(ctx context.Context, owner string) ([]repo, error) {
	lists, err := s.listsOf(ctx, owner)
	if err != nil {
		return nil, fmt.Errorf("list the repositories of %s: %w", owner, err)
	}
	var repos []repo
	for _, list := range lists {
		query := list.Query
		var trail restapi.LoopDetector
		for page := 1; ; page++ {
			list.Query = query
			some, next, err := s.repoPage(ctx, noteOf("repos", owner, list.Path, strconv.Itoa(page)), list)
			if err != nil {
				return nil, fmt.Errorf("list the repositories of %s: %w", owner, err)
			}
			if page > 1 && len(some) == 0 {
				return nil, connectors.Retryable(fmt.Errorf("list the repositories of %s: GitHub names a next page, on which there is nothing", owner), 0)
			}
			for _, r := range some {
				if strings.EqualFold(r.owner(), owner) && s.config.takes(r) {
					repos = append(repos, r)
				}
			}
			if len(repos) > maxRepos {
				return nil, connectors.Fatal(fmt.Errorf("%s has more than %d repositories; name those to take in config.%s", owner, maxRepos, optionRepos))
			}
			if next == "" {
				break
			}
			if err := trail.Visit("GitHub", "the repositories of "+owner, next); err != nil {
				return nil, err
			}
			query, _ = url.ParseQuery(next) // it was looked at before
		}
	}
	if len(repos) == 0 {
		return nil, connectors.Fatal(fmt.Errorf("the credentials reach no repository of %s; correct config.%s or give them access", owner, optionRepos))
	}
	return repos, nil
}

// listsOf are the lists in which an owner's repositories stand.
func (s *source) listsOf(ctx context.Context, owner string) ([]restapi.Request, error) {
	list := func(path string, more ...string) restapi.Request {
		query := url.Values{"per_page": {"100"}}
		for i := 0; i+1 < len(more); i += 2 {
			query.Set(more[i], more[i+1])
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
	who, _, _, err := ask[account](ctx, s, noteOf("user", owner), restapi.Request{Path: "users/" + owner, RequiredFields: []string{"login", "type"}}, nil)
	switch {
	case errors.Is(err, connectors.ErrNotFound):
		return nil, connectors.Fatal(fmt.Errorf("GitHub has no owner of this name; correct config.%s", optionRepos))
	case err != nil:
		return nil, err
	case who.Type == "Organization":
		return []restapi.Request{list("orgs/"+owner+"/repos", "type", "all")}, nil
	}
	me, _, _, err := ask[account](ctx, s, "me", restapi.Request{Path: "user", RequiredFields: []string{"login"}}, nil)
	if err != nil {
		return nil, err
	}
	if strings.EqualFold(me.Login, owner) {
		return []restapi.Request{list("user/repos", "affiliation", "owner")}, nil
	}
	return []restapi.Request{list("users/"+owner+"/repos", "type", "owner"), list("user/repos", "affiliation", "collaborator")}, nil
}

// repoPage asks for a page of a list, in either of its two forms.
func (s *source) repoPage(ctx context.Context, note string, r restapi.Request) (repos []repo, next string, err error) {
	if r.Path == "installation/repositories" {
		type answer struct {
			Repositories []repo `json:"repositories"`
		}
		r.RequiredFields = []string{"repositories"}
		page, next, _, err := ask[answer](ctx, s, note, r, nil)
		return page.Repositories, next, err
	}
	repos, next, _, err = ask[[]repo](ctx, s, note, r, nil)
	return repos, next, err
}

// walkList is what a walk goes through: listed at its start, and the same until
// its end whatever process goes on with it.
func (s *source) walkList(ctx context.Context, start bool) (repos []repo, warnings []string, err error) {
	if !start {
		if repos, err = s.known(ctx); err != nil || len(repos) > 0 {
			return repos, nil, err
		}
	}
	var before []repo
	if err := s.recall(ctx, walkNote, &before); err != nil {
		return nil, nil, err
	}
	if repos, warnings, err = s.list(ctx); err != nil {
		return nil, nil, err
	}
	if start {
		more, err := s.missed(ctx, before, repos)
		if err != nil {
			return nil, nil, err
		}
		warnings = append(warnings, more...)
	}
	if err := s.remember(ctx, walkNote, repos); err != nil {
		return nil, nil, err
	}
	s.mutex.Lock()
	s.listed = repos
	s.mutex.Unlock()
	return repos, warnings, nil
}

// known is what the last walk began with.
func (s *source) known(ctx context.Context) ([]repo, error) {
	s.mutex.Lock()
	repos := s.listed
	s.mutex.Unlock()
	if len(repos) > 0 {
		return repos, nil
	}
	if err := s.recall(ctx, walkNote, &repos); err != nil {
		return nil, err
	}
	for _, r := range repos {
		if r.proper() != nil {
			return nil, nil
		}
	}
	s.mutex.Lock()
	defer s.mutex.Unlock()
	s.listed = repos
	return repos, nil
}

// missed asks after the repositories that an owner's list had and has no more.
// One that is reached all the same says that the list is not whole.
func (s *source) missed(ctx context.Context, before, now []repo) (warnings []string, err error) {
	asked := 0
	for _, old := range before {
		has := func(r repo) bool { return r.ID == old.ID }
		if slices.ContainsFunc(now, has) {
			continue
		}
		if err := s.forget(ctx, old); err != nil {
			return nil, err
		}
		if asked == maxMissed || !s.covers(old.FullName) {
			continue
		}
		asked++
		var found repo
		_, err := s.api.JSON(ctx, restapi.Request{Path: old.path("")}, &found)
		switch {
		case errors.Is(err, connectors.ErrNotFound):
			warnings = append(warnings, fmt.Sprintf("The repository %s is gone, or the credentials do not reach it any more; its documents are deleted.", old.FullName))
		case err != nil:
			return nil, fmt.Errorf("ask for the repository %s: %w", old.FullName, err)
		case found.ID == old.ID && s.covers(found.FullName) && s.config.takes(found):
			return nil, connectors.Retryable(fmt.Errorf("GitHub's list of repositories lacks %s, which is there", found.FullName), 0)
		}
	}
	return warnings, nil
}

// forget drops what is noted of a repository.
func (s *source) forget(ctx context.Context, r repo) error {
	if s.notes == nil {
		return nil
	}
	for _, name := range []string{"branch", "tree", "threads", "wiki"} {
		if err := s.notes.DeletePrefix(ctx, r.note(name)); err != nil {
			return fmt.Errorf("drop a note: %w", err)
		}
	}
	return nil
}

// names says whether an entry of the config names a repository, not all of its
// owner's. One that has another name by now is named, too.
func (s *source) names(r repo) bool {
	all := false
	for _, p := range s.config.repos {
		if !p.all() && strings.EqualFold(p.owner+"/"+p.name, r.FullName) {
			return true
		}
		all = all || p.all() && strings.EqualFold(p.owner, r.owner())
	}
	return !all || s.config.branch == ""
}

// covers says whether an entry of the config is about a repository of this name.
func (s *source) covers(name string) bool {
	owner, rest, _ := strings.Cut(name, "/")
	return slices.ContainsFunc(s.config.repos, func(p pattern) bool {
		return strings.EqualFold(p.owner, owner) && (p.all() || strings.EqualFold(p.name, rest))
	})
}

// repoOf finds a repository of the connector by its id.
func (s *source) repoOf(ctx context.Context, id int64) (repo, error) {
	repos, err := s.known(ctx)
	if err == nil && len(repos) == 0 {
		repos, _, err = s.list(ctx)
	}
	if err != nil {
		return repo{}, err
	}
	if at := slices.IndexFunc(repos, func(r repo) bool { return r.ID == id }); at >= 0 {
		return repos[at], nil
	}
	return repo{}, fmt.Errorf("no repository of this connector: %w", connectors.ErrNotFound)
}

// isEmpty says whether a repository has no commit yet.
func (s *source) isEmpty(ctx context.Context, r repo) (bool, error) {
	var commits []struct {
		SHA string `json:"sha"`
	}
	_, err := s.api.JSON(ctx, restapi.Request{Path: r.path("/commits"), Query: url.Values{"per_page": {"1"}}}, &commits)
	if restapi.StatusOf(err) == http.StatusConflict {
		return true, nil
	}
	if err == nil && (len(commits) == 0 || !properSHA(commits[0].SHA)) {
		err = connectors.Retryable(fmt.Errorf("GitHub lists commits of %s that cannot be; %s", r.FullName, advice), 0)
	}
	return false, err
}
