package github

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/magpie-search/magpie/connectors"
)

// A parsedName is a parsed name. kind is "" for a number that may be of an
// issue, a pull request or a discussion.
type parsedName struct {
	repo       repo
	kind, name string
	byPath     bool
}

// Resolve implements [connectors.Resolver]. Names are the ids and paths of a walk
// and, from webhooks, a wiki page without its extension, and a branch, which stands
// for all its files if it is the followed one.
func (s *source) Resolve(ctx context.Context, names []string) (found []connectors.Item, missing []string, err error) {
	if err := s.checkOpen(ctx); err != nil {
		return nil, nil, err
	}
	if len(names) == 0 {
		return nil, nil, nil
	}
	s.mutex.Lock()
	repos := s.listed
	s.mutex.Unlock()
	if repos == nil {
		if repos, _, err = s.listRepos(ctx); err != nil {
			return nil, nil, err
		}
	}
	r := resolver{source: s, repos: repos, freshTrees: map[int64]bool{}, freshWikis: map[int64]bool{}}
	return connectors.ResolveEach(ctx, names, 1, r.resolve)
}

// A resolver is one call of Resolve. It loads each tree and wiki once.
type resolver struct {
	source     *source
	repos      []repo
	freshTrees map[int64]bool // by repository: the tree was loaded by this call
	freshWikis map[int64]bool
}

// parse parses a name. ok is false if the name is not of a repository of the
// connector.
func (r *resolver) parse(name string) (p parsedName, ok bool) {
	if !utf8.ValidString(name) || strings.ContainsRune(name, 0) {
		return parsedName{}, false
	}
	if id, kind, rest, isID := parseID(name); isID {
		for _, repo := range r.repos {
			if repo.ID == id {
				return parsedName{repo: repo, kind: kind, name: rest}, true
			}
		}
	}
	for _, repo := range r.repos {
		rest, ok := strings.CutPrefix(name, repo.FullName)
		if !ok || len(rest) < 2 {
			continue
		}
		switch {
		case rest[0] == '/':
			return parsedName{repo: repo, kind: kindFile, name: rest[1:], byPath: true}, true
		case rest[0] == '#':
			return parsedName{repo: repo, name: rest[1:], byPath: true}, true
		case strings.HasPrefix(rest, ".wiki/"):
			return parsedName{repo: repo, kind: kindWiki, name: strings.TrimPrefix(rest, ".wiki/"), byPath: true}, true
		}
	}
	return parsedName{}, false
}

// resolve returns the items of a name.
func (r *resolver) resolve(ctx context.Context, name string) ([]connectors.Item, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	p, ok := r.parse(name)
	if !ok {
		return nil, connectors.ErrNotFound
	}
	switch p.kind {
	case kindFile:
		return r.file(ctx, p.repo, p.name)
	case kindBranch:
		return r.branch(ctx, p.repo, p.name)
	case kindWiki:
		return r.wikiPages(ctx, p)
	case kindDiscussion:
		return r.discussion(ctx, p)
	}
	items, err := r.thread(ctx, p)
	if errors.Is(err, connectors.ErrNotFound) && p.byPath {
		return r.discussion(ctx, p)
	}
	return items, err
}

func (r *resolver) tree(ctx context.Context, repo repo) (*tree, error) {
	t, err := r.source.loadTree(ctx, repo, !r.freshTrees[repo.ID])
	r.freshTrees[repo.ID] = err == nil
	return t, err
}

func (r *resolver) file(ctx context.Context, repo repo, path string) ([]connectors.Item, error) {
	s := r.source
	if !s.config.hasContent(contentFiles) || !isValidPath(path) || !s.config.includesPath(path) {
		return nil, connectors.ErrNotFound
	}
	t, err := r.tree(ctx, repo)
	if err != nil {
		return nil, err
	}
	e, ok, err := s.findFile(ctx, repo, t, path)
	if err != nil {
		return nil, err
	}
	item, isValid := s.fileItem(repo, e)
	if !ok || !isValid {
		return nil, connectors.ErrNotFound
	}
	return []connectors.Item{item}, nil
}

// branch returns all files of the followed branch, and nothing for another branch.
func (r *resolver) branch(ctx context.Context, repo repo, branch string) (items []connectors.Item, err error) {
	s := r.source
	if !s.config.hasContent(contentFiles) || s.config.followedBranch(repo) != branch {
		return nil, nil
	}
	t, err := r.tree(ctx, repo)
	if err != nil {
		return nil, err
	}
	_, err = s.eachFileAfter(ctx, repo, t, t.root, "", "", func(e entry) bool {
		if item, ok := s.fileItem(repo, e); ok && s.config.includesPath(e.Path) {
			items = append(items, item)
		}
		return true
	})
	return items, err
}

func (r *resolver) thread(ctx context.Context, p parsedName) ([]connectors.Item, error) {
	s := r.source
	number, ok := parseNumber(p.name)
	included := s.config.hasContent(contentIssues) && p.repo.HasIssues || s.config.hasContent(contentPulls)
	if !ok || !included {
		return nil, connectors.ErrNotFound
	}
	t, isPull, err := s.getThread(ctx, p.repo, number)
	if err != nil {
		return nil, fmt.Errorf("look up %s#%d: %w", p.repo.FullName, number, err)
	}
	item, ok := s.threadItem(p.repo, t, isPull)
	if !ok || p.kind != "" && isPull != (p.kind == kindPull) {
		return nil, connectors.ErrNotFound
	}
	return []connectors.Item{item}, nil
}

func (r *resolver) discussion(ctx context.Context, p parsedName) ([]connectors.Item, error) {
	s := r.source
	number, ok := parseNumber(p.name)
	if !ok || !s.config.hasContent(contentDiscussions) || !p.repo.HasDiscussions {
		return nil, connectors.ErrNotFound
	}
	d, err := s.getDiscussion(ctx, p.repo, discussionQuery, number, "")
	if err != nil {
		return nil, fmt.Errorf("look up %s#%d: %w", p.repo.FullName, number, err)
	}
	item, ok := s.discussionItem(p.repo, d)
	if !ok {
		return nil, connectors.ErrNotFound
	}
	return []connectors.Item{item}, nil
}

func (r *resolver) wikiPages(ctx context.Context, p parsedName) (items []connectors.Item, err error) {
	s := r.source
	if !s.config.hasContent(contentWiki) {
		return nil, connectors.ErrNotFound
	}
	w, err := s.loadWiki(ctx, p.repo, !r.freshWikis[p.repo.ID], false)
	if err != nil {
		return nil, err
	}
	r.freshWikis[p.repo.ID] = true
	for _, page := range w.pagesNamed(p.name) {
		if !p.byPath || page.Path == p.name {
			items = append(items, wikiItem(p.repo, page))
		}
	}
	if len(items) == 0 {
		return nil, connectors.ErrNotFound
	}
	return items, nil
}
