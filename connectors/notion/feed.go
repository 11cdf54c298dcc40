package notion

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/magpie-search/magpie/connectors"
	"github.com/magpie-search/magpie/connectors/restapi"
)

const (
	// overlap is how far the search goes back before the last edit that was seen: the
	// time of edits is in minutes, and the search can be late.
	overlap = 2 * time.Minute
	// The search does not list what is no longer shared: the whole list is compared with
	// the one before. That is cheap for a few pages, and done every fullEvery for more.
	// In between, the trash is searched.
	fewPages    = 1000
	fullEvery   = 6 * time.Hour
	maxConfirms = 100 // missing pages that are asked for in one sync
	maxChanges  = 20_000
)

// A feedToken is a position in the changes.
type feedToken struct {
	// Since is the time of edits from which the search is read, Full the time of the
	// last comparison of the whole list, in Unix seconds.
	Since int64 `json:"s"`
	Full  int64 `json:"e,omitempty"`
	// Walk is the walk whose nodes are known, and Overlay what changed since.
	Walk    string `json:"w,omitempty"`
	Overlay string `json:"o,omitempty"`
	// Changes is the name of the list that is given, from Index and File on.
	Changes string `json:"c,omitempty"`
	Index   int    `json:"i,omitempty"`
	File    int    `json:"f,omitempty"`
}

// changeList is what a step found: ids of pages that changed, and of pages that are
// gone. It ends with the token that follows.
type changeList struct {
	Pages []string  `json:"p,omitempty"`
	Gone  []string  `json:"g,omitempty"`
	Next  feedToken `json:"t"`
}

const keyChanges = "feed/"

// Changes implements [connectors.Feeder].
func (s *source) Changes(ctx context.Context, text string) (connectors.ChangePage, error) {
	if err := ctx.Err(); err != nil {
		return connectors.ChangePage{}, err
	}
	var token feedToken
	if text != "" && (connectors.ParseCursor(text, &token) != nil || token.Full <= 0 || token.Index < 0 || token.File < 0 || len(token.Changes)+len(token.Walk) > 64) {
		return connectors.ChangePage{Expired: true}, nil
	}
	if err := s.checkAccount(ctx); err != nil {
		return connectors.ChangePage{}, err
	}
	if text == "" {
		return s.present(ctx)
	}
	if token.Changes == "" {
		list, ok, err := s.detect(ctx, token)
		if err != nil || !ok {
			return connectors.ChangePage{Expired: err == nil}, err
		}
		if token.Changes, err = s.saveChanges(ctx, list); err != nil {
			return connectors.ChangePage{}, err
		}
	}
	var list changeList
	ok, err := connectors.GetJSON(ctx, s.state, keyChanges+token.Changes, &list)
	if err != nil || !ok {
		return connectors.ChangePage{Expired: err == nil}, err
	}
	page, err := s.giveChanges(ctx, list, token)
	page.Warnings = s.takeWarnings()
	return page, err
}

// present returns the token of the present.
func (s *source) present(ctx context.Context) (connectors.ChangePage, error) {
	if s.settings.State == nil {
		return connectors.ChangePage{}, nil // there is no place for the list of pages
	}
	token := feedToken{}
	for _, kind := range []string{"page", "data_source"} {
		found, err := s.client.search(ctx, kind, descending, "")
		if err != nil {
			return connectors.ChangePage{}, err
		}
		if len(found.Results) > 0 {
			token.Since = max(token.Since, found.Results[0].Edited.Add(-overlap).Unix())
		}
	}
	token.Full = s.client.now().Unix()
	return connectors.ChangePage{Next: connectors.FormatCursor(token), Warnings: s.takeWarnings()}, nil
}

