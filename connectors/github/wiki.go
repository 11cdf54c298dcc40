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
	"github.com/magpie-search/magpie/connectors/gitwire"
	"github.com/magpie-search/magpie/connectors/restapi"
	"github.com/magpie-search/magpie/internal/safetext"
)

const (
	maxWikiPack     = 64 << 20
	maxWikiInflated = 256 << 20
	maxWikiFiles    = 20_000
)

// A wiki is the current state of a repository's wiki.
type wiki struct {
	Head  string     `json:"head"` // "" for a wiki without pages
	Pages []wikiPage `json:"pages"`
}

type wikiPage struct {
	Path string `json:"p"`
	SHA  string `json:"s"`
	Size int64  `json:"n"`

	content []byte // nil for pages from the state
}

// name returns the name of a page: the file's name without its extension.
func (p wikiPage) name() string { return strings.TrimSuffix(path.Base(p.Path), path.Ext(p.Path)) }

// isPage excludes images, sidebars and footers.
func isPage(file string) bool {
	if strings.HasPrefix(path.Base(file), "_") {
		return false
	}
	return slices.Contains([]string{".md", ".markdown", ".mdown", ".mediawiki", ".wiki", ".asciidoc", ".adoc", ".rst", ".textile", ".org", ".creole", ".rdoc", ".pod", ".txt"},
		strings.ToLower(path.Ext(file)))
}

func wikiStage() stage {
	return stage{
		name:    contentWiki,
		applies: func(c config, r repo) bool { return c.hasContent(contentWiki) && r.HasWiki },
		walk:    walkWiki, minRoom: 1,
		check: func(ctx context.Context, s *source, r repo) error {
			if !s.config.hasContent(contentWiki) || !r.HasWiki {
				return nil
			}
			_, _, err := s.wikiTip(ctx, r)
			return err
		},
	}
}

func walkWiki(ctx context.Context, s *source, r repo, p position, room int) (stepResult, error) {
	w, err := s.loadWiki(ctx, r, p.offset == "", false)
	if err != nil {
		return stepResult{}, err
	}
	var out stepResult
	for _, page := range w.Pages {
		switch {
		case page.Path <= p.offset:
		case len(out.items) == room:
			out.more = true
			return out, nil
		default:
			out.items = append(out.items, wikiItem(r, page))
			out.offset = page.Path
		}
	}
	return out, nil
}

func wikiItem(r repo, p wikiPage) connectors.Item {
	return connectors.Item{
		ID: itemID(r, kindWiki, p.Path), Path: r.FullName + ".wiki/" + p.Path, Version: p.SHA, Size: p.Size, Content: p.content,
		Title: strings.ReplaceAll(p.name(), "-", " "), URL: r.HTMLURL + "/wiki/" + url.PathEscape(p.name()),
		Metadata: map[string]string{"repository": r.FullName, "kind": "wiki page"},
	}
}

