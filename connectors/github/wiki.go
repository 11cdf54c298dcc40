package github

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"path"
	"slices"
	"strings"

	"github.com/magpie-search/magpie/connectors"
	"github.com/magpie-search/magpie/connectors/github/gitwire"
	"github.com/magpie-search/magpie/connectors/restapi"
)

const (
	wikiPack     = 64 << 20
	wikiInflated = 256 << 20
	wikiFiles    = 20_000
)

// wiki is the newest state of a repository's wiki.
type wiki struct {
	Head  string     `json:"head"` // "" for a wiki that never had a page
	Pages []wikiPage `json:"pages"`
}

type wikiPage struct {
	Path string `json:"p"`
	SHA  string `json:"s"`
	Size int64  `json:"n"`

	content []byte // nil for pages from a note
}

// name is how a page is called: the file's name without its ending.
func (p wikiPage) name() string { return strings.TrimSuffix(path.Base(p.Path), path.Ext(p.Path)) }

// isPage leaves out pictures, and the bars and feet that stand on every page.
func isPage(file string) bool {
	if strings.HasPrefix(path.Base(file), "_") {
		return false
	}
	return slices.Contains([]string{".md", ".markdown", ".mdown", ".mediawiki", ".wiki", ".asciidoc", ".adoc", ".rst", ".textile", ".org", ".creole", ".rdoc", ".pod", ".txt"},
		strings.ToLower(path.Ext(file)))
}

func wikiStage() stage {
	return stage{
		name: contentWiki,
		has:  func(c config, r repo) bool { return c.has(contentWiki) && r.HasWiki },
		walk: walkWiki, least: 1,
		check: func(ctx context.Context, s *source, r repo) error {
			if !s.config.has(contentWiki) || !r.HasWiki {
				return nil
			}
			_, _, err := s.wikiTip(ctx, r)
			return err
		},
	}
}

func walkWiki(ctx context.Context, s *source, r repo, p place, room int) (step, error) {
	w, err := s.wikiOf(ctx, r, p.rest == "", false)
	if err != nil {
		return step{}, err
	}
	var out step
	for _, page := range w.Pages {
		switch {
		case page.Path <= p.rest:
		case len(out.items) == room:
			out.more = true
			return out, nil
		default:
			out.items = append(out.items, wikiItem(r, page))
			out.rest = page.Path
		}
	}
	return out, nil
}

func wikiItem(r repo, p wikiPage) connectors.Item {
	return connectors.Item{
		ID: idOf(r, kindWiki, p.Path), Path: r.FullName + ".wiki/" + p.Path, Version: p.SHA, Size: p.Size, Content: p.content,
		Title: strings.ReplaceAll(p.name(), "-", " "), URL: r.HTMLURL + "/wiki/" + url.PathEscape(p.name()),
		Metadata: map[string]string{"repository": r.FullName, "kind": "wiki page"},
	}
}

// wikiTip asks where the wiki is at. One that never had a page is no repository
// yet: then there is none.
func (s *source) wikiTip(ctx context.Context, r repo) (tip gitwire.Tip, there bool, err error) {
	response, err := s.web.Do(ctx, restapi.Request{
		Path: r.FullName + ".wiki.git/info/refs", Query: url.Values{"service": {"git-upload-pack"}},
		Header: http.Header{"Accept": {gitwire.AdvertisementType}, "User-Agent": {"git/2.0 (Magpie)"}},
	})
	switch {
	case errors.Is(err, connectors.ErrNotFound):
		return gitwire.Tip{}, false, nil
	case err != nil:
		return gitwire.Tip{}, false, fmt.Errorf("read the wiki of %s (config.%s can leave it out): %w", r.FullName, optionContent, err)
	}
	defer func() { _ = response.Body.Close() }()
	if err := gitAnswer(response, gitwire.AdvertisementType); err != nil {
		return gitwire.Tip{}, false, gitError(ctx, r, err)
	}
	tip, err = gitwire.ReadTip(response.Body)
	return tip, err == nil, gitError(ctx, r, err)
}

// gitAnswer refuses what is no answer of git's protocol; clients have to look at
// the media type (gitprotocol-http).
func gitAnswer(response *http.Response, mediaType string) error {
	if response.StatusCode != http.StatusOK {
		return fmt.Errorf("%w: it has the status %d; %s", gitwire.ErrMalformed, response.StatusCode, advice)
	}
	if got := response.Header.Get("Content-Type"); got != mediaType {
		return fmt.Errorf("%w, but of the type %q; %s", gitwire.ErrMalformed, shortened(got, 100), advice)
	}
	return nil
}