// detect compares the list of pages with what is known. It reports false if nothing
// is known, or too much has changed.
func (s *source) detect(ctx context.Context, token feedToken) (changeList, bool, error) {
	t, changes, ok, err := s.known(ctx, token.Walk, token.Overlay)
	if err != nil || !ok {
		return changeList{}, false, err
	}
	if token.Walk == "" {
		var last current
		if _, err := connectors.GetJSON(ctx, s.state, keyCurrent, &last); err != nil {
			return changeList{}, false, err
		}
		token.Walk = last.Walk
	}
	full := len(t.nodes) <= fewPages || s.client.now().Unix()-token.Full >= int64(fullEvery.Seconds())
	listed, incomplete, err := s.listChanges(ctx, t, token.Since, full)
	if err != nil {
		return changeList{}, false, err
	}
	d := &difference{source: s, tree: t, overlay: changes, changed: map[string]bool{}, gone: map[string]bool{}}
	newest := token.Since
	for _, id := range slices.Sorted(maps.Keys(listed)) {
		n := listed[id]
		if newest = max(newest, time.Unix(n.Edited, 0).Add(-overlap).Unix()); n.Edited < token.Since && !d.differs(n) {
			continue
		}
		d.add(n)
	}
	if full {
		if err := d.findGone(ctx, listed, incomplete); err != nil {
			return changeList{}, false, err
		}
		token.Full = s.client.now().Unix()
	} else {
		missing, err := s.listTrash(ctx, t, token.Since)
		if err == nil {
			err = d.confirm(ctx, missing)
		}
		if err != nil {
			return changeList{}, false, err
		}
	}
	d.finish()
	if len(d.changed) > maxChanges {
		return changeList{}, false, nil
	}
	list := changeList{Pages: slices.Sorted(maps.Keys(d.changed)), Gone: slices.Sorted(maps.Keys(d.gone)), Next: feedToken{Since: newest, Full: token.Full, Walk: token.Walk}}
	list.Next.Overlay, err = s.saveOverlay(ctx, d.overlay, token.Overlay)
	return list, true, err
}

// listChanges returns the nodes that the search lists down to a time of edits, or
// with full all nodes. incomplete are data sources whose rows are not known.
func (s *source) listChanges(ctx context.Context, t *tree, since int64, full bool) (listed map[string]node, incomplete map[string]bool, err error) {
	listed, incomplete = map[string]node{}, map[string]bool{}
	take := func(nodes []node) {
		for _, n := range nodes {
			if old, exists := listed[n.ID]; exists && n.Database == "" {
				n.Database = old.Database
			}
			listed[n.ID] = n
		}
	}
	if !full {
		for _, kind := range []string{"data_source", "page"} {
			err := restapi.AllPages("Notion", "the edits", maxBlockPages, func(cursor string) (string, error) {
				found, err := s.client.search(ctx, kind, descending, cursor)
				if err != nil {
					return "", err
				}
				nodes, err := s.nodesOf(ctx, found.Results)
				if err != nil {
					return "", err
				}
				take(nodes)
				if !found.HasMore || len(found.Results) > 0 && found.Results[len(found.Results)-1].Edited.Unix() < since {
					return "", nil
				}
				return found.NextCursor, nil
			})
			if err != nil {
				return nil, nil, err
			}
		}
		return listed, incomplete, nil
	}
	sources := []string(nil)
	for at := (&listing{Phase: phaseSources}); at != nil; {
		nodes, next, missing, err := s.readPart(ctx, *at, func() ([]string, error) {
			if sources == nil {
				whole := newTree()
				for _, n := range t.nodes {
					if !n.Source {
						whole.add(n)
					}
				}
				for _, n := range listed {
					whole.add(n)
				}
				sources = append([]string{}, whole.sources(s.only)...)
			}
			return sources, nil
		})
		if err != nil {
			return nil, nil, err
		}
		take(nodes)
		if missing != "" {
			incomplete[missing] = true
		}
		at = next
	}
	return listed, incomplete, nil
}

