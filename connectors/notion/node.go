package notion

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/magpie-search/magpie/connectors"
	"github.com/magpie-search/magpie/connectors/restapi"
)

// A node is what is kept of a page or data source.
type node struct {
	ID    string `json:"i"`
	Title string `json:"t,omitempty"`
	// Parent is the page or data source above, "" for none. Raw is the parent as the
	// API names it, which may be a block.
	Parent string `json:"p,omitempty"`
	Raw    string `json:"r,omitempty"`
	// Database is the id of a data source's database. Source marks a data source.
	Database string `json:"d,omitempty"`
	Source   bool   `json:"s,omitempty"`
	URL      string `json:"u,omitempty"`
	Created  int64  `json:"c,omitempty"`
	Edited   int64  `json:"e"` // in Unix seconds
	// Unsettled is the time at which the page was listed if that was soon after its
	// edit: the time of edits is in minutes, so that another edit may follow.
	Unsettled int64 `json:"n,omitempty"`
	// Files are the files in the properties of a row.
	Files []propertyFile `json:"f,omitempty"`
}

// A propertyFile is a file in a property of a row.
type propertyFile struct {
	Property string `json:"p"`
	Index    int    `json:"i"`
	Name     string `json:"n"`
	Version  string `json:"v"`
}

// settledAfter is the age of an edit after which another edit has another time.
const settledAfter = 2 * time.Minute

// version changes with each edit.
func (n *node) version() string {
	text := time.Unix(n.Edited, 0).UTC().Format(time.RFC3339)
	if n.Unsettled != 0 {
		text += fmt.Sprintf("~%d", n.Unsettled)
	}
	return text
}

// newNode returns the node of an object.
func (s *source) newNode(ctx context.Context, o *object) (node, error) {
	n := node{ID: o.ID, Title: truncated(o.title()), URL: o.URL, Edited: o.Edited.Unix(), Source: o.Object == "data_source"}
	if !o.Created.IsZero() {
		n.Created = o.Created.Unix()
	}
	// A time with seconds is not rounded. One far in the future is another clock's.
	rounded := o.Edited.Second() == 0 && o.Edited.Nanosecond() == 0
	if now := s.client.now(); !n.Source && rounded && now.Sub(o.Edited.Time).Abs() < settledAfter {
		n.Unsettled = now.Unix()
	}
	above := o.Parent
	if n.Source {
		if o.Parent != nil {
			n.Database = o.Parent.DatabaseID
		}
		above = o.DatabaseParent
	} else if s.withFiles {
		n.Files = propertyFiles(o.Properties)
	}
	if above == nil {
		return n, nil
	}
	raw := cmp.Or(above.DataSourceID, above.PageID, above.BlockID, above.DatabaseID)
	n.Raw, n.Parent = raw, raw
	if above.BlockID != "" && above.DataSourceID+above.PageID == "" {
		var err error
		if n.Parent, err = s.pageOfBlock(ctx, raw); err != nil {
			return n, err
		}
	}
	return n, nil
}

func truncated(title string) string {
	const most = 300
	if len(title) > most {
		return strings.ToValidUTF8(title[:most], "") + "…"
	}
	return title
}

// pageOfBlock returns the page or database that a block is in, "" for none.
func (s *source) pageOfBlock(ctx context.Context, id string) (string, error) {
	s.mutex.Lock()
	known, ok := s.blockPages[id]
	s.mutex.Unlock()
	if ok {
		return known, nil
	}
	at, page := id, ""
	for range 20 {
		var found block
		err := s.client.get(ctx, &found, nil, "blocks", at)
		if isAbsent(err) || restapi.StatusOf(err) == http.StatusForbidden {
			break
		}
		if err != nil {
			return "", err
		}
		if found.ID == "" {
			return "", errInvalid("a block")
		}
		if found.Parent == nil {
			break // Notion only tells the id of some blocks
		}
		if page = cmp.Or(found.Parent.PageID, found.Parent.DataSourceID, found.Parent.DatabaseID); page != "" || found.Parent.BlockID == "" {
			break
		}
		at = found.Parent.BlockID
	}
	s.mutex.Lock()
	defer s.mutex.Unlock()
	s.blockPages[id] = page
	return page, nil
}

// A tree has the nodes by id. Databases are data sources by the id of their database.
type tree struct {
	nodes     map[string]node
	databases map[string]string
}

func newTree() *tree { return &tree{nodes: map[string]node{}, databases: map[string]string{}} }

