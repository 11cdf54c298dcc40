package gitlab

import (
	"bytes"
	"context"
	"crypto/sha1" //nolint:gosec // git names its objects by it
	"encoding/hex"
	"errors"
	"fmt"
	"hash"
	"io"
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/magpie-search/magpie/connectors"
	"github.com/magpie-search/magpie/connectors/restapi"
)

const (
	maxFile          = 64 << 20
	lfsPointerPrefix = "version https://git-lfs.github.com/spec/"
	parallelLookups  = 4
)

// Open implements [connectors.Source].
func (s *source) Open(ctx context.Context, item connectors.Item) (io.ReadCloser, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	p, kind, rest, err := s.parseID(ctx, item.ID)
	if err != nil {
		return nil, err
	}
	version, text, err := s.readItem(ctx, p, kind, rest, item.Version)
	if err == nil && item.Version != "" && item.Version != version && (kind != kindFile || !s.isConfirmed(ctx, p, rest, item.Version, text)) {
		err = connectors.Retryable(errChanged, 0)
	}
	if restapi.StatusOf(err) == http.StatusForbidden && !errors.Is(err, errScope) {
		err = errors.New(err.Error()) // of one item, which says nothing about the others
	}
	if err != nil {
		return nil, fmt.Errorf("read an item of %s: %w", p.Path, err)
	}
	return io.NopCloser(bytes.NewReader(text)), nil
}

// readItem returns the current version and content of an item. version is the one that
// a walk listed.
func (s *source) readItem(ctx context.Context, p project, kind, rest, version string) (string, []byte, error) {
	if kind != kindFile || version == "" {
		return s.read(ctx, p, kind, rest)
	}
	if _, ok := s.fileItem(p, rest, ""); !ok {
		return "", nil, connectors.ErrNotFound
	}
	if content, ok := s.fetched(ctx, p, rest, version); ok {
		return version, content, checkFile(content)
	}
	return s.readFile(ctx, p, rest)
}

// checkFile refuses a file that is not in the repository.
func checkFile(content []byte) error {
	if bytes.HasPrefix(content, []byte(lfsPointerPrefix)) {
		return connectors.Skip(errors.New("kept in Git LFS: the repository has a pointer in its place"))
	}
	return nil
}

var idPattern = regexp.MustCompile(`(?s)^([1-9]\d{0,17}):([fimws]):(.+)$`)

// parseID returns the parts of an id.
func (s *source) parseID(ctx context.Context, id string) (p project, kind, rest string, err error) {
	match := idPattern.FindStringSubmatch(id)
	if match == nil {
		return p, "", "", connectors.ErrNotFound
	}
	list, err := s.projects(ctx)
	if err != nil {
		return p, "", "", err
	}
	i := slices.IndexFunc(list, func(p project) bool { return p.key() == match[1] })
	if stage := strings.Index(kinds, match[2]); i < 0 || !s.applies(stage, list[i]) || stage != stageFiles && stage != stageWiki && !isNumber(match[3]) {
		return p, "", "", connectors.ErrNotFound
	}
	return list[i], match[2], match[3], nil
}

func isNumber(text string) bool {
	n, err := strconv.ParseInt(text, 10, 64)
	return err == nil && n > 0
}

// read returns the current version and content of an item.
func (s *source) read(ctx context.Context, p project, kind, rest string) (version string, content []byte, err error) {
	switch kind {
	case kindFile:
		return s.readFile(ctx, p, rest)
	case kindWiki:
		var w wikiPage
		_, err = s.get(ctx, p.path("/wikis/"+url.PathEscape(rest)), nil, &w, "slug", "title", "content")
		item := s.wikiItem(p, w)
		return item.Version, item.Content, err
	case kindSnippet:
		var one snippet
		if _, err = s.get(ctx, p.path("/snippets/"+rest), nil, &one, "id", "updated_at"); err != nil {
			return "", nil, err
		}
		content, err = s.download(ctx, p.path("/snippets/"+rest+"/raw"), nil)
		if err == nil && (len(content) == 0 || restapi.StartsAsHTML(content) && !strings.HasSuffix(one.FileName, "html")) {
			err = errInvalid("a snippet") // GitLab tells neither its size nor a hash
		}
		return s.snippetItem(p, one).Version, content, err
	}
	t, err := s.thread(ctx, p, kind, rest)
	if err != nil {
		return "", nil, err
	}
	var notes []note
	if t.Notes == nil || *t.Notes > 0 {
		var told bool
		if notes, told, err = s.notes(ctx, p, kind, rest); err != nil {
			return "", nil, err
		}
		if t.Notes != nil && len(notes) == 0 && told {
			return "", nil, connectors.Retryable(fmt.Errorf("GitLab counts %d comments, and lists none", *t.Notes), 0)
		}
	}
	return t.version(), render(kind, p, t, notes), nil
}