// wikiTip returns the newest commit of a wiki. exists is false for a wiki that
// never had a page, which has no repository.
func (s *source) wikiTip(ctx context.Context, r repo) (tip gitwire.Tip, exists bool, err error) {
	response, err := s.git.Do(ctx, restapi.Request{
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
	if err := checkGitResponse(response, gitwire.AdvertisementType); err != nil {
		return gitwire.Tip{}, false, gitError(ctx, r, err)
	}
	tip, err = gitwire.ReadTip(response.Body)
	return tip, err == nil, gitError(ctx, r, err)
}

// checkGitResponse returns an error if a response is not of git's protocol,
// whose clients must check the media type (gitprotocol-http).
func checkGitResponse(response *http.Response, mediaType string) error {
	if response.StatusCode != http.StatusOK {
		return fmt.Errorf("%w: it has the status %d; %s", gitwire.ErrMalformed, response.StatusCode, checkAdvice)
	}
	if got := response.Header.Get("Content-Type"); got != mediaType {
		return fmt.Errorf("%w, but of the type %q; %s", gitwire.ErrMalformed, safetext.Truncate(strings.ToValidUTF8(got, "?"), 100), checkAdvice)
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
		return connectors.Fatal(fmt.Errorf("the wiki of %s is larger than %d MiB; leave wikis out of config.%s", r.FullName, maxWikiPack>>20, optionContent))
	default:
		return connectors.Retryable(fmt.Errorf("read the wiki of %s: %w", r.FullName, err), 0)
	}
}

// loadWiki returns the current wiki, from the state if it is unchanged. Without
// refresh, a wiki that was loaded before suffices. With withContent, the pages
// have their contents.
func (s *source) loadWiki(ctx context.Context, r repo, refresh, withContent bool) (*wiki, error) {
	s.wikiMutex.Lock()
	defer s.wikiMutex.Unlock()
	s.mutex.Lock()
	current := s.wikis[r.ID]
	s.mutex.Unlock()
	sufficient := func(w *wiki) bool {
		return !withContent || !slices.ContainsFunc(w.Pages, func(p wikiPage) bool { return p.content == nil })
	}
	if current != nil && !refresh && sufficient(current) {
		return current, nil
	}
	if !r.HasWiki {
		return &wiki{}, nil
	}
	tip, exists, err := s.wikiTip(ctx, r)
	if err != nil {
		return nil, err
	}
	var saved wiki
	if _, err := connectors.GetJSON(ctx, s.state, r.stateKey("wiki"), &saved); err != nil {
		return nil, err
	}
	if current == nil || current.Head != tip.Commit {
		current = &saved
	}
	switch {
	case !exists && saved.Head != "":
		// The repository of a wiki that had pages is never deleted.
		return nil, connectors.NeedsAuth(fmt.Errorf("the credentials do not reach the wiki of %s any more; give them the right to read contents, or leave wikis out of config.%s", r.FullName, optionContent))
	case tip.Commit == "" && saved.Head != "":
		return nil, connectors.Retryable(fmt.Errorf("the wiki of %s had pages, and git names no state of it; %s", r.FullName, checkAdvice), 0)
	case tip.Commit == "":
		current = &wiki{}
	case current.Head == tip.Commit && sufficient(current):
	default:
		if current, err = s.fetchWiki(ctx, r, tip); err != nil {
			return nil, err
		}
		if err := connectors.PutJSON(ctx, s.state, r.stateKey("wiki"), current); err != nil {
			return nil, err
		}
	}
	s.mutex.Lock()
	defer s.mutex.Unlock()
	clear(s.wikis) // only one is kept in memory
	s.wikis[r.ID] = current
	return current, nil
}

func (s *source) fetchWiki(ctx context.Context, r repo, tip gitwire.Tip) (*wiki, error) {
	body, err := tip.Request()
	if err != nil {
		return nil, gitError(ctx, r, err)
	}
	response, err := s.git.Do(ctx, restapi.Request{
		Method: http.MethodPost, Path: r.FullName + ".wiki.git/git-upload-pack", RawBody: body,
		Header: http.Header{"Content-Type": {gitwire.RequestType}, "Accept": {gitwire.ResponseType}, "User-Agent": {"git/2.0 (Magpie)"}},
	})
	if err != nil {
		return nil, fmt.Errorf("read the wiki of %s: %w", r.FullName, missingIsFatal(err, r))
	}
	defer func() { _ = response.Body.Close() }()
	if err := checkGitResponse(response, gitwire.ResponseType); err != nil {
		return nil, gitError(ctx, r, err)
	}
	files, err := tip.ReadFiles(response.Body, gitwire.Limits{Pack: maxWikiPack, Inflated: maxWikiInflated, Files: maxWikiFiles})
	if err != nil {
		return nil, gitError(ctx, r, err)
	}
	w := &wiki{Head: tip.Commit}
	for _, f := range files {
		// Files without content are larger than gitwire requests.
		if isPage(f.Path) && isValidPath(f.Path) && f.Content != nil && len(f.Path) <= connectors.MaxIDBytes-300 {
			w.Pages = append(w.Pages, wikiPage{Path: strings.ToValidUTF8(f.Path, "?"), SHA: f.Hash, Size: int64(len(f.Content)), content: f.Content})
		}
	}
	slices.SortFunc(w.Pages, func(a, b wikiPage) int { return strings.Compare(a.Path, b.Path) })
	w.Pages = slices.CompactFunc(w.Pages, func(a, b wikiPage) bool { return a.Path == b.Path })
	return w, nil
}

func (s *source) readWiki(ctx context.Context, r repo, file string) (version string, text []byte, err error) {
	w, err := s.loadWiki(ctx, r, false, true)
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

// pagesNamed returns the pages with a name, as webhooks name them, or path.
func (w *wiki) pagesNamed(name string) []wikiPage {
	var found []wikiPage
	for _, p := range w.Pages {
		if p.Path == name || p.name() == name {
			found = append(found, p)
		}
	}
	return found
}
