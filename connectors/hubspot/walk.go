package hubspot

import (
	"context"
	"fmt"

	"github.com/magpie-search/magpie/connectors"
	"github.com/magpie-search/magpie/connectors/restapi"
)

// maxPageContent bounds the content on one page, in bytes.
const maxPageContent = 16 << 20

// A position is a place in the walk: an object, and a place in the list of its records.
type position struct {
	Object int    `json:"o"`
	After  string `json:"a,omitempty"`
	Loop   string `json:"l,omitempty"`
	// Seen is the number of records of the object so far, and Refused that of objects
	// that the token may not read.
	Seen    int `json:"n,omitempty"`
	Refused int `json:"r,omitempty"`
}

// Walk implements [connectors.Source].
func (s *source) Walk(ctx context.Context, text string) (connectors.Page, error) {
	if err := ctx.Err(); err != nil {
		return connectors.Page{}, err
	}
	var at position
	if text == "" {
		s.resetCaches()
	} else if err := connectors.ParseCursor(text, &at); err != nil {
		return connectors.Page{}, err
	} else if at.Object < 0 || at.Seen < 0 || at.Refused < 0 || len(at.After) > maxAfter {
		return connectors.Page{}, connectors.ErrCursor
	}
	objects, err := s.objects(ctx)
	if err != nil {
		return connectors.Page{}, err
	}
	var page connectors.Page
	for content := 0; at.Object < len(objects); {
		o := &objects[at.Object]
		items, next, err := s.walkPart(ctx, o, at)
		if isRefused(err) {
			err = scopeError(err, o.title, o.scope)
			if at.Refused++; at.Refused == len(objects) {
				return connectors.Page{}, err
			}
			s.addWarning(fmt.Sprintf("%s are left out, and those that are known are kept: %s.", o.title, err))
			page.Incomplete = append(page.Incomplete, o.name)
			items, next, err = nil, position{Object: at.Object + 1}, nil
		}
		if err != nil {
			return connectors.Page{}, err
		}
		next.Refused = at.Refused
		if at = next; len(items) > 0 {
			page.Items = append(page.Items, items...)
		}
		for _, item := range items {
			content += len(item.Content)
		}
		if len(page.Items)+recordsPerPage > connectors.MaxPageItems || content > maxPageContent {
			break
		}
	}
	page.Done, page.Pause, page.Warnings = at.Object >= len(objects), s.pause(), s.takeWarnings()
	if !page.Done {
		page.Next = connectors.FormatCursor(at)
	}
	return page, nil
}

// walkPart returns the items of one request, and the position behind them.
func (s *source) walkPart(ctx context.Context, o *object, at position) ([]connectors.Item, position, error) {
	loop, valid := restapi.ParseLoopDetector(at.Loop)
	if !valid && at.Loop != "" {
		return nil, at, connectors.ErrCursor
	}
	var records []record
	var next string
	var err error
	for _, limit := range []int{recordsPerPage, 10, 1} {
		if records, next, err = s.api.listRecords(ctx, o, at.After, limit, false, s.associations); !isTooLarge(err) {
			break
		}
	}
	if err != nil {
		return nil, at, err
	}
	items, err := s.items(ctx, o, records)
	if err != nil {
		return nil, at, err
	}
	if next == "" {
		return items, position{Object: at.Object + 1}, s.compareCount(ctx, o, at.Seen+len(records))
	}
	if err := loop.Visit("HubSpot", "the records", next); err != nil {
		return nil, at, err
	}
	return items, position{Object: at.Object, After: next, Loop: loop.String(), Seen: at.Seen + len(records)}, nil
}

// items returns the items of records with their documents.
func (s *source) items(ctx context.Context, o *object, records []record) ([]connectors.Item, error) {
	if err := s.readNames(ctx, o, records); err != nil {
		return nil, err
	}
	items := make([]connectors.Item, 0, len(records))
	for i := range records {
		item, err := s.item(ctx, o, &records[i])
		if err != nil {
			return nil, err
		}
		items = append(items, item)
	}
	return items, nil
}

// compareCount warns if a walk saw fewer records than HubSpot counts. The count comes
// from the search, which is late by moments.
func (s *source) compareCount(ctx context.Context, o *object, seen int) error {
	_, count, err := s.api.search(ctx, o, nil, "", "", 1, []string{propertyID})
	switch {
	case isRefused(err) || restapi.StatusOf(err) == 404 || restapi.StatusOf(err) == 400:
		return nil // a walk is complete without the count
	case err != nil:
		return err
	}
	if restapi.IsShort(seen, count) {
		s.addWarning(fmt.Sprintf("HubSpot listed %d of about %d %s; those that are missing may come with the next complete sync.", seen, count, o.title))
	}
	return nil
}
