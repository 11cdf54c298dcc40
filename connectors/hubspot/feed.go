package hubspot

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"time"

	"github.com/magpie-search/magpie/connectors"
	"github.com/magpie-search/magpie/connectors/restapi"
)

const (
	// overlap is how far a window of changes goes back before the last change that was
	// seen, since the search index can be late.
	overlap = 2 * time.Minute
	// settled is the age of the last change after which the index has everything up to it.
	settled = 15 * time.Minute
	// archivedFor is less than the time for which HubSpot lists archived records, which is
	// 90 days. An older token has expired.
	archivedFor = 80 * 24 * time.Hour
)

// A feedToken is a position in the changes. Its times are HubSpot's, in milliseconds
// since 1970.
type feedToken struct {
	// Since is the start of the window of each object, and Archived the last time at which
	// a record of it was archived, as far as that is known.
	Since    map[string]int64 `json:"s"`
	Archived map[string]int64 `json:"a,omitempty"`
	// At is when the token was made.
	At int64 `json:"t"`
	// Object is the object that is read, Last the last id of it, and Newest the last
	// change of it so far.
	Object int    `json:"o,omitempty"`
	Last   string `json:"i,omitempty"`
	Newest int64  `json:"n,omitempty"`
}

// isOf reports whether a token is of the objects.
func (t *feedToken) isOf(objects []object) bool {
	if len(t.Since) != len(objects) || t.At <= 0 || t.Object < 0 || t.Object >= len(objects) || t.Last != "" && !isID(t.Last) {
		return false
	}
	for _, o := range objects {
		if since, exists := t.Since[o.name]; !exists || since < 0 {
			return false
		}
	}
	return true
}

// Changes implements [connectors.Feeder]: the records of each object that were modified
// since a time, and those that were archived.
func (s *source) Changes(ctx context.Context, text string) (connectors.ChangePage, error) {
	if err := ctx.Err(); err != nil {
		return connectors.ChangePage{}, err
	}
	var token feedToken
	if text != "" && connectors.ParseCursor(text, &token) != nil {
		return connectors.ChangePage{Expired: true}, nil
	}
	if token.Object == 0 && token.Last == "" {
		s.resetCaches()
	}
	objects, err := s.objects(ctx)
	if err != nil {
		return connectors.ChangePage{}, err
	}
	if text == "" {
		return s.present(ctx, objects)
	}
	if !token.isOf(objects) {
		return connectors.ChangePage{Expired: true}, nil
	}
	page, err := s.changesOf(ctx, &objects[token.Object], &token)
	if isRefused(err) {
		o := objects[token.Object]
		s.addWarning(fmt.Sprintf("Changes of %s are left out: %s.", o.title, scopeError(err, "they", o.scope)))
		token.Last, token.Newest = "", 0
		token.Object++
		err = nil
	}
	switch {
	case err != nil:
		return connectors.ChangePage{}, err
	case s.api.now().Sub(time.UnixMilli(token.At)) > archivedFor:
		return connectors.ChangePage{Expired: true}, nil
	}
	page.More = token.Object < len(objects)
	if !page.More {
		token.Object, token.At = 0, s.api.now().UnixMilli()
	}
	page.Next, page.Pause, page.Warnings = connectors.FormatCursor(token), s.pause(), s.takeWarnings()
	return page, nil
}

// present returns the token of the present.
func (s *source) present(ctx context.Context, objects []object) (connectors.ChangePage, error) {
	token := feedToken{Since: map[string]int64{}, Archived: map[string]int64{}}
	for _, o := range objects {
		newest, _, err := s.api.search(ctx, &o, nil, o.modified, "DESCENDING", 1, []string{o.modified})
		if err != nil && !isRefused(err) {
			return connectors.ChangePage{}, err
		}
		token.Since[o.name] = 0
		if len(newest) > 0 {
			token.Since[o.name] = s.nextSince(0, newest[0].UpdatedAt.UnixMilli())
		}
	}
	token.At = s.api.now().UnixMilli()
	return connectors.ChangePage{Next: connectors.FormatCursor(token), Pause: s.pause(), Warnings: s.takeWarnings()}, nil
}

