package sharepoint

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/magpie-search/magpie/connectors"
)

// A delta names neither the paths of its items nor what is in a folder that was
// moved, deleted or shared. So the state has a record of each library: its folders,
// with their names, and the ids of its files with their folders. A walk writes a
// new generation of the record in chunks, one for each page of the delta; the feed
// appends to the current generation. Later entries replace earlier ones.
const (
	foldersKey = "folders/"
	filesKey   = "files/"
	currentKey = "current/"
	// maxChunkEntries is the size from which the feed begins another chunk.
	maxChunkEntries = 1000
)

// A record entry is a folder or file of a library. Files have no name.
type recordEntry struct {
	ID      string `json:"i"`
	Parent  string `json:"p,omitempty"`
	Name    string `json:"n,omitempty"`
	Root    bool   `json:"r,omitempty"`
	Shared  bool   `json:"s,omitempty"`
	Deleted bool   `json:"d,omitempty"`
}

// hashKey returns a short text for a key of the state.
func hashKey(text string) string {
	sum := sha256.Sum256([]byte(text))
	return hex.EncodeToString(sum[:12])
}

// A record is what the state knows of a library or list. It is safe for use by one
// goroutine.
type record struct {
	state      connectors.State
	part       string // hash of the part's key
	generation int
	folders    map[string]recordEntry // nil before loadFolders
	files      map[string]string      // parents by id, nil before loadFiles
}

// currentGeneration returns the generation that the feed uses, 0 for none.
func currentGeneration(ctx context.Context, state connectors.State, p part) (int, error) {
	var generation int
	_, err := connectors.GetJSON(ctx, state, currentKey+hashKey(p.key()), &generation)
	return generation, err
}

func newRecord(state connectors.State, p part, generation int) *record {
	return &record{state: state, part: hashKey(p.key()), generation: generation}
}

func (r *record) prefix(key string) string {
	return key + r.part + "/" + strconv.Itoa(r.generation) + "/"
}

// begin deletes what an interrupted walk has left of the generation.
func (r *record) begin(ctx context.Context) error {
	for _, key := range []string{foldersKey, filesKey} {
		if err := r.state.DeletePrefix(ctx, r.prefix(key)); err != nil {
			return fmt.Errorf("write the connector's state: %w", err)
		}
	}
	r.folders, r.files = nil, nil
	return nil
}

// commit makes the generation the current one and deletes the others.
func (r *record) commit(ctx context.Context) error {
	if err := connectors.PutJSON(ctx, r.state, currentKey+r.part, r.generation); err != nil {
		return err
	}
	for _, key := range []string{foldersKey, filesKey} {
		names, err := r.state.Keys(ctx, key+r.part+"/")
		if err != nil {
			return fmt.Errorf("read the connector's state: %w", err)
		}
		stale := map[string]bool{}
		for _, name := range names {
			generation, _, _ := strings.Cut(strings.TrimPrefix(name, key+r.part+"/"), "/")
			if generation != strconv.Itoa(r.generation) {
				stale[generation] = true
			}
		}
		for generation := range stale {
			if err := r.state.DeletePrefix(ctx, key+r.part+"/"+generation+"/"); err != nil {
				return fmt.Errorf("write the connector's state: %w", err)
			}
		}
	}
	return nil
}

// drop deletes the record of a part that is no longer walked.
func (r *record) drop(ctx context.Context) error {
	for _, prefix := range []string{foldersKey + r.part + "/", filesKey + r.part + "/", currentKey + r.part} {
		if err := r.state.DeletePrefix(ctx, prefix); err != nil {
			return fmt.Errorf("write the connector's state: %w", err)
		}
	}
	return nil
}

// put writes a chunk. The number makes the writes of a repeated page equal.
func (r *record) put(ctx context.Context, number int, folders, files []recordEntry) error {
	for key, entries := range map[string][]recordEntry{foldersKey: folders, filesKey: files} {
		if len(entries) == 0 {
			continue
		}
		if err := connectors.PutJSON(ctx, r.state, r.prefix(key)+fmt.Sprintf("%08d", number), entries); err != nil {
			return err
		}
	}
	r.remember(folders, files)
	return nil
}

