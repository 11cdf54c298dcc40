package github

import (
	"bytes"
	"compress/gzip"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/url"
	"slices"
	"sort"
	"strings"

	"github.com/magpie-search/magpie/connectors"
	"github.com/magpie-search/magpie/connectors/restapi"
)

// An entry is a file of a tree, or a folder of an incomplete tree.
type entry struct {
	Path string `json:"p"`
	SHA  string `json:"s"`
	Size int64  `json:"n,omitempty"`
	Tree bool   `json:"t,omitempty"`
}

// key sorts entries in the order of the complete paths of files.
func (e entry) key() string {
	if e.Tree {
		return e.Path + "/"
	}
	return e.Path
}

// A tree is the tree of a branch. Without a root, it is empty.
type tree struct {
	root     string
	folders  map[string][]entry // by hash of the folder
	complete map[string]bool    // by hash: the list has all that is below the folder
	size     int
}

// maxTreeEntries bounds the entries in memory of a tree that GitHub does not
// list at once.
const maxTreeEntries = 300_000

// maxSavedTree is the largest decompressed size of the tree in the state, in bytes.
const maxSavedTree = 64 << 20

// branchTree returns the hash of the followed branch's tree. It is "" for an
// empty repository, and if owner/* includes a repository that lacks the branch
// of the config.
func (s *source) branchTree(ctx context.Context, r repo) (string, error) {
	branch := s.config.followedBranch(r)
	if !isBranchName(branch) {
		return "", connectors.Fatal(fmt.Errorf("the branch of %s cannot be: correct config.%s", r.FullName, optionBranch))
	}
	type branchResponse struct {
		Commit struct {
			Commit struct {
				Tree struct {
					SHA string `json:"sha"`
				} `json:"tree"`
			} `json:"commit"`
		} `json:"commit"`
	}
	found, _, _, err := getCached[branchResponse](ctx, s, r.stateKey("branch"), restapi.Request{
		Path: r.path("/branches/" + escapePath(branch)), RequiredFields: []string{"commit.commit.tree.sha"},
	}, nil)
	if errors.Is(err, connectors.ErrNotFound) {
		empty, emptyErr := s.isEmpty(ctx, r)
		switch {
		case empty:
			return "", nil
		case emptyErr != nil:
			return "", fmt.Errorf("look into the repository %s: %w", r.FullName, missingIsFatal(emptyErr, r))
		}
		if !s.isNamed(r) {
			return "", nil
		}
		return "", connectors.Fatal(fmt.Errorf("the repository %s has no branch %s; correct config.%s", r.FullName, branch, optionBranch))
	}
	if err != nil {
		return "", fmt.Errorf("ask for the branch %s of %s: %w", branch, r.FullName, err)
	}
	sha := found.Commit.Commit.Tree.SHA
	if !isSHA(sha) {
		return "", connectors.Retryable(errors.New("GitHub names a branch without a tree"), 0)
	}
	return sha, nil
}

func isSHA(text string) bool {
	return (len(text) == 40 || len(text) == 64) && strings.Trim(text, "0123456789abcdef") == ""
}

// missingIsFatal turns ErrNotFound into a fatal error, where a missing part
// must not be treated as deleted.
func missingIsFatal(err error, r repo) error {
	if errors.Is(err, connectors.ErrNotFound) {
		return errUnreachable(r.FullName)
	}
	return err
}

// loadTree returns the current tree of the followed branch. Without refresh, a
// tree that was loaded before suffices.
func (s *source) loadTree(ctx context.Context, r repo, refresh bool) (*tree, error) {
	s.mutex.Lock()
	t := s.trees[r.ID]
	s.mutex.Unlock()
	if t != nil && !refresh {
		return t, nil
	}
	sha, err := s.branchTree(ctx, r)
	switch {
	case err != nil:
		return nil, err
	case sha == "":
		return &tree{}, nil
	case t != nil && t.root == sha:
		return t, nil
	}
	t = &tree{root: sha, folders: map[string][]entry{}, complete: map[string]bool{}}
	if list, ok, err := s.loadSavedTree(ctx, r, sha); err != nil {
		return nil, err
	} else if ok {
		t.folders[sha], t.complete[sha] = list, true
	}
	s.mutex.Lock()
	defer s.mutex.Unlock()
	clear(s.trees) // repositories are walked one by one
	s.trees[r.ID] = t
	return t, nil
}

// forgetTree makes the next loadTree request the branch.
func (s *source) forgetTree(r repo) {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	delete(s.trees, r.ID)
}

// folder returns what is below a folder of a tree, sorted by complete paths. If
// GitHub cannot list that at once, complete is false and list is what is in the
// folder.
func (s *source) folder(ctx context.Context, r repo, t *tree, sha string) (list []entry, complete bool, err error) {
	s.mutex.Lock()
	list, known := t.folders[sha]
	complete = t.complete[sha]
	s.mutex.Unlock()
	if known {
		return list, complete, nil
	}
	list, complete, err = s.requestTree(ctx, r, sha, true)
	if err == nil && !complete {
		if list, complete, err = s.requestTree(ctx, r, sha, false); err == nil && !complete {
			err = connectors.Fatal(fmt.Errorf("a folder of %s has more entries than GitHub can list", r.FullName))
		}
		complete = false
	}
	if err != nil {
		return nil, false, err
	}
	if complete && sha == t.root {
		if err := s.saveTree(ctx, r, sha, list); err != nil {
			return nil, false, err
		}
	}
	s.mutex.Lock()
	defer s.mutex.Unlock()
	if t.size += len(list); t.size > maxTreeEntries {
		clear(t.folders)
		t.size = len(list)
	}
	t.folders[sha], t.complete[sha] = list, complete
	return list, complete, nil
}

