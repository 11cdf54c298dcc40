package sharepoint

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/magpie-search/magpie/connectors"
	"github.com/magpie-search/magpie/connectors/restapi"
)

const (
	maxPageRequests = 12 // lists that are read for one page of the walk
	// maxLinkBytes is the length of the longest link that a cursor holds. Longer ones
	// are in the state.
	maxLinkBytes = 2500
	linksKey     = "links/"
	maxWarnings  = 20
	maxRestarts  = 3
)

// A cursor is a position in the list of a part.
type cursor struct {
	Part       string `json:"k"`
	Link       string `json:"l,omitempty"` // of the page, or its key in the state after a "#"
	Skip       int    `json:"s,omitempty"` // entries of the page that were returned
	Generation int    `json:"g,omitempty"` // of the record
	Page       int    `json:"n,omitempty"` // number of the page in the part
	Loop       string `json:"t,omitempty"`
	Restarts   int    `json:"r,omitempty"` // of the part, because a link expired
}

func parseCursor(text string) (cursor, error) {
	var c cursor
	if err := connectors.ParseCursor(text, &c); err != nil {
		return cursor{}, err
	}
	kind, _, _ := strings.Cut(c.Part, "|")
	if !slices.Contains([]partKind{partDrive, partList, partPages}, partKind(kind)) || c.Skip < 0 || c.Generation < 0 || c.Page < 0 {
		return cursor{}, connectors.ErrCursor
	}
	return c, nil
}

// Walk implements [connectors.Source].
func (s *source) Walk(ctx context.Context, text string) (connectors.Page, error) {
	if err := ctx.Err(); err != nil {
		return connectors.Page{}, err
	}
	var at cursor
	if text == "" {
		s.resetCaches()
	} else {
		var err error
		if at, err = parseCursor(text); err != nil {
			return connectors.Page{}, err
		}
	}
	selected, err := s.selectParts(ctx)
	if err != nil {
		return connectors.Page{}, err
	}
	b := &pageBuilder{source: s, parts: selected.list, cursor: at, page: connectors.Page{Incomplete: slices.Clone(selected.unavailable), Warnings: truncateWarnings(selected.warnings)}}
	for requests := 0; ; requests++ {
		index := slices.IndexFunc(selected.list, func(p part) bool { return p.key() >= b.cursor.Part })
		if index < 0 {
			b.page.Done = true
			break
		}
		p := selected.list[index]
		if p.key() != b.cursor.Part {
			if b.cursor, err = s.startOf(ctx, p); err != nil {
				return connectors.Page{}, err
			}
		}
		if requests == maxPageRequests || len(b.page.Items) > connectors.MaxPageItems-deltaTop {
			b.page.Next = connectors.FormatCursor(b.cursor)
			break
		}
		if err := b.readPage(ctx, p); err != nil {
			return connectors.Page{}, err
		}
		if b.full {
			b.page.Next = connectors.FormatCursor(b.cursor)
			break
		}
	}
	if b.page.Done && len(selected.unavailable) == 0 && len(b.page.Incomplete) == 0 {
		if err := s.dropRecords(ctx, selected.list); err != nil {
			return connectors.Page{}, err
		}
	}
	return b.page, nil
}

// truncateWarnings bounds the number of warnings.
func truncateWarnings(warnings []string) []string {
	if len(warnings) <= maxWarnings {
		return slices.Clone(warnings)
	}
	return append(slices.Clone(warnings[:maxWarnings]), fmt.Sprintf("%d more sites are left out for such reasons.", len(warnings)-maxWarnings))
}

// startOf returns the start of a part.
func (s *source) startOf(ctx context.Context, p part) (cursor, error) {
	current, err := currentGeneration(ctx, s.state, p)
	if err != nil {
		return cursor{}, err
	}
	return cursor{Part: p.key(), Generation: current + 1}, nil
}

// A pageBuilder makes one page of a walk.
type pageBuilder struct {
	source *source
	parts  []part
	cursor cursor
	page   connectors.Page
	full   bool
}

// readPage adds the page of a part at the cursor, and moves the cursor.
func (b *pageBuilder) readPage(ctx context.Context, p part) error {
	s := b.source
	r := newRecord(s.state, p, b.cursor.Generation)
	if b.cursor.Page == 0 && b.cursor.Link == "" && b.cursor.Skip == 0 {
		if err := r.begin(ctx); err != nil {
			return err
		}
	}
	link, err := s.storedLink(ctx, b.cursor.Link)
	if err != nil {
		return err
	}
	read, err := s.readPart(ctx, p, r, link)
	switch {
	case errors.Is(err, errResync) && b.cursor.Link != "":
		restarts := b.cursor.Restarts + 1
		if restarts > maxRestarts {
			return connectors.Retryable(fmt.Errorf("read %s: Microsoft Graph does not accept the links to its next pages", p.name), 0)
		}
		b.cursor, err = s.startOf(ctx, p)
		b.cursor.Restarts = restarts
		return err
	case err != nil:
		reason, ok := isUnavailable(err)
		if errors.Is(err, errResync) {
			reason, ok = "it is archived or gone", true
		}
		if p.kind == partPages && hasNoPages(err) {
			if known, err := s.knowsItems(ctx, p); err != nil || !known {
				b.cursor = b.after(p)
				return err
			}
			reason, ok = "its pages cannot be listed", true
		}
		if !ok {
			return fmt.Errorf("read %s: %w", p.name, err)
		}
		b.page.Incomplete = append(b.page.Incomplete, p.container)
		b.page.Warnings = append(b.page.Warnings, fmt.Sprintf("%s is left out: %s. None of its documents is deleted.", p.name, reason))
		b.cursor = b.after(p)
		return nil
	}
	if err := r.put(ctx, b.cursor.Page, read.folders, read.files); err != nil {
		return err
	}
	items, err := read.items(ctx, r)
	if err != nil {
		return fmt.Errorf("read %s: %w", p.name, err)
	}
	items = items[min(b.cursor.Skip, len(items)):]
	if room := connectors.MaxPageItems - len(b.page.Items); len(items) > room {
		// The platform's page is larger than it was asked for.
		b.add(items[:room])
		b.cursor.Skip += room
		b.full = true
		return nil
	}
	b.add(items)
	if read.done {
		if err := r.commit(ctx); err != nil {
			return err
		}
		b.cursor = b.after(p)
		return nil
	}
	loop, _ := restapi.ParseLoopDetector(b.cursor.Loop)
	if err := loop.Visit(platform, "the content of "+p.name, read.next); err != nil {
		return err
	}
	if link, err = s.storeLink(ctx, read.next); err != nil {
		return err
	}
	b.cursor = cursor{Part: b.cursor.Part, Link: link, Generation: b.cursor.Generation, Page: b.cursor.Page + 1, Loop: loop.String(), Restarts: b.cursor.Restarts}
	return nil
}

