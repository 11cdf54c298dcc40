package salesforce

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/magpie-search/magpie/connectors"
	"github.com/magpie-search/magpie/connectors/restapi"
)

const (
	recordsPerPage = 300
	maxPageContent = 16 << 20 // bytes of content on one page
)

// A position is a place in a walk: an object, the last record of it that was given, and
// the last file of the record that follows.
type position struct {
	Object string `json:"o"`
	After  string `json:"a,omitempty"`
	Record string `json:"r,omitempty"`
	File   string `json:"f,omitempty"`
	// Counts has the number of records of each object that Salesforce counts, -1 if it
	// does not. Seen is the number of records of the object so far, and Files that of all
	// files.
	Counts []int `json:"c,omitempty"`
	Seen   int   `json:"n,omitempty"`
	Files  int   `json:"k,omitempty"`
}

// at returns the position with another place.
func (p position) at(place position) position {
	place.Counts, place.Seen, place.Files = p.Counts, p.Seen, p.Files
	return place
}

func (p position) isValid() bool {
	isOptional := func(id string) bool { return id == "" || isID(id) }
	return p.Seen >= 0 && p.Files >= 0 && checkName(p.Object) == nil && isOptional(p.After) && isOptional(p.Record) && (p.File == "" || p.File == "0" || isID(p.File))
}

// Walk implements [connectors.Source].
func (s *source) Walk(ctx context.Context, text string) (connectors.Page, error) {
	if err := ctx.Err(); err != nil {
		return connectors.Page{}, err
	}
	var at position
	if text == "" {
		s.reset()
	} else if err := connectors.ParseCursor(text, &at); err != nil {
		return connectors.Page{}, err
	} else if !at.isValid() {
		return connectors.Page{}, connectors.ErrCursor
	}
	objects, err := s.load(ctx)
	if err != nil {
		return connectors.Page{}, err
	}
	var incomplete []string
	if text == "" {
		if incomplete, err = s.incomplete(ctx); err != nil {
			return connectors.Page{}, err
		}
		if at.Counts, err = s.api.counts(ctx, objects); err != nil {
			return connectors.Page{}, err
		}
	}
	page := connectors.Page{Incomplete: incomplete}
	// Objects with few records are on one page.
	for !page.Done && len(page.Items) < recordsPerPage/2 {
		items, next, done, err := s.step(ctx, objects, at, connectors.MaxPageItems-len(page.Items))
		if err != nil {
			return connectors.Page{}, err
		}
		page.Items, page.Done, at = append(page.Items, items...), done, next
	}
	if !page.Done {
		page.Next = connectors.FormatCursor(at)
	}
	page.Total = restapi.Total(at.Counts, len(objects), at.Files)
	page.Warnings = s.takeWarnings()
	return page, nil
}

// step returns the items of one object from a position on, at most limit, and the
// position after them.
func (s *source) step(ctx context.Context, objects []*object, at position, limit int) (items []connectors.Item, next position, done bool, err error) {
	// An object that is not the connector's any more is followed by the next one.
	number := slices.IndexFunc(objects, func(o *object) bool { return o.Name >= at.Object })
	if number < 0 {
		return nil, at, true, nil
	}
	o := objects[number]
	if o.Name != at.Object {
		at = at.at(position{Object: o.Name})
		at.Seen = 0
	}
	found, err := s.api.readPage(ctx, o.selected(), at.After, recordsPerPage)
	if err != nil {
		return nil, at, false, s.queryError(o, err)
	}
	records, err := s.complete(ctx, o, found.rows)
	if err != nil {
		return nil, at, false, err
	}
	if len(records) > 0 {
		if err := s.markSeen(ctx, o.Name); err != nil {
			return nil, at, false, err
		}
	}
	if items, next, err = s.give(ctx, at, records, limit); err != nil {
		return nil, at, false, err
	}
	for i := range items {
		if id, _ := parseID(items[i].ID); id.file == "" {
			at.Seen++
		} else {
			at.Files++
		}
	}
	switch {
	case next.Object != "":
		return items, at.at(next), false, nil
	case found.more && len(found.rows) == 0:
		return nil, at, false, errInvalid("an empty part of the records of " + o.Name)
	case found.more:
		return items, at.at(position{Object: o.Name, After: records[len(records)-1].rowID()}), false, nil
	}
	if len(at.Counts) == len(objects) {
		s.compareCount(o, at.Seen, at.Counts[number])
	}
	at.Seen = 0
	if number+1 == len(objects) {
		return items, at, true, nil
	}
	return items, at.at(position{Object: objects[number+1].Name}), false, nil
}

// compareCount warns if a walk saw fewer records of an object than Salesforce counts.
func (s *source) compareCount(o *object, seen, count int) {
	if restapi.IsShort(seen, count) {
		s.warn(fmt.Sprintf("Salesforce listed %d of about %d records of %s; those that are missing may come with the next complete sync.", seen, count, o.Name))
	}
}