// nextSince returns the start of the window that follows changes up to a time, 0 for
// none.
func (s *source) nextSince(since, newest int64) int64 {
	if newest < since {
		return since
	}
	// The clock only decides whether a window overlaps: another clock than that of the
	// records loses no change that the index had in time.
	if s.api.now().Sub(time.UnixMilli(newest)) < settled {
		return max(newest-overlap.Milliseconds(), since, 0)
	}
	return newest + 1
}

// changesOf reads a part of the changes of an object and moves the token.
func (s *source) changesOf(ctx context.Context, o *object, token *feedToken) (connectors.ChangePage, error) {
	// A window begins behind the last id: HubSpot returns the first 10,000 records of a
	// search only.
	filters := []filter{{Property: o.modified, Operator: "GTE", Value: strconv.FormatInt(token.Since[o.name], 10)}}
	if token.Last != "" {
		filters = append(filters, filter{Property: propertyID, Operator: "GT", Value: token.Last})
	}
	properties := append(o.properties(), o.modified, propertyID)
	var records []record
	var total int
	var err error
	for _, limit := range []int{searchedPerPage, 10, 1} {
		if records, total, err = s.api.search(ctx, o, filters, propertyID, "ASCENDING", limit, properties); !isTooLarge(err) {
			break
		}
	}
	if err != nil {
		return connectors.ChangePage{}, err
	}
	for i := range records {
		id := string(records[i].ID)
		if token.Last != "" && compareIDs(id, token.Last) <= 0 {
			return connectors.ChangePage{}, restapi.LoopError("HubSpot", "the changes", id)
		}
		token.Last, token.Newest = id, max(token.Newest, records[i].UpdatedAt.UnixMilli())
	}
	more := len(records) > 0 && total > len(records)
	records = slices.DeleteFunc(records, func(r record) bool { return r.Archived })
	if err := s.readAssociations(ctx, o, records); err != nil {
		return connectors.ChangePage{}, err
	}
	var page connectors.ChangePage
	if page.Items, err = s.items(ctx, o, records); err != nil {
		return connectors.ChangePage{}, err
	}
	if more {
		return page, nil
	}
	return page, s.finishObject(ctx, o, token, &page)
}

// finishObject adds the archived records of an object and moves the token to the next
// object.
func (s *source) finishObject(ctx context.Context, o *object, token *feedToken, page *connectors.ChangePage) error {
	gone, last, err := s.archived(ctx, o, token.Archived[o.name])
	if err != nil {
		return err
	}
	if token.Archived == nil {
		token.Archived = map[string]int64{}
	}
	// The index of the search may not know yet that a record was archived.
	page.Items = slices.DeleteFunc(page.Items, func(item connectors.Item) bool { return slices.Contains(gone, item.ID) })
	page.Gone = gone
	token.Archived[o.name] = last
	token.Since[o.name] = s.nextSince(token.Since[o.name], token.Newest)
	token.Object++
	token.Last, token.Newest = "", 0
	return nil
}

// archived returns the items of records that were archived since a time, with an
// overlap, and the time of the last one.
func (s *source) archived(ctx context.Context, o *object, since int64) (gone []string, last int64, err error) {
	last = since
	err = restapi.AllPages("HubSpot", "the archived records", 100_000, func(after string) (string, error) {
		records, next, err := s.api.listRecords(ctx, o, after, recordsPerPage, true, false)
		if err != nil {
			return "", err
		}
		for i := range records {
			at := records[i].ArchivedAt.UnixMilli()
			if records[i].ArchivedAt.IsZero() || at >= since-overlap.Milliseconds() {
				gone = append(gone, itemID(o, string(records[i].ID)))
			}
			last = max(last, at)
		}
		return next, nil
	})
	return gone, last, err
}