// knowsItems reports whether an earlier walk listed items of a part.
func (s *source) knowsItems(ctx context.Context, p part) (bool, error) {
	generation, err := currentGeneration(ctx, s.state, p)
	if err != nil {
		return false, err
	}
	r := newRecord(s.state, p, generation)
	err = r.loadFiles(ctx)
	return len(r.files) > 0, err
}

// add adds items, in the place of earlier ones with their ids: a delta may list an
// item again.
func (b *pageBuilder) add(items []connectors.Item) {
	listed := map[string]bool{}
	for _, item := range items {
		listed[item.ID] = true
	}
	b.page.Items = slices.DeleteFunc(b.page.Items, func(item connectors.Item) bool { return listed[item.ID] })
	b.page.Items = append(b.page.Items, items...)
}

// after returns a cursor behind a part.
func (b *pageBuilder) after(p part) cursor { return cursor{Part: p.key() + "\x7f"} }

// storeLink returns a link for a cursor, short enough.
func (s *source) storeLink(ctx context.Context, link string) (string, error) {
	if len(link) <= maxLinkBytes {
		return link, nil
	}
	name := hashKey(link)
	if err := s.state.Put(ctx, linksKey+name, []byte(link)); err != nil {
		return "", fmt.Errorf("write the connector's state: %w", err)
	}
	return "#" + name, nil
}

func (s *source) storedLink(ctx context.Context, link string) (string, error) {
	name, stored := strings.CutPrefix(link, "#")
	if !stored {
		return link, nil
	}
	data, err := s.state.Get(ctx, linksKey+name)
	if err != nil {
		return "", fmt.Errorf("read the connector's state: %w", err)
	}
	return string(data), nil
}

// dropRecords deletes the records of parts that are not walked any more, and the
// links of the walk.
func (s *source) dropRecords(ctx context.Context, list []part) error {
	walked := map[string]bool{}
	for _, p := range list {
		walked[hashKey(p.key())] = true
	}
	names, err := s.state.Keys(ctx, currentKey)
	if err != nil {
		return fmt.Errorf("read the connector's state: %w", err)
	}
	for _, name := range names {
		if part := strings.TrimPrefix(name, currentKey); !walked[part] {
			if err := (&record{state: s.state, part: part}).drop(ctx); err != nil {
				return err
			}
		}
	}
	return nil
}

// A partPage is a page of the list of a part.
type partPage struct {
	// folders and files are the entries for the record.
	folders, files []recordEntry
	// items returns the items of the page, once the record has its folders.
	items func(ctx context.Context, r *record) ([]connectors.Item, error)
	// next is the link of the next page or, if done is true, of the next sync.
	next string
	done bool
	// driveItems are the entries of a library, deleted ones included.
	driveItems []driveItem
	// gone are ids of pages or list entries that were deleted.
	gone []string
}

// readPart reads the page of a part at a link, "" for the first.
func (s *source) readPart(ctx context.Context, p part, r *record, link string) (partPage, error) {
	switch p.kind {
	case partPages:
		return s.readPages(ctx, p, link)
	case partList:
		return s.readListItems(ctx, p, link)
	}
	entries, next, done, err := s.driveDelta(ctx, p, link, false)
	if err != nil {
		return partPage{}, err
	}
	read := partPage{next: next, done: done, driveItems: entries}
	for _, i := range entries {
		switch {
		case i.Deleted != nil && link == "":
		case i.isFolder():
			read.folders = append(read.folders, i.entry())
		default:
			read.files = append(read.files, i.entry())
		}
	}
	read.items = func(ctx context.Context, r *record) ([]connectors.Item, error) {
		return s.driveItems(ctx, p, r, entries)
	}
	return read, nil
}

// driveItems returns the items of the files among entries.
func (s *source) driveItems(ctx context.Context, p part, r *record, entries []driveItem) ([]connectors.Item, error) {
	var items []connectors.Item
	for _, i := range entries {
		if i.Deleted != nil || i.isFolder() {
			continue
		}
		item, err := s.newDriveItem(ctx, p, r, i)
		if err != nil {
			return nil, err
		}
		if !s.excludes(item.Path) {
			items = append(items, item)
		}
	}
	return items, nil
}
