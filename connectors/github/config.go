package github

import (
	"errors"
	"fmt"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/magpie-search/magpie/connectors"
	"github.com/magpie-search/magpie/connectors/glob"
)

// addresses are where a GitHub answers.
type addresses struct {
	rest, graphql string
	web           *url.URL
}

// parseAPI reads the address of an API: the public one, that of a company's own
// GHE.com (https://api.NAME.ghe.com) or of an Enterprise Server, whose path may
// be left out.
func parseAPI(text string) (addresses, error) {
	u, err := url.Parse(strings.TrimRight(strings.TrimSpace(text), "/"))
	switch {
	case err != nil || u.Host == "" || u.Scheme != "https" && u.Scheme != "http":
		return addresses{}, errors.New("must begin with https:// or http://")
	case u.User != nil || u.RawQuery != "" || u.Fragment != "":
		return addresses{}, errors.New("must be an address alone: https://github.example.com/api/v3")
	}
	root := u.Scheme + "://" + u.Host
	if host, public := strings.CutPrefix(u.Host, "api."); public && u.Path == "" {
		return addresses{rest: root, graphql: root + "/graphql", web: &url.URL{Scheme: u.Scheme, Host: host}}, nil
	}
	if u.Path != "" && u.Path != "/api/v3" {
		return addresses{}, errors.New("must end in /api/v3: https://github.example.com/api/v3")
	}
	return addresses{rest: root + "/api/v3", graphql: root + "/api/graphql", web: &url.URL{Scheme: u.Scheme, Host: u.Host}}, nil
}

// config is what a connector was set up with.
type config struct {
	repos                  []pattern
	branch                 string
	paths                  []string
	content                []string
	closed, archived, fork bool
	since                  time.Time
	addresses
}

func configOf(s connectors.Settings) (config, error) {
	c := config{
		branch: s.String(optionBranch), paths: s.Strings(optionPaths), content: s.Strings(optionContent),
		closed: s.Boolean(optionClosed), archived: s.Boolean(optionArchived), fork: s.Boolean(optionForks),
	}
	for _, text := range s.Strings(optionRepos) {
		p, ok := parsePattern(text)
		if !ok {
			return config{}, fmt.Errorf("config.%s is malformed", optionRepos)
		}
		c.repos = append(c.repos, p)
	}
	var err error
	if c.addresses, err = parseAPI(s.String(optionAPI)); err != nil {
		return config{}, fmt.Errorf("config.%s %w", optionAPI, err)
	}
	if text := s.String(optionSince); text != "" {
		if c.since, err = instant(text); err != nil {
			return config{}, fmt.Errorf("config.%s %w", optionSince, err)
		}
	}
	return c, nil
}

func (c config) has(content string) bool { return slices.Contains(c.content, content) }

// wants says whether a file of this path is asked for.
func (c config) wants(path string) bool {
	return len(c.paths) == 0 || slices.ContainsFunc(c.paths, func(pattern string) bool { return glob.Match(pattern, path) })
}

// takes says whether a repository that owner/* brought is asked for.
func (c config) takes(r repo) bool { return (c.archived || !r.Archived) && (c.fork || !r.Fork) }

// branchOf is the branch whose files are taken.
func (c config) branchOf(r repo) string {
	if c.branch != "" {
		return c.branch
	}
	return r.DefaultBranch
}

// properPath says whether a text is a path inside of a repository.
func properPath(path string) bool {
	if strings.ContainsRune(path, 0) {
		return false
	}
	for part := range strings.SplitSeq(path, "/") {
		if part == "" || part == "." || part == ".." {
			return false
		}
	}
	return true
}

// escaped makes a path fit for an address.
func escaped(path string) string {
	parts := strings.Split(path, "/")
	for i, part := range parts {
		parts[i] = url.PathEscape(part)
	}
	return strings.Join(parts, "/")
}
