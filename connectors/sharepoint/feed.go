package sharepoint

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/magpie-search/magpie/connectors"
	"github.com/magpie-search/magpie/connectors/restapi"
)

// Changes implements [connectors.Feeder] by the delta links of the libraries and
// lists, and by comparing the list of each site's pages.
func (s *source) Changes(ctx context.Context, text string) (connectors.ChangePage, error) {
	if err := ctx.Err(); err != nil {
		return connectors.ChangePage{}, err
	}
	token, ok, err := s.loadToken(ctx, text)
	if err != nil {
		return connectors.ChangePage{}, err
	}
	if !ok {
		return connectors.ChangePage{Expired: true}, nil
	}
	if token.At == "" && len(token.Moved) == 0 {
		s.resetCaches() // a new sync
	}
	selected, err := s.selectParts(ctx)
	if err != nil {
		return connectors.ChangePage{}, err
	}
	f := &feed{source: s, parts: selected, token: token.clone(), records: map[string]*record{}, pending: map[string]*pendingEntries{}}
	f.page.Warnings = truncateWarnings(selected.warnings)
	if text == "" {
		err = f.present(ctx)
	} else if err = s.applyPending(ctx, text); err == nil {
		err = f.read(ctx)
	}
	if errors.Is(err, errResync) {
		return connectors.ChangePage{Expired: true}, nil
	}
	if err != nil {
		return connectors.ChangePage{}, err
	}
	if len(f.page.Items) > connectors.MaxPageItems {
		// Graph sent more than was asked for. A walk divides such pages.
		return connectors.ChangePage{Expired: true}, nil
	}
	f.token.Serial++
	if f.page.Next, err = s.saveToken(ctx, f.token, text); err != nil {
		return connectors.ChangePage{}, err
	}
	if err := s.savePending(ctx, f.page.Next, f.pending); err != nil {
		return connectors.ChangePage{}, err
	}
	slices.Sort(f.page.Permissions)
	f.page.Permissions = slices.Compact(f.page.Permissions)
	return f.page, nil
}

// A feed reads one page of changes.
type feed struct {
	source   *source
	parts    *parts
	token    feedToken
	page     connectors.ChangePage
	records  map[string]*record
	pending  map[string]*pendingEntries
	requests int
}

// present sets the token to the present. A library that cannot be read is read from
// its start once it can.
func (f *feed) present(ctx context.Context) error {
	s := f.source
	for _, p := range f.parts.list {
		var link string
		var err error
		switch p.kind {
		case partPages:
			continue
		case partDrive:
			_, link, err = latest(func(link string) (string, bool, error) {
				_, next, done, err := s.driveDelta(ctx, p, link, link == "")
				return next, done, err
			}, p)
		default:
			_, link, err = latest(func(link string) (string, bool, error) {
				_, next, done, err := readDelta[listItem](ctx, s.graph, listPath(p.siteID, p.id)+"/items/delta", url.Values{"token": {"latest"}, "$expand": {"fields"}}, link)
				return next, done, err
			}, p)
		}
		if p.kind == partList && isNoQuery(err) {
			continue // it is read from its start
		}
		if reason, ok := isUnavailable(err); ok {
			f.page.Warnings = append(f.page.Warnings, fmt.Sprintf("%s is left out: %s. None of its documents is deleted.", p.name, reason))
			continue
		}
		if err != nil {
			return fmt.Errorf("read %s: %w", p.name, err)
		}
		f.token.Links[p.key()] = link
	}
	return nil
}

// latest reads a delta from its present to its end.
func latest(read func(link string) (next string, done bool, err error), p part) (pages int, link string, err error) {
	err = restapi.AllPages(platform, "the changes of "+p.name, maxListPages, func(cursor string) (string, error) {
		next, done, err := read(cursor)
		link = next
		pages++
		if done {
			return "", err
		}
		return next, err
	})
	return pages, link, err
}

// addGone adds ids of items that are gone, also if they were listed on this page.
func (f *feed) addGone(ids ...string) {
	f.page.Gone = append(f.page.Gone, ids...)
	gone := map[string]bool{}
	for _, id := range ids {
		gone[id] = true
	}
	f.page.Items = slices.DeleteFunc(f.page.Items, func(item connectors.Item) bool { return gone[item.ID] })
}

// add adds items, in the place of earlier ones with their ids.
func (f *feed) add(items []connectors.Item) {
	listed := map[string]bool{}
	for _, item := range items {
		listed[item.ID] = true
	}
	f.page.Items = slices.DeleteFunc(f.page.Items, func(item connectors.Item) bool { return listed[item.ID] })
	f.page.Gone = slices.DeleteFunc(f.page.Gone, func(id string) bool { return listed[id] })
	f.page.Items = append(f.page.Items, items...)
}

