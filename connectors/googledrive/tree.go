package googledrive

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"

	"github.com/magpie-search/magpie/connectors"
)

// A folder is what must be known of a folder.
type folder struct {
	Name   string `json:"n"`
	Parent string `json:"p,omitempty"`
	// Trashed says that the folder is in the trash.
	Trashed bool `json:"t,omitempty"`
	// Owned says that the folder is the user's own.
	Owned bool `json:"o,omitempty"`
	// Shared says that the folder of a shared drive has readers of its own.
	Shared bool `json:"s,omitempty"`
	// Readers is a hash of the ids of the folder's permissions.
	Readers string `json:"r,omitempty"`
	// Changed is the token of the page of changes that last moved the folder. If a
	// sync fails and reads the page again, the folder counts as moved again.
	Changed string `json:"c,omitempty"`
}

// differs reports whether a folder gives the files in it another path or other
// readers.
func (f folder) differs(from folder) bool {
	f.Changed, from.Changed = "", ""
	return f != from
}

const (
	treeShards = 64
	treeKey    = "tree/"
	// generationNext is the tree of a walk that has not ended, generationNow that of
	// the last complete walk and the changes since.
	generationNow, generationNext = "now", "next"
)

// A tree has the folders of a unit, and the shortcuts that are read. It is stored
// in the state in shards. It is safe for concurrent use.
type tree struct {
	key string

	mutex     sync.RWMutex
	folders   map[string]folder
	shortcuts map[string]string // by target
	dirty     map[string]bool   // shards that differ from the state
}

// A shard is the part of a tree that is one value of the state.
type shard struct {
	Folders   map[string]folder `json:"f,omitempty"`
	Shortcuts map[string]string `json:"s,omitempty"`
}

func newTree(u unit, generation string) *tree {
	return &tree{key: treePrefix(u, generation), folders: map[string]folder{}, shortcuts: map[string]string{}, dirty: map[string]bool{}}
}

func treePrefix(u unit, generation string) string {
	sum := sha256.Sum256([]byte(u.key()))
	return treeKey + hex.EncodeToString(sum[:12]) + "/" + generation + "/"
}

func shardOf(id string) string {
	sum := sha256.Sum256([]byte(id))
	return fmt.Sprintf("%02d", sum[0]%treeShards)
}

// loadTree returns a tree from the state.
func (s *source) loadTree(ctx context.Context, u unit, generation string) (*tree, error) {
	key := treePrefix(u, generation)
	s.mutex.Lock()
	have := s.trees[key]
	s.mutex.Unlock()
	if have != nil {
		return have, nil
	}
	made := newTree(u, generation)
	keys, err := s.state.Keys(ctx, key)
	if err != nil {
		return nil, fmt.Errorf("read the folders: %w", err)
	}
	for _, key := range keys {
		var part shard
		if _, err := connectors.GetJSON(ctx, s.state, key, &part); err != nil {
			return nil, err
		}
		maps.Copy(made.folders, part.Folders)
		maps.Copy(made.shortcuts, part.Shortcuts)
	}
	s.mutex.Lock()
	defer s.mutex.Unlock()
	if have := s.trees[key]; have != nil {
		return have, nil
	}
	s.trees[key] = made
	return made, nil
}

// currentTree returns the tree of the walk that runs or, without one, the last.
func (s *source) currentTree(ctx context.Context, u unit) (*tree, error) {
	next, err := s.loadTree(ctx, u, generationNext)
	if err != nil || next.size() > 0 {
		return next, err
	}
	return s.loadTree(ctx, u, generationNow)
}

func (t *tree) size() int {
	t.mutex.RLock()
	defer t.mutex.RUnlock()
	return len(t.folders)
}

func (t *tree) folder(id string) (folder, bool) {
	t.mutex.RLock()
	defer t.mutex.RUnlock()
	f, ok := t.folders[id]
	return f, ok
}

func (t *tree) put(id string, f folder) {
	t.mutex.Lock()
	defer t.mutex.Unlock()
	if have, ok := t.folders[id]; ok && have == f {
		return
	}
	t.folders[id] = f
	t.dirty[shardOf(id)] = true
}

// shortcut returns the shortcut that stands for a target, "" for none.
func (t *tree) shortcut(target string) string {
	t.mutex.RLock()
	defer t.mutex.RUnlock()
	return t.shortcuts[target]
}

func (t *tree) putShortcut(target, id string) {
	t.mutex.Lock()
	defer t.mutex.Unlock()
	if t.shortcuts[target] != id {
		t.shortcuts[target] = id
		t.dirty[shardOf(target)] = true
	}
}

// targetOf returns the target of a shortcut that is read, "" for none.
func (t *tree) targetOf(shortcut string) string {
	t.mutex.RLock()
	defer t.mutex.RUnlock()
	for target, id := range t.shortcuts {
		if id == shortcut {
			return target
		}
	}
	return ""
}

