package github

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/magpie-search/magpie/connectors"
)

// wanted is a name taken apart. kind is "" for a number that may be an issue, a
// pull request or a discussion.
type wanted struct {
	repo       repo
	kind, rest string
	byPath     bool
}

// Resolve implements [connectors.Resolver]. Names are ids and paths, exactly as
// a walk gives them; besides, what webhooks tell: a page of a wiki by its name
// without an ending, and a branch, which stands for all its files where it is
// the one that is followed.
func (s *source) Resolve(ctx context.Context, names []string) (found []connectors.Item, missing []string, err error) {
	if err := s.ready(ctx); err != nil {
		return nil, nil, err
	}
	if len(names) == 0 {
		return nil, nil, nil
	}
	s.mutex.Lock()
	repos := s.fresh
	s.mutex.Unlock()
	if repos == nil {
		if repos, _, err = s.list(ctx); err != nil {
			return nil, nil, err
		}
	}
	look := lookUp{source: s, repos: repos, asked: map[int64]bool{}}
	have := map[string]bool{}
	for _, name := range names {
		if err := ctx.Err(); err != nil {
			return nil, nil, err
		}
		items, there, err := look.name(ctx, name)
		if err != nil {
			return nil, nil, err
		}
		if !there {
			missing = append(missing, name)
		}
		for _, item := range items {
			if !have[item.ID] {
				have[item.ID] = true
				found = append(found, item)
			}
		}
	}
	return found, missing, nil
}

// lookUp is one call of Resolve: it asks once for what many names are in.
type lookUp struct {
	source *source
	repos  []repo
	asked  map[int64]bool // repositories whose newest tree is known
	wikis  map[int64]bool
}

// parse takes a name apart; ok is false for one that names nothing here.
func (l *lookUp) parse(name string) (w wanted, ok bool) {
	if !utf8.ValidString(name) || strings.ContainsRune(name, 0) {
		return wanted{}, false
	}
	if id, kind, rest, isID := parseID(name); isID {
		for _, r := range l.repos {
			if r.ID == id {
				return wanted{repo: r, kind: kind, rest: rest}, true
			}
		}
	}
	for _, r := range l.repos {
		rest, ok := strings.CutPrefix(name, r.FullName)
		if !ok || len(rest) < 2 {
			continue
		}
		switch {
		case rest[0] == '/':
			return wanted{repo: r, kind: kindFile, rest: rest[1:], byPath: true}, true
		case rest[0] == '#':
			return wanted{repo: r, rest: rest[1:], byPath: true}, true
		case strings.HasPrefix(rest, ".wiki/"):
			return wanted{repo: r, kind: kindWiki, rest: strings.TrimPrefix(rest, ".wiki/"), byPath: true}, true
		}
	}
	return wanted{}, false
}

// name finds the items of a name; there says that it is no missing one.
func (l *lookUp) name(ctx context.Context, name string) (items []connectors.Item, there bool, err error) {
	w, ok := l.parse(name)
	if !ok {
		return nil, false, nil
	}
	switch w.kind {
	case kindFile:
		return l.file(ctx, w.repo, w.rest)
	case kindBranch:
		items, err := l.branch(ctx, w.repo, w.rest)
		return items, true, err
	case kindWiki:
		return l.page(ctx, w)
	case kindDiscussion:
		return l.discussion(ctx, w)
	}
	items, there, err = l.thread(ctx, w)
	if err == nil && !there && w.byPath {
		items, there, err = l.discussion(ctx, w)
	}
	return items, there, err
}

func (l *lookUp) tree(ctx context.Context, r repo) (*tree, error) {
	t, err := l.source.treeOf(ctx, r, !l.asked[r.ID])
	l.asked[r.ID] = err == nil
	return t, err
}

func (l *lookUp) file(ctx context.Context, r repo, path string) ([]connectors.Item, bool, error) {
	s := l.source
	if !s.config.has(contentFiles) || !properPath(path) || !s.config.wants(path) {
		return nil, false, nil
	}
	t, err := l.tree(ctx, r)
	if err != nil || t == nil {
		return nil, false, err
	}
	e, ok, err := s.find(ctx, r, t, path)
	if err != nil || !ok {
		return nil, false, err
	}
	item := s.fileItem(r, e)
	if len(item.ID) > connectors.MaxIDBytes || len(item.Path) > connectors.MaxIDBytes {
		return nil, false, nil
	}
	return []connectors.Item{item}, true, nil
}

// branch is all files of the branch that is followed, and nothing of another one.
func (l *lookUp) branch(ctx context.Context, r repo, branch string) (items []connectors.Item, err error) {
	s := l.source
	if !s.config.has(contentFiles) || s.config.branchOf(r) != branch {
		return nil, nil
	}
	t, err := l.tree(ctx, r)
	if err != nil || t == nil {
		return nil, err
	}
	_, err = s.after(ctx, r, t, t.root, "", "", func(e entry) bool {
		if item := s.fileItem(r, e); s.config.wants(e.Path) && len(item.ID) <= connectors.MaxIDBytes && len(item.Path) <= connectors.MaxIDBytes {
			items = append(items, item)
		}
		return true
	})
	return items, err
}

func (l *lookUp) thread(ctx context.Context, w wanted) ([]connectors.Item, bool, error) {
	s := l.source
	number, ok := numberOf(w.rest)
	asked := s.config.has(contentIssues) && w.repo.HasIssues || s.config.has(contentPulls)
	if !ok || !asked {
		return nil, false, nil
	}
	t, pull, err := s.askThread(ctx, w.repo, number)
	switch {
	case errors.Is(err, connectors.ErrNotFound):
		return nil, false, nil
	case err != nil:
		return nil, false, fmt.Errorf("look up %s#%d: %w", w.repo.FullName, number, err)
	case w.kind != "" && pull != (w.kind == kindPull):
		return nil, false, nil
	}
	item, ok := s.threadItem(w.repo, t, pull)
	if !ok {
		return nil, false, nil
	}
	return []connectors.Item{item}, true, nil
}

func (l *lookUp) discussion(ctx context.Context, w wanted) ([]connectors.Item, bool, error) {
	s := l.source
	number, ok := numberOf(w.rest)
	if !ok || !s.config.has(contentDiscussions) || !w.repo.HasDiscussions {
		return nil, false, nil
	}
	d, err := s.askDiscussion(ctx, w.repo, lookAtDiscussion, number, "")
	switch {
	case errors.Is(err, connectors.ErrNotFound):
		return nil, false, nil
	case err != nil:
		return nil, false, fmt.Errorf("look up %s#%s: %w", w.repo.FullName, strconv.Itoa(number), err)
	}
	item, ok := s.discussionItem(w.repo, d)
	if !ok {
		return nil, false, nil
	}
	return []connectors.Item{item}, true, nil
}

func (l *lookUp) page(ctx context.Context, w wanted) (items []connectors.Item, there bool, err error) {
	s := l.source
	if !s.config.has(contentWiki) {
		return nil, false, nil
	}
	if l.wikis == nil {
		l.wikis = map[int64]bool{}
	}
	state, err := s.wikiOf(ctx, w.repo, !l.wikis[w.repo.ID], false)
	if err != nil {
		return nil, false, err
	}
	l.wikis[w.repo.ID] = true
	for _, p := range state.pageNamed(w.rest) {
		if !w.byPath || p.Path == w.rest {
			items = append(items, wikiItem(w.repo, p))
		}
	}
	return items, len(items) > 0, nil
}