func (f *feed) record(ctx context.Context, p part) (*record, error) {
	if r := f.records[p.key()]; r != nil {
		return r, nil
	}
	generation, err := currentGeneration(ctx, f.source.state, p)
	if err != nil {
		return nil, err
	}
	r := newRecord(f.source.state, p, generation)
	f.records[p.key()] = r
	return r, nil
}

// remember keeps entries for the record until the next call, and uses them in this
// one.
func (f *feed) remember(ctx context.Context, p part, folders, files []recordEntry) error {
	r, err := f.record(ctx, p)
	if err != nil {
		return err
	}
	if err := r.loadFolders(ctx); err != nil {
		return err
	}
	r.remember(folders, files)
	entries := f.pending[p.key()]
	if entries == nil {
		entries = &pendingEntries{Part: hashKey(p.key()), Generation: r.generation}
		f.pending[p.key()] = entries
	}
	entries.Folders, entries.Files = append(entries.Folders, folders...), append(entries.Files, files...)
	return nil
}

// isFull reports whether the next page of a list may not fit.
func (f *feed) isFull() bool {
	return len(f.page.Items) > connectors.MaxPageItems-deltaTop || f.requests >= maxPageRequests
}

// read reads changes until the page is full or all parts are read.
func (f *feed) read(ctx context.Context) error {
	for {
		if len(f.token.Moved) > 0 {
			if f.isFull() {
				f.page.More = true
				return nil
			}
			if err := f.readMoved(ctx); err != nil {
				return err
			}
			continue
		}
		index := slices.IndexFunc(f.parts.list, func(p part) bool { return p.key() >= f.token.At })
		if index < 0 {
			f.token.At = ""
			return f.readRemoved(ctx)
		}
		p := f.parts.list[index]
		if f.token.At != p.key() {
			f.next(p)
			f.token.At = p.key()
		}
		if f.isFull() {
			f.page.More = true
			return nil
		}
		err := f.readPart(ctx, p)
		if p.kind == partPages && hasNoPages(err) {
			known, stateErr := f.source.knowsItems(ctx, p)
			if stateErr != nil {
				return stateErr
			}
			if known {
				f.page.Warnings = append(f.page.Warnings, p.name+" is left out: its pages cannot be listed. None of its documents is deleted.")
			}
			f.next(p)
			continue
		}
		if reason, ok := isUnavailable(err); ok {
			f.page.Warnings = append(f.page.Warnings, fmt.Sprintf("%s is left out: %s. None of its documents is deleted.", p.name, reason))
			f.next(p)
			continue
		}
		if err != nil {
			return fmt.Errorf("read the changes of %s: %w", p.name, err)
		}
	}
}

// next moves behind a part.
func (f *feed) next(p part) {
	f.token.At, f.token.Pages, f.token.Seen, f.token.Compares, f.token.Loop = p.key()+"\x7f", "", nil, false, ""
}

// visit returns an error for the link of a page that was read before. loop is the
// detector's state in the token.
func visit(loop *string, list, link string) error {
	detector, _ := restapi.ParseLoopDetector(*loop)
	err := detector.Visit(platform, list, link)
	*loop = detector.String()
	return err
}

// readPart reads a page of the changes of a part.
func (f *feed) readPart(ctx context.Context, p part) error {
	s := f.source
	f.requests++
	if p.kind == partPages {
		return f.readPages(ctx, p)
	}
	link := f.token.Links[p.key()]
	if link == "" {
		// The part is new, or could not be read when the feed began.
		r, err := f.record(ctx, p)
		if err == nil {
			err = r.loadFiles(ctx)
		}
		if err != nil {
			return err
		}
		f.token.Compares = len(r.files) > 0
	}
	read, err := s.readPart(ctx, p, nil, link)
	if err != nil {
		return err
	}
	if f.token.Compares {
		for _, e := range read.files {
			f.token.Seen = append(f.token.Seen, e.ID)
		}
	}
	if p.kind == partDrive {
		err = f.addDriveItems(ctx, p, read)
	} else {
		f.addGone(read.gone...)
		if err = f.remember(ctx, p, nil, read.files); err == nil {
			err = f.addItems(ctx, p, read)
		}
	}
	if err != nil {
		return err
	}
	f.token.Links[p.key()] = read.next
	if !read.done {
		return visit(&f.token.Loop, "the changes of "+p.name, read.next)
	}
	if f.token.Compares {
		err = f.addMissing(ctx, p)
	}
	f.next(p)
	return err
}