// counts returns how many records Salesforce counts of each object, -1 if it does not.
func (a *api) counts(ctx context.Context, objects []*object) ([]int, error) {
	if len(objects) > restapi.MaxCounted {
		return nil, nil
	}
	calls := make([]call, len(objects))
	for i, o := range objects {
		calls[i] = queryCall(o.selected().count(), false)
	}
	bodies, err := a.batch(ctx, calls, func(int, error) bool { return ctx.Err() == nil }) // a walk is complete without them
	if err != nil {
		return nil, err
	}
	counts := make([]int, len(objects))
	for i, body := range bodies {
		if body == nil {
			counts[i] = -1
			continue
		}
		var answer struct {
			TotalSize *int `json:"totalSize"`
		}
		if json.Unmarshal(body, &answer) != nil || answer.TotalSize == nil || *answer.TotalSize < 0 {
			return nil, errInvalid("the number of records of " + objects[i].Name)
		}
		counts[i] = *answer.TotalSize
	}
	return counts, nil
}

// give returns the items of records from a position on. If there are more than limit,
// next is the position after them.
func (s *source) give(ctx context.Context, at position, records []record, limit int) (items []connectors.Item, next position, err error) {
	content := 0
	next = position{Object: at.Object, After: at.After}
	for i := range records {
		r := &records[i]
		files := r.fileItems(s.api.address())
		if at.Record == r.rowID() {
			files = slices.DeleteFunc(files, func(item connectors.Item) bool {
				id, _ := parseID(item.ID)
				return at.File == "" || compareIDs(id.file, at.File) <= 0
			})
		} else {
			if len(items) >= limit || content > maxPageContent {
				return items, next, nil
			}
			item := r.item(s.api.address())
			item.Content = r.document()
			content += len(item.Content)
			items = append(items, item)
		}
		next.Record, next.File = r.rowID(), "0"
		for _, item := range files {
			if len(items) >= limit {
				return items, next, nil
			}
			id, _ := parseID(item.ID)
			items, next.File = append(items, item), id.file
		}
		if _, err := s.rememberFiles(ctx, r); err != nil {
			return nil, position{}, err
		}
		next = position{Object: at.Object, After: r.rowID()}
	}
	return items, position{}, nil
}

// Links between records and files are remembered, so that the feed knows the files of
// records that are gone, and the records of files that are gone. No link is forgotten: a
// feed can be read again from an older token.
const (
	fileKey     = "file/" // and the record's item, and the file
	documentKey = "doc/"  // and the file, and the record's item
)

// linkKey returns a record's item as a part of a key.
func linkKey(id itemID) string {
	id.file = ""
	return strings.ReplaceAll(id.String(), "/", "|")
}

// rememberFiles remembers the files of a record, and returns the ids of the items of
// files that it does not have any more.
func (s *source) rememberFiles(ctx context.Context, r *record) (gone []itemID, err error) {
	if !s.settings.Boolean(optionFiles) || r.object.isKnowledge() {
		return nil, nil
	}
	id := r.id()
	known, err := s.filesOf(ctx, id)
	if err != nil {
		return nil, err
	}
	for _, f := range r.files {
		if slices.Contains(known, f.document) {
			known = slices.DeleteFunc(known, func(other string) bool { return other == f.document })
			continue
		}
		for _, key := range []string{fileKey + linkKey(id) + "/" + f.document, documentKey + f.document + "/" + linkKey(id)} {
			if err := s.state.Put(ctx, key, []byte("1")); err != nil {
				return nil, fmt.Errorf("remember a file: %w", err)
			}
		}
	}
	for _, id.file = range known {
		gone = append(gone, id)
	}
	return gone, nil
}

// filesOf returns the files that a record had.
func (s *source) filesOf(ctx context.Context, id itemID) ([]string, error) {
	prefix := fileKey + linkKey(id) + "/"
	keys, err := s.state.Keys(ctx, prefix)
	if err != nil {
		return nil, fmt.Errorf("read the files of a record: %w", err)
	}
	for i := range keys {
		keys[i] = strings.TrimPrefix(keys[i], prefix)
	}
	return keys, nil
}

// recordsOf returns the records that have a file, as far as the connector knows.
func (s *source) recordsOf(ctx context.Context, document string) ([]itemID, error) {
	prefix := documentKey + document + "/"
	keys, err := s.state.Keys(ctx, prefix)
	if err != nil {
		return nil, fmt.Errorf("read the records of a file: %w", err)
	}
	var ids []itemID
	for _, key := range keys {
		if id, ok := parseID(strings.ReplaceAll(strings.TrimPrefix(key, prefix), "|", "/")); ok {
			ids = append(ids, id)
		}
	}
	return ids, nil
}
