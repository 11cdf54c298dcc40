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

// entry is a file of a tree, or a folder where the tree is a folder's alone.
type entry struct {
	Path string `json:"p"`
	SHA  string `json:"s"`
	Size int64  `json:"n,omitempty"`
	Tree bool   `json:"t,omitempty"`
}

// key puts entries in the order of the whole paths of files.
func (e entry) key() string {
	if e.Tree {
		return e.Path + "/"
	}
	return e.Path
}

// tree is what a branch holds.
type tree struct {
	root  string
	lists map[string][]entry // by the hash of the folder, what is in it
	whole map[string]bool    // that the list is of all that is below the folder
	size  int
}

// maxListed bounds how many entries are kept of a tree that GitHub does not give whole.
const maxListed = 300_000

// tip asks for the tree of the followed branch; "" for an empty repository, and
// for one that owner/* brought and that lacks the branch of the config.
func (s *source) tip(ctx context.Context, r repo) (string, error) {
	branch := s.config.branchOf(r)
	if !properBranch(branch) {
		return "", connectors.Fatal(fmt.Errorf("the branch of %s cannot be: correct config.%s", r.FullName, optionBranch))
	}
	type answer struct {
		Commit struct {
			Commit struct {
				Tree struct {
					SHA string `json:"sha"`
				} `json:"tree"`
			} `json:"commit"`
		} `json:"commit"`
	}
	found, _, _, err := ask[answer](ctx, s, r.note("branch"), restapi.Request{
		Path: r.path("/branches/" + escaped(branch)), RequiredFields: []string{"commit.commit.tree.sha"},
	}, nil)
	if errors.Is(err, connectors.ErrNotFound) {
		empty, emptyErr := s.isEmpty(ctx, r)
		switch {
		case empty:
			return "", nil
		case emptyErr != nil:
			return "", fmt.Errorf("look into the repository %s: %w", r.FullName, stopped(emptyErr, r))
		}
		if !s.names(r) {
			return "", nil // one of an owner's that does not have the branch
		}
		return "", connectors.Fatal(fmt.Errorf("the repository %s has no branch %s; correct config.%s", r.FullName, branch, optionBranch))
	}
	if err != nil {
		return "", fmt.Errorf("ask for the branch %s of %s: %w", branch, r.FullName, err)
	}
	sha := found.Commit.Commit.Tree.SHA
	if !properSHA(sha) {
		return "", connectors.Retryable(errors.New("GitHub names a branch without a tree"), 0)
	}
	return sha, nil
}

func properSHA(text string) bool {
	return (len(text) == 40 || len(text) == 64) && strings.Trim(text, "0123456789abcdef") == ""
}

// stopped makes an error of one that says that something is not there, where
// that is no reason to go on without it.
func stopped(err error, r repo) error {
	if errors.Is(err, connectors.ErrNotFound) {
		return unreached(r.FullName)
	}
	return err
}

// treeOf is the newest tree of the followed branch; nil where tip has none.
// Where again is false, one that was asked for already will do.
func (s *source) treeOf(ctx context.Context, r repo, again bool) (*tree, error) {
	s.mutex.Lock()
	t := s.trees[r.ID]
	s.mutex.Unlock()
	if t != nil && !again {
		return t, nil
	}
	sha, err := s.tip(ctx, r)
	if err != nil || sha == "" {
		return nil, err
	}
	if t != nil && t.root == sha {
		return t, nil
	}
	t = &tree{root: sha, lists: map[string][]entry{}, whole: map[string]bool{}}
	if list, err := s.recallTree(ctx, r, sha); err != nil {
		return nil, err
	} else if list != nil {
		t.lists[sha], t.whole[sha] = list, true
	}
	s.mutex.Lock()
	defer s.mutex.Unlock()
	clear(s.trees) // one repository after the other
	s.trees[r.ID] = t
	return t, nil
}

// outdated says that what is known of a branch is not the newest.
func (s *source) outdated(r repo) {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	delete(s.trees, r.ID)
}

// folder is what is below a folder of a tree, in the order of whole paths: all
// of it (whole), or where GitHub cannot give that at once, what is in it.
func (s *source) folder(ctx context.Context, r repo, t *tree, sha string) (list []entry, whole bool, err error) {
	s.mutex.Lock()
	list, known := t.lists[sha]
	whole = t.whole[sha]
	s.mutex.Unlock()
	if known {
		return list, whole, nil
	}
	list, whole, err = s.askTree(ctx, r, sha, true)
	if err == nil && !whole {
		if list, whole, err = s.askTree(ctx, r, sha, false); err == nil && !whole {
			err = connectors.Fatal(fmt.Errorf("a folder of %s has more entries than GitHub can list", r.FullName))
		}
		whole = false
	}
	if err != nil {
		return nil, false, err
	}
	if whole && sha == t.root {
		if err := s.rememberTree(ctx, r, sha, list); err != nil {
			return nil, false, err
		}
	}
	s.mutex.Lock()
	defer s.mutex.Unlock()
	if t.size += len(list); t.size > maxListed {
		clear(t.lists)
		t.size = len(list)
	}
	t.lists[sha], t.whole[sha] = list, whole
	return list, whole, nil
}