func (s *source) thread(ctx context.Context, p project, kind, number string) (thread, error) {
	var t thread
	_, err := s.get(ctx, p.path(listOf(kind)+"/"+number), nil, &t, "iid", "updated_at")
	if err == nil && (!t.isValid() || strconv.Itoa(t.IID) != number) {
		err = errInvalid("an issue or merge request")
	}
	return t, err
}

func (s *source) download(ctx context.Context, path string, query url.Values) ([]byte, error) {
	body, err := s.api.Download(ctx, restapi.Request{Path: path, Query: query}, restapi.Expected{Size: -1, AllowHTML: true})
	if err != nil {
		return nil, err
	}
	defer func() { _ = body.Close() }()
	content, err := io.ReadAll(io.LimitReader(body, maxFile+1))
	if err == nil && len(content) > maxFile {
		err = connectors.Skip(fmt.Errorf("larger than %d MiB", maxFile>>20))
	}
	return content, err
}

// readFile returns a file of the branch and its hash, which is its version.
func (s *source) readFile(ctx context.Context, p project, path string) (string, []byte, error) {
	if _, ok := s.fileItem(p, path, ""); !ok {
		return "", nil, connectors.ErrNotFound
	}
	content, err := s.download(ctx, p.path("/repository/files/"+url.PathEscape(path)+"/raw"), url.Values{"ref": {s.branch(p)}})
	if err != nil {
		return "", nil, err
	}
	if err := checkFile(content); err != nil {
		return "", nil, err
	}
	return blobHash(sha1.New(), content), content, nil //nolint:gosec // git does so
}

// fileBlob returns the version of a file of the branch as GitLab tells it.
func (s *source) fileBlob(ctx context.Context, p project, path string) (string, error) {
	var file struct {
		Blob string `json:"blob_id"`
		Path string `json:"file_path"`
	}
	_, err := s.get(ctx, p.path("/repository/files/"+url.PathEscape(path)), url.Values{"ref": {s.branch(p)}}, &file, "blob_id", "file_path")
	return file.Blob, err
}

// isConfirmed reports whether a file has a content although its version is not the
// SHA-1 of it, as in repositories with other hashes: GitLab tells the version again, if
// it tells one, and gives the same content again.
func (s *source) isConfirmed(ctx context.Context, p project, path, version string, content []byte) bool {
	if len(content) == 0 {
		return false
	}
	if blob, err := s.fileBlob(ctx, p, path); err != nil && restapi.StatusOf(err) == 0 || err == nil && blob != version {
		return false
	}
	_, again, err := s.readFile(ctx, p, path)
	return err == nil && bytes.Equal(again, content)
}

func blobHash(h hash.Hash, content []byte) string {
	_, _ = fmt.Fprintf(h, "blob %d\x00", len(content))
	_, _ = h.Write(content)
	return hex.EncodeToString(h.Sum(nil))
}

// A note is a comment.
type note struct {
	ID           int64     `json:"id"`
	Body         string    `json:"body"`
	System       bool      `json:"system"`
	Internal     bool      `json:"internal"`
	Confidential bool      `json:"confidential"`
	Author       author    `json:"author"`
	Created      time.Time `json:"created_at"`
}

// notes returns the comments of people in the order of the discussions or, from servers
// that do not show these, in the order of time. Those that fewer people may read than the
// thread are marked. If GitLab shows no comments at all, told is false.
func (s *source) notes(ctx context.Context, p project, kind, number string) (all []note, told bool, err error) {
	type discussion struct {
		ID    string `json:"id"`
		Notes []note `json:"notes"`
	}
	list, err := listAll[discussion](ctx, s, p.path(listOf(kind)+"/"+number+"/discussions"), "the discussions", url.Values{"per_page": {perPage}})
	if isHidden(err) && !errors.Is(err, errScope) {
		query := url.Values{"order_by": {"created_at"}, "sort": {"asc"}, "per_page": {perPage}}
		all, err = listAll[note](ctx, s, p.path(listOf(kind)+"/"+number+"/notes"), "the comments", query)
		if isHidden(err) && !errors.Is(err, errScope) {
			return nil, false, nil
		}
	}
	for _, d := range list {
		if d.ID == "" || len(d.Notes) == 0 {
			return nil, false, errInvalid("a discussion")
		}
		all = append(all, d.Notes...)
	}
	return slices.DeleteFunc(all, func(n note) bool { return n.System }), true, err
}