// requestTree requests a tree. complete is false if GitHub truncated it.
func (s *source) requestTree(ctx context.Context, r repo, sha string, recursive bool) (list []entry, complete bool, err error) {
	var result struct {
		SHA       string `json:"sha"`
		Truncated bool   `json:"truncated"`
		Tree      []struct {
			Path string `json:"path"`
			Mode string `json:"mode"`
			Type string `json:"type"`
			SHA  string `json:"sha"`
			Size int64  `json:"size"`
		} `json:"tree"`
	}
	query := url.Values{}
	if recursive {
		query.Set("recursive", "1")
	}
	_, err = s.api.JSON(ctx, restapi.Request{
		Path: r.path("/git/trees/" + sha), Query: query, RequiredFields: []string{"sha", "tree", "truncated"},
	}, &result)
	if errors.Is(err, connectors.ErrNotFound) { // the branch has just named it
		err = connectors.Retryable(errors.New("GitHub does not have the tree that it names"), 0)
	}
	if err != nil {
		return nil, false, fmt.Errorf("list the files of %s: %w", r.FullName, err)
	}
	if result.Truncated {
		return nil, false, nil
	}
	if result.SHA != sha {
		return nil, false, connectors.Retryable(fmt.Errorf("list the files of %s: GitHub answered with another tree than was asked for; %s", r.FullName, checkAdvice), 0)
	}
	for _, e := range result.Tree {
		if e.Path == "" || e.Mode == "" || e.Type == "" || !isSHA(e.SHA) {
			return nil, false, connectors.Retryable(fmt.Errorf("list the files of %s: GitHub answered with a tree whose entries cannot be; %s", r.FullName, checkAdvice), 0)
		}
		file := e.Type == "blob" && e.Mode != "120000" // no symbolic link
		folder := e.Type == "tree" && !recursive
		if !isValidPath(e.Path) || !file && !folder {
			continue
		}
		list = append(list, entry{Path: e.Path, SHA: e.SHA, Size: e.Size, Tree: folder})
	}
	slices.SortFunc(list, func(a, b entry) int { return strings.Compare(a.key(), b.key()) })
	return list, true, nil
}

// eachFileAfter yields the files after a path, sorted by path, until yield
// returns false; then more is true.
func (s *source) eachFileAfter(ctx context.Context, r repo, t *tree, sha, prefix, path string, take func(entry) bool) (more bool, err error) {
	list, complete, err := s.folder(ctx, r, t, sha)
	if err != nil {
		return false, err
	}
	at := 0
	if path != "" {
		at = sort.Search(len(list), func(i int) bool {
			key := prefix + list[i].key()
			return key > path || list[i].Tree && strings.HasPrefix(path, key)
		})
	}
	for _, e := range list[at:] {
		e.Path = prefix + e.Path
		if e.Tree && !complete {
			more, err := s.eachFileAfter(ctx, r, t, e.SHA, e.Path+"/", path, take)
			if err != nil || more {
				return more, err
			}
			continue
		}
		if !take(e) {
			return true, nil
		}
	}
	return false, nil
}

// findFile returns the file at a path.
func (s *source) findFile(ctx context.Context, r repo, t *tree, path string) (entry, bool, error) {
	sha, rest := t.root, path
	for range strings.Count(path, "/") + 1 {
		list, complete, err := s.folder(ctx, r, t, sha)
		if err != nil {
			return entry{}, false, err
		}
		name, below, deeper := strings.Cut(rest, "/")
		if complete {
			name, deeper = rest, false
		}
		key := entry{Path: name, Tree: deeper}.key()
		at, ok := slices.BinarySearchFunc(list, key, func(e entry, key string) int { return strings.Compare(e.key(), key) })
		if !ok {
			return entry{}, false, nil
		}
		if !deeper {
			found := list[at]
			found.Path = path
			return found, true, nil
		}
		sha, rest = list[at].SHA, below
	}
	return entry{}, false, nil
}

// A savedTree is a complete tree in the state.
type savedTree struct {
	Root string  `json:"root"`
	List []entry `json:"list"`
}

// loadSavedTree returns the entries of the tree in the state. It reports false if
// the state has none of this root.
func (s *source) loadSavedTree(ctx context.Context, r repo, root string) (list []entry, ok bool, err error) {
	if s.state == nil {
		return nil, false, nil
	}
	data, err := s.state.Get(ctx, r.stateKey("tree"))
	if err != nil {
		return nil, false, fmt.Errorf("read the saved tree: %w", err)
	}
	unpacked, err := gzip.NewReader(bytes.NewReader(data))
	if err != nil {
		return nil, false, nil
	}
	var saved savedTree
	if err := json.NewDecoder(io.LimitReader(unpacked, maxSavedTree)).Decode(&saved); err != nil || saved.Root != root {
		return nil, false, nil
	}
	return saved.List, true, nil
}

func (s *source) saveTree(ctx context.Context, r repo, sha string, list []entry) error {
	if s.state == nil {
		return nil
	}
	var packed bytes.Buffer
	w := gzip.NewWriter(&packed)
	if err := errors.Join(json.NewEncoder(w).Encode(savedTree{Root: sha, List: list}), w.Close()); err != nil {
		return fmt.Errorf("encode the tree: %w", err)
	}
	if packed.Len() > connectors.MaxStateValue {
		return nil
	}
	if err := s.state.Put(ctx, r.stateKey("tree"), packed.Bytes()); err != nil {
		return fmt.Errorf("save the tree: %w", err)
	}
	return nil
}