// askTree asks for a tree; whole is false when GitHub cut it off.
func (s *source) askTree(ctx context.Context, r repo, sha string, recursive bool) (list []entry, whole bool, err error) {
	var answer struct {
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
	}, &answer)
	if errors.Is(err, connectors.ErrNotFound) { // the branch has just named it
		err = connectors.Retryable(errors.New("GitHub does not have the tree that it names"), 0)
	}
	if err != nil {
		return nil, false, fmt.Errorf("list the files of %s: %w", r.FullName, err)
	}
	if answer.Truncated {
		return nil, false, nil
	}
	if answer.SHA != sha {
		return nil, false, connectors.Retryable(fmt.Errorf("list the files of %s: GitHub answered with another tree than was asked for; %s", r.FullName, advice), 0)
	}
	for _, e := range answer.Tree {
		if e.Path == "" || e.Mode == "" || e.Type == "" || !properSHA(e.SHA) {
			return nil, false, connectors.Retryable(fmt.Errorf("list the files of %s: GitHub answered with a tree whose entries cannot be; %s", r.FullName, advice), 0)
		}
		file := e.Type == "blob" && e.Mode != "120000" // no symbolic link
		folder := e.Type == "tree" && !recursive
		if !properPath(e.Path) || !file && !folder {
			continue
		}
		list = append(list, entry{Path: e.Path, SHA: e.SHA, Size: e.Size, Tree: folder})
	}
	slices.SortFunc(list, func(a, b entry) int { return strings.Compare(a.key(), b.key()) })
	return list, true, nil
}

// after gives files to take in the order of their paths, those that follow a
// path, until take returns false.
func (s *source) after(ctx context.Context, r repo, t *tree, sha, prefix, path string, take func(entry) bool) (more bool, err error) {
	list, whole, err := s.folder(ctx, r, t, sha)
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
		if e.Tree && !whole {
			more, err := s.after(ctx, r, t, e.SHA, e.Path+"/", path, take)
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

// find looks up a file.
func (s *source) find(ctx context.Context, r repo, t *tree, path string) (entry, bool, error) {
	sha, rest := t.root, path
	for range strings.Count(path, "/") + 1 {
		list, whole, err := s.folder(ctx, r, t, sha)
		if err != nil {
			return entry{}, false, err
		}
		name, below, deeper := strings.Cut(rest, "/")
		if whole {
			name, deeper = rest, false
		}
		wanted := entry{Path: name, Tree: deeper}.key()
		at, there := slices.BinarySearchFunc(list, wanted, func(e entry, key string) int { return strings.Compare(e.key(), key) })
		if !there {
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

// treeNote is a tree that was listed whole.
type treeNote struct {
	Root string  `json:"root"`
	List []entry `json:"list"`
}

func (s *source) recallTree(ctx context.Context, r repo, sha string) ([]entry, error) {
	if s.notes == nil {
		return nil, nil
	}
	data, err := s.notes.Get(ctx, r.note("tree"))
	if err != nil {
		return nil, fmt.Errorf("read a note: %w", err)
	}
	unpacked, err := gzip.NewReader(bytes.NewReader(data))
	if err != nil {
		return nil, nil // no note, or none of this version
	}
	var note treeNote
	if err := json.NewDecoder(io.LimitReader(unpacked, 64<<20)).Decode(&note); err != nil || note.Root != sha {
		return nil, nil // no note, or none of this version
	}
	if note.List == nil {
		note.List = []entry{}
	}
	return note.List, nil
}

func (s *source) rememberTree(ctx context.Context, r repo, sha string, list []entry) error {
	if s.notes == nil {
		return nil
	}
	var packed bytes.Buffer
	w := gzip.NewWriter(&packed)
	if err := errors.Join(json.NewEncoder(w).Encode(treeNote{Root: sha, List: list}), w.Close()); err != nil {
		return fmt.Errorf("encode a note: %w", err)
	}
	if packed.Len() > maxNote {
		return nil
	}
	if err := s.notes.Put(ctx, r.note("tree"), packed.Bytes()); err != nil {
		return fmt.Errorf("write a note: %w", err)
	}
	return nil
}