// render returns an issue or merge request as Markdown.
func render(kind string, p project, t thread, notes []note) []byte {
	var b strings.Builder
	mark, word := "#", "Issue"
	if kind == kindMerge {
		mark, word = "!", "Merge request"
	}
	fmt.Fprintf(&b, "# %s %s%d\n\n%s in %s · %s · by %s", strings.Join(strings.Fields(t.Title), " "), mark, t.IID, word, p.Path, t.State, t.Author.Name)
	if len(t.Labels) > 0 {
		b.WriteString(" · labels: " + strings.Join(t.Labels, ", "))
	}
	b.WriteString("\n\n" + strings.TrimSpace(t.Description) + "\n")
	for _, n := range notes {
		if !n.Internal && !n.Confidential {
			fmt.Fprintf(&b, "\n**%s**, %s:\n\n%s\n", n.Author.Name, n.Created.UTC().Format(time.DateOnly), strings.TrimSpace(n.Body))
		}
	}
	return []byte(strings.ToValidUTF8(b.String(), "?"))
}

// Resolve implements [connectors.Resolver].
func (s *source) Resolve(ctx context.Context, names []string) (found []connectors.Item, missing []string, err error) {
	return connectors.ResolveEach(ctx, names, parallelLookups, func(ctx context.Context, name string) ([]connectors.Item, error) {
		if match := branchPattern.FindStringSubmatch(name); match != nil {
			return s.branchFiles(ctx, match[1], match[2])
		}
		item, err := s.resolve(ctx, name)
		if restapi.StatusOf(err) == http.StatusForbidden && !errors.Is(err, errScope) {
			return nil, nil // a part that the account may not read: it stays as it is
		}
		return []connectors.Item{item}, err
	})
}

// branchPattern matches a branch, which a delivery names if it is not the default one.
var branchPattern = regexp.MustCompile(`(?s)^([1-9]\d{0,17}):` + kindBranch + `:(.+)$`)

// branchFiles returns all files of a branch, or nothing if its files are not read.
func (s *source) branchFiles(ctx context.Context, id, branch string) (items []connectors.Item, err error) {
	list, err := s.projects(ctx)
	if err != nil {
		return nil, err
	}
	i := slices.IndexFunc(list, func(p project) bool { return p.key() == id })
	if i < 0 || !s.applies(stageFiles, list[i]) || s.branch(list[i]) != branch {
		return nil, nil
	}
	for at := (position{}); ; {
		step, err := s.step(ctx, list[i], at)
		if err != nil {
			return nil, fmt.Errorf("list the files of %s: %w", list[i].Path, err)
		}
		if items = append(items, step.items...); step.next == nil {
			return items, nil
		}
		at = *step.next
	}
}

func (s *source) resolve(ctx context.Context, name string) (connectors.Item, error) {
	none := connectors.Item{}
	p, kind, rest, err := s.parseID(ctx, name)
	if errors.Is(err, connectors.ErrNotFound) {
		p, kind, rest, err = s.parsePath(ctx, name)
	}
	if err != nil {
		return none, err
	}
	switch kind {
	case kindFile:
		blob, err := s.fileBlob(ctx, p, rest)
		item, selected := s.fileItem(p, rest, blob)
		if err == nil && !selected {
			err = connectors.ErrNotFound
		}
		return item, err
	case kindWiki:
		var w wikiPage
		_, err := s.get(ctx, p.path("/wikis/"+url.PathEscape(rest)), nil, &w, "slug", "title", "content")
		return s.wikiItem(p, w), err
	case kindSnippet:
		var one snippet
		if _, err := s.get(ctx, p.path("/snippets/"+rest), nil, &one, "id", "updated_at"); err != nil {
			return none, err
		}
		return s.snippetItem(p, one), nil
	}
	t, err := s.thread(ctx, p, kind, rest)
	if err != nil {
		return none, err
	}
	return s.threadItem(p, kind, t), nil
}

// parsePath returns the parts of a path.
func (s *source) parsePath(ctx context.Context, name string) (p project, kind, rest string, err error) {
	list, err := s.projects(ctx)
	if err != nil {
		return p, "", "", err
	}
	for _, p := range list {
		below, ok := strings.CutPrefix(name, p.Path)
		if !ok || len(below) < 2 || len(name) > connectors.MaxIDBytes {
			continue
		}
		for prefix, kind := range map[string]string{"#": kindIssue, "!": kindMerge, ".wiki/": kindWiki, "/": kindFile} {
			rest, ok := strings.CutPrefix(below, prefix)
			if ok && rest != "" && s.applies(strings.Index(kinds, kind), p) && (isNumber(rest) || kind != kindIssue && kind != kindMerge) {
				return p, kind, rest, nil
			}
		}
	}
	return p, "", "", connectors.ErrNotFound
}
