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
	"github.com/magpie-search/magpie/connectors/restapi"
)

// endpoints are the URLs of a GitHub.
type endpoints struct {
	rest, graphql string
	web           *url.URL
}

// parseEndpoints parses the URL of an API: that of github.com, of a company at
// GHE.com (https://api.NAME.ghe.com), or of an Enterprise Server, with or
// without its path.
func parseEndpoints(text string) (endpoints, error) {
	u, err := restapi.ParseBaseURL(strings.TrimRight(strings.TrimSpace(text), "/"), exampleAPI)
	if err != nil {
		return endpoints{}, err
	}
	root := u.Scheme + "://" + u.Host
	if host, public := strings.CutPrefix(u.Host, "api."); public && u.Path == "" {
		return endpoints{rest: root, graphql: root + "/graphql", web: &url.URL{Scheme: u.Scheme, Host: host}}, nil
	}
	if u.Path != "" && u.Path != "/api/v3" {
		return endpoints{}, errors.New("must end in /api/v3: https://github.example.com/api/v3")
	}
	return endpoints{rest: root + "/api/v3", graphql: root + "/api/graphql", web: &url.URL{Scheme: u.Scheme, Host: u.Host}}, nil
}

// A config is the parsed config of a connector.
type config struct {
	repos                   []repoSelector
	branch                  string
	paths                   []string
	content                 []string
	closed, archived, forks bool
	since                   time.Time
	subscribes              bool
	endpoints
}

func parseConfig(s connectors.Settings) (config, error) {
	c := config{
		branch: s.String(optionBranch), paths: s.Strings(optionPaths), content: s.Strings(optionContent),
		closed: s.Boolean(optionClosed), archived: s.Boolean(optionArchived), forks: s.Boolean(optionForks),
		subscribes: s.WantsSubscription(),
	}
	for _, text := range s.Strings(optionRepos) {
		p, ok := parseSelector(text)
		if !ok {
			return config{}, fmt.Errorf("config.%s is malformed", optionRepos)
		}
		c.repos = append(c.repos, p)
	}
	var err error
	if c.endpoints, err = parseEndpoints(s.String(optionAPI)); err != nil {
		return config{}, fmt.Errorf("config.%s %w", optionAPI, err)
	}
	if text := s.String(optionSince); text != "" {
		if c.since, err = connectors.ParseTime(text); err != nil {
			return config{}, fmt.Errorf("config.%s %w", optionSince, err)
		}
	}
	return c, nil
}

func (c config) hasContent(content string) bool { return slices.Contains(c.content, content) }

// includesPath reports whether the settings include a file.
func (c config) includesPath(path string) bool {
	return len(c.paths) == 0 || slices.ContainsFunc(c.paths, func(pattern string) bool { return glob.Match(pattern, path) })
}

// includesRepo reports whether owner/* includes a repository.
func (c config) includesRepo(r repo) bool { return (c.archived || !r.Archived) && (c.forks || !r.Fork) }

// followedBranch returns the branch whose files are read.
func (c config) followedBranch(r repo) string {
	if c.branch != "" {
		return c.branch
	}
	return r.DefaultBranch
}

// isValidPath reports whether a text is a path inside of a repository.
func isValidPath(path string) bool {
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

// escapePath escapes the segments of a path for a URL.
func escapePath(path string) string {
	parts := strings.Split(path, "/")
	for i, part := range parts {
		parts[i] = url.PathEscape(part)
	}
	return strings.Join(parts, "/")
}