func gitError(ctx context.Context, r repo, err error) error {
	switch {
	case err == nil:
		return nil
	case ctx.Err() != nil:
		return ctx.Err()
	case errors.Is(err, gitwire.ErrTooLarge):
		return connectors.Fatal(fmt.Errorf("the wiki of %s is larger than %d MiB; leave wikis out of config.%s", r.FullName, wikiPack>>20, optionContent))
	default:
		return connectors.Retryable(fmt.Errorf("read the wiki of %s: %w", r.FullName, err), 0)
	}
}

// wikiOf is the newest state of a wiki, from the note where nothing changed.
// Where again is false, one that was asked for already will do; content asks for
// the pages' texts.
func (s *source) wikiOf(ctx context.Context, r repo, again, content bool) (*wiki, error) {
	s.wikiMutex.Lock()
	defer s.wikiMutex.Unlock()
	s.mutex.Lock()
	held := s.wikis[r.ID]
	s.mutex.Unlock()
	enough := func(w *wiki) bool {
		return !content || !slices.ContainsFunc(w.Pages, func(p wikiPage) bool { return p.content == nil })
	}
	if held != nil && !again && enough(held) {
		return held, nil
	}
	if !r.HasWiki {
		return &wiki{}, nil
	}
	tip, there, err := s.wikiTip(ctx, r)
	if err != nil {
		return nil, err
	}
	var old wiki
	if err := s.recall(ctx, r.note("wiki"), &old); err != nil {
		return nil, err
	}
	if held == nil || held.Head != tip.Commit {
		held = &old
	}
	switch {
	case !there && old.Head != "":
		// A wiki that had pages has a repository for ever.
		return nil, connectors.NeedsAuth(fmt.Errorf("the credentials do not reach the wiki of %s any more; give them the right to read contents, or leave wikis out of config.%s", r.FullName, optionContent))
	case tip.Commit == "" && old.Head != "":
		return nil, connectors.Retryable(fmt.Errorf("the wiki of %s had pages, and git names no state of it; %s", r.FullName, advice), 0)
	case tip.Commit == "":
		held = &wiki{}
	case held.Head == tip.Commit && enough(held):
	default:
		if held, err = s.fetchWiki(ctx, r, tip); err != nil {
			return nil, err
		}
		if err := s.remember(ctx, r.note("wiki"), held); err != nil {
			return nil, err
		}
	}
	s.mutex.Lock()
	defer s.mutex.Unlock()
	clear(s.wikis) // one at a time, for the memory
	s.wikis[r.ID] = held
	return held, nil
}

func (s *source) fetchWiki(ctx context.Context, r repo, tip gitwire.Tip) (*wiki, error) {
	body, err := tip.Request()
	if err != nil {
		return nil, gitError(ctx, r, err)
	}
	response, err := s.web.Do(ctx, restapi.Request{
		Method: http.MethodPost, Path: r.FullName + ".wiki.git/git-upload-pack", RawBody: body,
		Header: http.Header{"Content-Type": {gitwire.RequestType}, "Accept": {gitwire.AnswerType}, "User-Agent": {"git/2.0 (Magpie)"}},
	})
	if err != nil {
		return nil, fmt.Errorf("read the wiki of %s: %w", r.FullName, stopped(err, r))
	}
	defer func() { _ = response.Body.Close() }()
	if err := gitAnswer(response, gitwire.AnswerType); err != nil {
		return nil, gitError(ctx, r, err)
	}
	files, err := tip.ReadFiles(response.Body, gitwire.Limits{Pack: wikiPack, Inflated: wikiInflated, Files: wikiFiles})
	if err != nil {
		return nil, gitError(ctx, r, err)
	}
	w := &wiki{Head: tip.Commit}
	for _, f := range files {
		// What the server left out for its size is no page that people wrote.
		if isPage(f.Path) && properPath(f.Path) && f.Content != nil && len(f.Path) <= connectors.MaxIDBytes-300 {
			w.Pages = append(w.Pages, wikiPage{Path: strings.ToValidUTF8(f.Path, "?"), SHA: f.Hash, Size: int64(len(f.Content)), content: f.Content})
		}
	}
	slices.SortFunc(w.Pages, func(a, b wikiPage) int { return strings.Compare(a.Path, b.Path) })
	w.Pages = slices.CompactFunc(w.Pages, func(a, b wikiPage) bool { return a.Path == b.Path })
	return w, nil
}

func (s *source) readWiki(ctx context.Context, r repo, file string) (version string, text []byte, err error) {
	w, err := s.wikiOf(ctx, r, false, true)
	if err != nil {
		return "", nil, err
	}
	for _, p := range w.Pages {
		if p.Path == file {
			return p.SHA, p.content, nil
		}
	}
	return "", nil, connectors.ErrNotFound
}

// pageNamed finds pages as webhooks name them: by their names alone.
func (w *wiki) pageNamed(name string) []wikiPage {
	var found []wikiPage
	for _, p := range w.Pages {
		if p.Path == name || p.name() == name {
			found = append(found, p)
		}
	}
	return found
}