// listTrash returns the nodes of a tree that the trash lists down to a time of edits,
// and those below them.
func (s *source) listTrash(ctx context.Context, t *tree, since int64) ([]node, error) {
	trashed := map[string]bool{}
	for _, kind := range []string{"data_source", "page"} {
		err := restapi.AllPages("Notion", "the trash", maxBlockPages, func(cursor string) (string, error) {
			found, err := s.client.trash(ctx, kind, cursor)
			if err != nil {
				return "", err
			}
			for i := range found.Results {
				o := &found.Results[i]
				if _, known := t.nodes[o.ID]; known && (o.isGone() || !o.isValid()) {
					trashed[o.ID] = true
				}
			}
			if !found.HasMore || len(found.Results) > 0 && found.Results[len(found.Results)-1].Edited.Unix() < since {
				return "", nil
			}
			return found.NextCursor, nil
		})
		if err != nil {
			return nil, err
		}
	}
	if len(trashed) == 0 {
		return nil, nil
	}
	var missing []node
	for _, n := range t.nodes {
		at, ok := n, true
		for depth := 0; ok && depth < maxPathDepth && !trashed[at.ID]; depth++ {
			at, ok = t.above(at)
		}
		if ok && trashed[at.ID] {
			missing = append(missing, n)
		}
	}
	return missing, nil
}

// A difference collects what changed in a tree.
type difference struct {
	*source
	tree          *tree
	overlay       map[string]*node
	changed, gone map[string]bool // ids of pages
}

// differs reports whether a node differs from what is known.
func (d *difference) differs(n node) bool {
	old, exists := d.tree.nodes[n.ID]
	return !exists || old.Edited != n.Edited || old.Unsettled != 0 || n.Unsettled != 0 || old.Title != n.Title || old.Parent != n.Parent
}

func (d *difference) add(n node) {
	old, exists := d.tree.nodes[n.ID]
	if exists && n.Source && n.Database == "" {
		n.Database = old.Database
	}
	wasIncluded := exists && d.tree.isIncluded(old, d.only)
	if d.tree.add(n); !n.Source {
		if d.changed[n.ID] = d.tree.isIncluded(n, d.only); !d.changed[n.ID] {
			delete(d.changed, n.ID)
			if wasIncluded {
				d.gone[n.ID] = true
			}
		}
	}
	kept := n
	d.overlay[n.ID] = &kept
	if exists && (old.Title != n.Title || old.Parent != n.Parent) {
		d.below(n.ID)
	}
}

// below marks everything below a node that was renamed or moved.
func (d *difference) below(id string) {
	for _, n := range d.tree.nodes {
		at, ok := d.tree.above(n)
		for depth := 0; ok && depth < maxPathDepth; depth++ {
			if at.ID == id {
				if !n.Source && d.tree.isIncluded(n, d.only) {
					d.changed[n.ID] = true
				}
				break
			}
			at, ok = d.tree.above(at)
		}
	}
}

// findGone asks for the pages that are missing from the whole list.
func (d *difference) findGone(ctx context.Context, listed map[string]node, incomplete map[string]bool) error {
	var missing []node
	for id, n := range d.tree.nodes {
		if _, exists := listed[id]; !exists && !incomplete[d.tree.container(n)] {
			missing = append(missing, n)
		}
	}
	return d.confirm(ctx, missing)
}

// confirm asks for some pages, and finds those that are gone.
func (d *difference) confirm(ctx context.Context, missing []node) error {
	slices.SortFunc(missing, func(a, b node) int { return compareText(a.ID, b.ID) })
	for _, n := range missing[:min(len(missing), maxConfirms)] {
		var found *object
		var err error
		if n.Source {
			found, err = d.client.dataSource(ctx, n.ID)
		} else {
			found, err = d.client.page(ctx, n.ID)
		}
		switch {
		case errors.Is(err, connectors.ErrNotFound) || err == nil && found.isGone():
			delete(d.tree.nodes, n.ID)
			delete(d.changed, n.ID)
			if d.overlay[n.ID] = nil; !n.Source {
				d.gone[n.ID] = true
			}
		case err != nil:
			return err
		default:
			now, err := d.newNode(ctx, found)
			if err != nil {
				return err
			}
			if now.Database == "" {
				now.Database = n.Database
			}
			if d.differs(now) {
				d.add(now)
			}
		}
	}
	return nil
}