func (t *tree) add(n node) {
	t.nodes[n.ID] = n
	if n.Source && n.Database != "" {
		t.databases[n.Database] = n.ID
	}
}

// above returns the node above a node. The parent may be a database, whose first
// data source is taken.
func (t *tree) above(n node) (node, bool) {
	parent, ok := t.nodes[n.Parent]
	if !ok {
		parent, ok = t.nodes[t.databases[n.Parent]]
	}
	return parent, ok
}

const maxPathDepth = 40

// path returns the path of a page: the titles of what is above it, and its own title
// with its id, since titles are not unique.
func (t *tree) path(n node) string {
	leaf := segment(n.Title) + "-" + bare(n.ID)
	parts := []string{leaf}
	at, ok := t.above(n)
	for range maxPathDepth {
		if !ok {
			break
		}
		parts = append(parts, segment(at.Title))
		at, ok = t.above(at)
	}
	slices.Reverse(parts)
	if full := strings.Join(parts, "/"); len(full) <= connectors.MaxIDBytes*3/4 {
		return full
	}
	return leaf
}

func segment(title string) string {
	if title = strings.TrimSpace(connectors.PathSegment(strings.ToValidUTF8(title, "?"))); title == "" {
		return "Untitled"
	}
	return title
}

// isIncluded reports whether the settings include a page: one of the ids is its own,
// or that of something above it.
func (t *tree) isIncluded(n node, only map[string]bool) bool {
	if len(only) == 0 {
		return true
	}
	at, ok := n, true
	for range maxPathDepth {
		if !ok {
			return false
		}
		if only[bare(at.ID)] || at.Database != "" && only[bare(at.Database)] || only[bare(at.Parent)] || only[bare(at.Raw)] {
			return true
		}
		at, ok = t.above(at)
	}
	return false
}

// container returns the data source of a row, "" for a page.
func (t *tree) container(n node) string {
	if parent, ok := t.above(n); ok && parent.Source {
		return parent.ID
	}
	return ""
}

// The keys of the state. The nodes of a walk are in chunks, one for each page of a
// list. What a feed changed since then is in an overlay.
const (
	keyCurrent = "nodes"
	keyChunks  = "walk/"
	keyWalked  = "walked/"
	keyOverlay = "over/"
)

// current is the last walk that read the whole list.
type current struct {
	Walk   string `json:"w"`
	Chunks int    `json:"n"`
}

func chunkKey(walk string, number int) string { return fmt.Sprintf("%s%s/%d", keyChunks, walk, number) }

// putChunk stores nodes of a walk.
func (s *source) putChunk(ctx context.Context, walk string, number int, nodes []node) error {
	if nodes == nil {
		nodes = []node{}
	}
	text, err := json.Marshal(nodes)
	if err != nil {
		return fmt.Errorf("encode the list of pages: %w", err)
	}
	if err := s.state.Put(ctx, chunkKey(walk, number), text); err != nil {
		return fmt.Errorf("write the list of pages: %w", err)
	}
	return nil
}

func (s *source) chunk(ctx context.Context, walk string, number int) (nodes []node, ok bool, err error) {
	ok, err = connectors.GetJSON(ctx, s.state, chunkKey(walk, number), &nodes)
	return nodes, ok, err
}

// loadTree returns the nodes of a walk. It reports false if a chunk is missing.
func (s *source) loadTree(ctx context.Context, walk string, chunks int) (*tree, bool, error) {
	s.mutex.Lock()
	if s.loaded != nil && s.loadedWalk == walk && s.loadedChunks == chunks {
		defer s.mutex.Unlock()
		return s.loaded, true, nil
	}
	s.mutex.Unlock()
	t := newTree()
	for number := range chunks {
		nodes, ok, err := s.chunk(ctx, walk, number)
		if err != nil || !ok {
			return nil, false, err
		}
		for _, n := range nodes {
			t.add(n)
		}
	}
	s.mutex.Lock()
	defer s.mutex.Unlock()
	s.loaded, s.loadedWalk, s.loadedChunks = t, walk, chunks
	return t, true, nil
}