// add appends entries to the last chunk, or writes another one.
func (r *record) add(ctx context.Context, folders, files []recordEntry) error {
	for key, entries := range map[string][]recordEntry{foldersKey: folders, filesKey: files} {
		if len(entries) == 0 {
			continue
		}
		names, err := r.state.Keys(ctx, r.prefix(key))
		if err != nil {
			return fmt.Errorf("read the connector's state: %w", err)
		}
		number := 0
		if len(names) > 0 {
			last := names[len(names)-1]
			number, _ = strconv.Atoi(last[strings.LastIndexByte(last, '/')+1:])
			var chunk []recordEntry
			if _, err := connectors.GetJSON(ctx, r.state, last, &chunk); err != nil {
				return err
			}
			if len(chunk)+len(entries) <= maxChunkEntries {
				entries = mergeEntries(chunk, entries)
			} else {
				number++
			}
		}
		if err := connectors.PutJSON(ctx, r.state, r.prefix(key)+fmt.Sprintf("%08d", number), entries); err != nil {
			return err
		}
	}
	r.remember(folders, files)
	return nil
}

// mergeEntries returns the entries of both lists, the last ones of each id.
func mergeEntries(before, after []recordEntry) []recordEntry {
	replaced := map[string]bool{}
	for _, e := range after {
		replaced[e.ID] = true
	}
	merged := slices.DeleteFunc(slices.Clone(before), func(e recordEntry) bool { return replaced[e.ID] })
	return append(merged, after...)
}

// remember adds entries to what has been loaded.
func (r *record) remember(folders, files []recordEntry) {
	if r.folders != nil {
		for _, e := range folders {
			if r.folders[e.ID] = e; e.Deleted {
				delete(r.folders, e.ID)
			}
		}
	}
	if r.files != nil {
		for _, e := range files {
			if r.files[e.ID] = e.Parent; e.Deleted {
				delete(r.files, e.ID)
			}
		}
	}
}

func (r *record) load(ctx context.Context, key string) ([]recordEntry, error) {
	names, err := r.state.Keys(ctx, r.prefix(key))
	if err != nil {
		return nil, fmt.Errorf("read the connector's state: %w", err)
	}
	var all []recordEntry
	for _, name := range names {
		var chunk []recordEntry
		if _, err := connectors.GetJSON(ctx, r.state, name, &chunk); err != nil {
			return nil, err
		}
		all = append(all, chunk...)
	}
	return all, nil
}

func (r *record) loadFolders(ctx context.Context) error {
	if r.folders != nil {
		return nil
	}
	entries, err := r.load(ctx, foldersKey)
	if err == nil {
		r.folders = map[string]recordEntry{}
		r.remember(entries, nil)
	}
	return err
}

func (r *record) loadFiles(ctx context.Context) error {
	if r.files != nil {
		return nil
	}
	entries, err := r.load(ctx, filesKey)
	if err == nil {
		r.files = map[string]string{}
		r.remember(nil, entries)
	}
	return err
}

// maxDepth bounds the folders above an item, against circles.
const maxDepth = 400

// isBelow reports whether a folder is another one or below it.
func (r *record) isBelow(id, ancestor string) bool {
	for range maxDepth {
		if id == ancestor {
			return true
		}
		e, known := r.folders[id]
		if !known || e.Parent == "" {
			return false
		}
		id = e.Parent
	}
	return false
}

// filesBelow returns the ids of the files in a folder and the folders below it. ""
// is the whole library.
func (r *record) filesBelow(ctx context.Context, folder string) ([]string, error) {
	if err := r.loadFolders(ctx); err != nil {
		return nil, err
	}
	if err := r.loadFiles(ctx); err != nil {
		return nil, err
	}
	var found []string
	below := map[string]bool{}
	for _, id := range slices.Sorted(maps.Keys(r.files)) {
		parent := r.files[id]
		in, cached := below[parent]
		if !cached {
			in = folder == "" || r.isBelow(parent, folder)
			below[parent] = in
		}
		if in {
			found = append(found, id)
		}
	}
	return found, nil
}

// foldersBelow returns the ids of the folders below a folder, without itself.
func (r *record) foldersBelow(ctx context.Context, folder string) ([]string, error) {
	if err := r.loadFolders(ctx); err != nil {
		return nil, err
	}
	var found []string
	for _, id := range slices.Sorted(maps.Keys(r.folders)) {
		if id != folder && r.isBelow(id, folder) {
			found = append(found, id)
		}
	}
	return found, nil
}