// addMissing adds the items of the record that are not among those seen.
func (f *feed) addMissing(ctx context.Context, p part) error {
	r, err := f.record(ctx, p)
	if err != nil {
		return err
	}
	if err := r.loadFiles(ctx); err != nil {
		return err
	}
	seen := map[string]bool{}
	for _, id := range f.token.Seen {
		seen[id] = true
	}
	var gone []recordEntry
	for _, id := range slices.Sorted(maps.Keys(r.files)) {
		if !seen[id] {
			f.addGone(p.itemID(id))
			gone = append(gone, recordEntry{ID: id, Deleted: true})
		}
	}
	return f.remember(ctx, p, nil, gone)
}

func (f *feed) addItems(ctx context.Context, p part, read partPage) error {
	r, err := f.record(ctx, p)
	if err != nil {
		return err
	}
	items, err := read.items(ctx, r)
	f.add(items)
	return err
}

// addDriveItems adds the changes of a library: new and changed files, deleted files
// and folders, folders that moved, and permissions.
func (f *feed) addDriveItems(ctx context.Context, p part, read partPage) error {
	r, err := f.record(ctx, p)
	if err != nil {
		return err
	}
	if err := r.loadFolders(ctx); err != nil {
		return err
	}
	known := maps.Clone(r.folders)
	if f.source.importsPermissions && slices.ContainsFunc(read.driveItems, func(i driveItem) bool { return !i.isFolder() && i.Deleted == nil }) {
		if err := r.loadFiles(ctx); err != nil {
			return err
		}
	}
	parents := maps.Clone(r.files)
	var deleted []recordEntry // folders
	for i, item := range read.driveItems {
		old, isFolder := known[item.ID]
		switch {
		case item.Deleted != nil && isFolder:
			old.Deleted = true
			deleted = append(deleted, old)
		case item.Deleted != nil:
			f.addGone(driveItemID(p.id, item.ID))
		case item.isFolder():
		default:
			parent, was := parents[item.ID]
			if item.hasSharedChanged() || was && parent != item.Parent.ID {
				f.addPermissions(p, []string{read.driveItems[i].ID})
			}
		}
	}
	folders := slices.DeleteFunc(slices.Clone(read.folders), func(e recordEntry) bool { return e.Deleted })
	files := slices.DeleteFunc(slices.Clone(read.files), func(e recordEntry) bool { _, isFolder := known[e.ID]; return e.Deleted && isFolder })
	if err := f.remember(ctx, p, folders, files); err != nil {
		return err
	}
	for _, folder := range deleted {
		if err := f.deleteFolder(ctx, p, folder); err != nil {
			return err
		}
	}
	for _, item := range read.driveItems {
		if item.Deleted != nil || !item.isFolder() {
			continue
		}
		if err := f.compareFolder(ctx, p, known, item); err != nil {
			return err
		}
	}
	return f.addItems(ctx, p, read)
}

// compareFolder adds what a changed folder means for the files in it.
func (f *feed) compareFolder(ctx context.Context, p part, known map[string]recordEntry, item driveItem) error {
	old, was := known[item.ID]
	e := item.entry()
	moved := was && !e.Root && (old.Name != e.Name || old.Parent != e.Parent)
	if moved && !slices.ContainsFunc(f.token.Moved, func(m movedFolder) bool { return m.ID == e.ID && m.Part == p.key() }) {
		f.token.Moved = append(f.token.Moved, movedFolder{Part: p.key(), ID: e.ID})
	}
	// Deltas mark changed permissions at files, but hardly at folders.
	if !f.source.importsPermissions || !item.hasSharedChanged() && !e.Shared && !old.Shared && (!was || old.Parent == e.Parent) {
		return nil
	}
	below := item.ID
	if e.Root {
		if !item.hasSharedChanged() {
			return nil
		}
		below = ""
	}
	r, err := f.record(ctx, p)
	if err != nil {
		return err
	}
	ids, err := r.filesBelow(ctx, below)
	f.addPermissions(p, ids)
	return err
}

func (f *feed) addPermissions(p part, ids []string) {
	if !f.source.importsPermissions {
		return
	}
	for _, id := range ids {
		f.page.Permissions = append(f.page.Permissions, driveItemID(p.id, id))
	}
}