// known returns the tree of a walk, or of the last one if it is gone or "", with an
// overlay. It reports false if there is none.
func (s *source) known(ctx context.Context, walk, overlay string) (*tree, map[string]*node, bool, error) {
	var last current
	ok := false
	var err error
	if walk != "" {
		ok, err = connectors.GetJSON(ctx, s.state, keyWalked+walk, &last)
	}
	if err == nil && !ok {
		ok, err = connectors.GetJSON(ctx, s.state, keyCurrent, &last)
	}
	if err != nil || !ok {
		return nil, nil, false, err
	}
	base, ok, err := s.loadTree(ctx, last.Walk, last.Chunks)
	if err != nil || !ok {
		return nil, nil, false, err
	}
	changes := map[string]*node{} // nil for a page that is gone
	if overlay != "" {
		if ok, err = s.loadOverlay(ctx, overlay, changes); err != nil || !ok {
			return nil, nil, false, err
		}
	}
	t := newTree()
	for _, n := range base.nodes {
		t.add(n)
	}
	for id, n := range changes {
		old, exists := t.nodes[id]
		switch {
		case n == nil:
			delete(t.nodes, id)
		case !exists || n.Edited >= old.Edited:
			t.add(*n)
		}
	}
	return t, changes, true, nil
}

const overlayChunk = 2000 // nodes

// saveOverlay stores an overlay and returns its name, which depends on it only. It
// deletes others except for the one with the name keep: a token that was not moved
// still needs it.
func (s *source) saveOverlay(ctx context.Context, changes map[string]*node, keep string) (string, error) {
	if len(changes) == 0 {
		return "", nil
	}
	ids := make([]string, 0, len(changes))
	for id := range changes {
		ids = append(ids, id)
	}
	slices.Sort(ids)
	hash := sha256.New()
	var chunks [][]byte
	for part := range slices.Chunk(ids, overlayChunk) {
		of := map[string]*node{}
		for _, id := range part {
			of[id] = changes[id]
		}
		text, err := json.Marshal(overlayPart{(len(ids) + overlayChunk - 1) / overlayChunk, of})
		if err != nil {
			return "", fmt.Errorf("encode changes of pages: %w", err)
		}
		_, _ = hash.Write(text)
		chunks = append(chunks, text)
	}
	name := hex.EncodeToString(hash.Sum(nil)[:12])
	keys, err := s.state.Keys(ctx, keyOverlay)
	if err != nil {
		return "", fmt.Errorf("read changes of pages: %w", err)
	}
	for _, key := range keys {
		if other, _, _ := strings.Cut(strings.TrimPrefix(key, keyOverlay), "/"); other != name && other != keep {
			if err := s.state.DeletePrefix(ctx, keyOverlay+other+"/"); err != nil {
				return "", fmt.Errorf("delete old changes of pages: %w", err)
			}
		}
	}
	for number, text := range chunks {
		if err := s.state.Put(ctx, fmt.Sprintf("%s%s/%d", keyOverlay, name, number), text); err != nil {
			return "", fmt.Errorf("write changes of pages: %w", err)
		}
	}
	return name, nil
}

type overlayPart struct {
	Chunks int              `json:"n"`
	Nodes  map[string]*node `json:"m"`
}

func (s *source) loadOverlay(ctx context.Context, name string, into map[string]*node) (bool, error) {
	if len(name) > 64 {
		return false, nil
	}
	for number, chunks := 0, 1; number < chunks; number++ {
		var part overlayPart
		ok, err := connectors.GetJSON(ctx, s.state, fmt.Sprintf("%s%s/%d", keyOverlay, name, number), &part)
		if err != nil || !ok {
			return false, err
		}
		chunks = part.Chunks
		for id, n := range part.Nodes {
			into[id] = n
		}
	}
	return true, nil
}

// A listing is a position in the whole list: the data sources, the pages of the
// search, and then the rows of each data source.
type listing struct {
	Phase  string `json:"p"` // sources, pages, rows
	Cursor string `json:"c,omitempty"`
	Loop   string `json:"l,omitempty"`
	Source string `json:"s,omitempty"` // the data source of the rows
	// From bounds the creation of rows, in Unix seconds, beyond the rows of one query.
	From int64 `json:"f,omitempty"`
}

// The phases of a listing.
const (
	phaseSources = "sources"
	phasePages   = "pages"
	phaseRows    = "rows"
)

// advance moves a listing to the next page of its list.
func (l *listing) advance(next string) error {
	loop, _ := restapi.ParseLoopDetector(l.Loop)
	if err := loop.Visit("Notion", "the list of "+l.Phase, next); err != nil {
		return err
	}
	l.Cursor, l.Loop = next, loop.String()
	return nil
}