func compareText(a, b string) int {
	switch {
	case a < b:
		return -1
	case a > b:
		return 1
	}
	return 0
}

// finish removes pages from what changed that are gone.
func (d *difference) finish() {
	for id := range d.changed {
		delete(d.gone, id)
	}
}

func (s *source) saveChanges(ctx context.Context, list changeList) (string, error) {
	text, err := json.Marshal(list)
	if err != nil {
		return "", fmt.Errorf("encode changes: %w", err)
	}
	hash := sha256.Sum256(text)
	name := hex.EncodeToString(hash[:12])
	keys, err := s.state.Keys(ctx, keyChanges)
	if err != nil {
		return "", fmt.Errorf("read changes: %w", err)
	}
	for _, key := range keys {
		if key != keyChanges+name {
			if err := s.state.DeletePrefix(ctx, key); err != nil {
				return "", fmt.Errorf("delete old changes: %w", err)
			}
		}
	}
	if err := s.state.Put(ctx, keyChanges+name, text); err != nil {
		return "", fmt.Errorf("write changes: %w", err)
	}
	return name, nil
}

// giveChanges returns the items of a list of changes, from the place of a token on.
func (s *source) giveChanges(ctx context.Context, list changeList, token feedToken) (connectors.ChangePage, error) {
	t, _, ok, err := s.known(ctx, list.Next.Walk, list.Next.Overlay)
	if err != nil || !ok {
		return connectors.ChangePage{Expired: err == nil}, err
	}
	var page connectors.ChangePage
	if token.Index == 0 && token.File == 0 {
		for _, id := range list.Gone {
			page.Gone = append(page.Gone, prefixPage+id)
			files, err := s.fileIDs(ctx, id)
			if err != nil {
				return page, err
			}
			page.Gone = append(page.Gone, files...)
		}
	}
	fetches := 0
	for ; token.Index < len(list.Pages); token.Index, token.File = token.Index+1, 0 {
		n, exists := t.nodes[list.Pages[token.Index]]
		if !exists {
			continue
		}
		if len(page.Items) >= connectors.MaxPageItems || fetches >= fetchesPerPage {
			break
		}
		items, fetched, err := s.items(ctx, t, n)
		if err != nil {
			return connectors.ChangePage{}, err
		}
		if fetched {
			fetches++
		}
		if s.withFiles && token.File == 0 {
			files, _, err := s.filesOf(ctx, n)
			if err != nil {
				return connectors.ChangePage{}, err
			}
			for _, key := range files.Gone {
				page.Gone = append(page.Gone, prefixFile+n.ID+"/"+key)
			}
		}
		items = items[min(token.File, len(items)):]
		room := connectors.MaxPageItems - len(page.Items)
		page.Items = append(page.Items, items[:min(room, len(items))]...)
		if len(items) > room {
			token.File += room
			break
		}
	}
	if token.Index >= len(list.Pages) {
		page.Next = connectors.FormatCursor(list.Next)
		return page, nil
	}
	page.More, page.Next = true, connectors.FormatCursor(token)
	return page, nil
}

// fileIDs returns the ids of all files that a page has or had.
func (s *source) fileIDs(ctx context.Context, id string) ([]string, error) {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	lists, err := s.bucket(ctx, bucketOf(id))
	if err != nil {
		return nil, err
	}
	var ids []string
	for _, f := range lists[id].Files {
		ids = append(ids, prefixFile+id+"/"+f.Key)
	}
	for _, key := range lists[id].Gone {
		ids = append(ids, prefixFile+id+"/"+key)
	}
	return ids, nil
}