// deleteFolder adds the files in a deleted folder.
func (f *feed) deleteFolder(ctx context.Context, p part, folder recordEntry) error {
	r, err := f.record(ctx, p)
	if err != nil {
		return err
	}
	files, err := r.filesBelow(ctx, folder.ID)
	if err != nil {
		return err
	}
	below, err := r.foldersBelow(ctx, folder.ID)
	if err != nil {
		return err
	}
	var goneFolders, goneFiles []recordEntry
	for _, id := range append(below, folder.ID) {
		goneFolders = append(goneFolders, recordEntry{ID: id, Deleted: true})
	}
	var ids []string
	for _, id := range files {
		ids = append(ids, driveItemID(p.id, id))
		goneFiles = append(goneFiles, recordEntry{ID: id, Deleted: true})
	}
	f.addGone(ids...)
	return f.remember(ctx, p, goneFolders, goneFiles)
}

// readMoved adds the files in the first moved folder, under their new paths, and
// queues the folders in it.
func (f *feed) readMoved(ctx context.Context) error {
	moved := f.token.Moved[0]
	f.token.Moved = f.token.Moved[1:]
	index := slices.IndexFunc(f.parts.list, func(p part) bool { return p.key() == moved.Part })
	if index < 0 {
		return nil
	}
	p := f.parts.list[index]
	f.requests++
	query := url.Values{"$select": {itemSelect}, "$top": {strconv.Itoa(deltaTop)}}
	children, next, err := readPage[driveItem](ctx, f.source.graph, "drives/"+segment(p.id)+"/items/"+segment(moved.ID)+"/children", query, moved.Link)
	if _, hidden := isUnavailable(err); hidden {
		return nil // deleted meanwhile, of which the next changes tell
	}
	if err != nil {
		return fmt.Errorf("read a moved folder of %s: %w", p.name, err)
	}
	for _, child := range children {
		if child.ID == "" || child.Name == "" {
			return errInvalid("a file without an id or name")
		}
		if child.isFolder() && !slices.ContainsFunc(f.token.Moved, func(m movedFolder) bool { return m.ID == child.ID && m.Part == moved.Part }) {
			f.token.Moved = append(f.token.Moved, movedFolder{Part: moved.Part, ID: child.ID})
		}
	}
	if next != "" {
		if err := visit(&moved.Loop, "a folder of "+p.name, next); err != nil {
			return err
		}
		moved.Link = next
		f.token.Moved = append([]movedFolder{moved}, f.token.Moved...)
	}
	r, err := f.record(ctx, p)
	if err != nil {
		return err
	}
	items, err := f.source.driveItems(ctx, p, r, children)
	f.add(items)
	return err
}

// readPages compares the list of a site's pages with those of the last sync.
func (f *feed) readPages(ctx context.Context, p part) error {
	r, err := f.record(ctx, p)
	if err != nil {
		return err
	}
	if err := r.loadFiles(ctx); err != nil {
		return err
	}
	read, err := f.source.readPages(ctx, p, f.token.Pages)
	if err != nil {
		return err
	}
	items, err := read.items(ctx, r)
	if err != nil {
		return err
	}
	var changed []recordEntry
	isChanged := map[string]bool{}
	for _, e := range read.files {
		f.token.Seen = append(f.token.Seen, e.ID)
		if r.files[e.ID] != e.Parent {
			changed = append(changed, e)
			isChanged[e.ID] = true
		}
	}
	prefix := string(partPages) + ":" + p.siteID + "/"
	for _, item := range items {
		if isChanged[strings.TrimPrefix(item.ID, prefix)] {
			f.add([]connectors.Item{item})
		}
	}
	if err := f.remember(ctx, p, nil, changed); err != nil {
		return err
	}
	if !read.done {
		f.token.Pages = read.next
		return visit(&f.token.Loop, "the pages of "+p.name, read.next)
	}
	err = f.addMissing(ctx, p)
	f.next(p)
	return err
}

// readRemoved adds the files of libraries and lists that their site does not have
// any more.
func (f *feed) readRemoved(ctx context.Context) error {
	for _, key := range slices.Sorted(maps.Keys(f.token.Links)) {
		if slices.ContainsFunc(f.parts.list, func(p part) bool { return p.key() == key }) {
			continue
		}
		fields := strings.Split(key, "|")
		if len(fields) != 3 || !f.parts.listed[fields[1]] {
			continue // its site cannot be read, or is not the connector's any more
		}
		p := part{kind: partKind(fields[0]), siteID: fields[1], id: fields[2]}
		r, err := f.record(ctx, p)
		if err != nil {
			return err
		}
		ids, err := r.filesBelow(ctx, "")
		if err != nil {
			return err
		}
		for i, id := range ids {
			ids[i] = p.itemID(id)
		}
		f.addGone(ids...)
		delete(f.token.Links, key)
		f.pending[key] = &pendingEntries{Part: hashKey(key), Drop: true}
	}
	return nil
}