// folderIDs returns the ids of the folders after one, sorted.
func (t *tree) folderIDs(after string) []string {
	t.mutex.RLock()
	defer t.mutex.RUnlock()
	var ids []string
	for id := range t.folders {
		if id > after {
			ids = append(ids, id)
		}
	}
	slices.Sort(ids)
	return ids
}

// saveTree writes the shards that changed.
func (s *source) saveTree(ctx context.Context, t *tree) error {
	t.mutex.Lock()
	defer t.mutex.Unlock()
	if len(t.dirty) == 0 {
		return nil
	}
	shards := map[string]shard{}
	for name := range t.dirty {
		shards[name] = shard{Folders: map[string]folder{}, Shortcuts: map[string]string{}}
	}
	for id, f := range t.folders {
		if in, ok := shards[shardOf(id)]; ok {
			in.Folders[id] = f
		}
	}
	for target, id := range t.shortcuts {
		if in, ok := shards[shardOf(target)]; ok {
			in.Shortcuts[target] = id
		}
	}
	for name, part := range shards {
		data, err := json.Marshal(part)
		if err != nil {
			return fmt.Errorf("encode the folders: %w", err)
		}
		if len(data) > connectors.MaxStateValue {
			return connectors.Fatal(errors.New("a drive has more folders than can be remembered; name some of its folders in config." + optionFolders))
		}
		if err := s.state.Put(ctx, t.key+name, data); err != nil {
			return fmt.Errorf("store the folders: %w", err)
		}
	}
	clear(t.dirty)
	return nil
}

// clearTree deletes a tree.
func (s *source) clearTree(ctx context.Context, u unit, generation string) error {
	key := treePrefix(u, generation)
	s.mutex.Lock()
	delete(s.trees, key)
	s.mutex.Unlock()
	if err := s.state.DeletePrefix(ctx, key); err != nil {
		return fmt.Errorf("forget the folders: %w", err)
	}
	return nil
}

// completeTree makes the tree of a walk the current one.
func (s *source) completeTree(ctx context.Context, u unit, walked *tree) error {
	if err := s.clearTree(ctx, u, generationNow); err != nil {
		return err
	}
	now := newTree(u, generationNow)
	walked.mutex.RLock()
	for id, f := range walked.folders {
		now.put(id, f)
	}
	for target, id := range walked.shortcuts {
		now.putShortcut(target, id)
	}
	walked.mutex.RUnlock()
	if err := s.saveTree(ctx, now); err != nil {
		return err
	}
	s.cacheTree(now)
	return s.clearTree(ctx, u, generationNext)
}

func (s *source) cacheTree(t *tree) {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	s.trees[t.key] = t
}

// newFolder returns what must be known of a folder of the API.
func newFolder(f *file) folder {
	made := folder{Name: f.Name, Parent: f.parent(), Trashed: f.Trashed, Owned: f.OwnedByMe == nil || *f.OwnedByMe}
	if f.DriveID != "" {
		made.Shared = f.HasAugmentedPermissions == nil || *f.HasAugmentedPermissions || f.InheritedPermissionsDisabled
	}
	if len(f.PermissionIDs) > 0 {
		ids := slices.Sorted(slices.Values(f.PermissionIDs))
		sum := sha256.Sum256([]byte(strings.Join(ids, "\n")))
		made.Readers = hex.EncodeToString(sum[:6])
	}
	return made
}

// placeOf returns the path of a file in a unit. It reports false if the file does
// not belong to the unit.
func (s *source) placeOf(u unit, t *tree, f *file) (string, bool) {
	if f.Trashed || f.DriveID != u.driveID() {
		return "", false
	}
	segments := []string{s.nameOf(f.Name, f.MimeType)}
	owned := f.OwnedByMe == nil || *f.OwnedByMe
	top := f.parent()
	for depth := 0; depth < maxDepth && top != u.ID; depth++ {
		above, known := t.folder(top)
		if !known {
			break
		}
		if above.Trashed {
			return "", false
		}
		owned = owned || above.Owned
		segments = append(segments, segment(above.Name))
		top = above.Parent
	}
	prefix := u.prefix()
	switch {
	case u.Type == unitFolder && top != u.ID:
		return "", false
	case u.Type != unitUser:
	case owned || u.Root != "" && top == u.Root:
		if !s.settings.Boolean(optionMyDrive) {
			return "", false
		}
	case !s.includesShared() || s.isListedByOwner(u, f):
		return "", false
	case u.Subject != "":
		prefix += "/" + sharedPrefix
	default:
		prefix = sharedPrefix
	}
	segments = append(segments, prefix)
	slices.Reverse(segments)
	return strings.Join(segments, "/"), true
}
