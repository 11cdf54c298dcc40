package slack

import (
	"context"
	"errors"
	"path"
	"strings"
	"time"

	"github.com/magpie-search/magpie/connectors"
)

// Resolve implements [connectors.Resolver]. A name is an item's id or its path; of
// a path, the channel and what identifies the item at its end count, so that an
// old title still finds a thread or file.
func (s *source) Resolve(ctx context.Context, names []string) (found []connectors.Item, missing []string, err error) {
	if err := ctx.Err(); err != nil {
		return nil, nil, err
	}
	met := make(map[string]bool)
	for _, name := range names {
		at, ok := placeOf(name)
		if !ok {
			at, ok = placeAt(name)
		}
		var item *connectors.Item
		if ok {
			if item, err = s.find(ctx, at); err != nil {
				return nil, nil, err
			}
		}
		switch {
		case item == nil:
			missing = append(missing, name)
		case !met[item.ID]:
			met[item.ID] = true
			found = append(found, *item)
		}
	}
	return found, missing, nil
}

// placeAt reads an item's path.
func placeAt(name string) (place, bool) {
	c, rest, found := strings.Cut(strings.TrimPrefix(name, "#"), "/")
	if !found || c == "" || strings.HasSuffix(rest, "/") {
		return place{}, false
	}
	at := place{name: c}
	var err error
	if at.day, err = time.Parse(time.DateOnly, rest); err == nil {
		return at, true
	}
	if rest, found = strings.CutPrefix(rest, "files/"); found {
		stem := rest[strings.LastIndexByte(rest, '-')+1:]
		at.file = strings.TrimSuffix(stem, path.Ext(stem))
		return at, fileShape.MatchString(at.file) && stem != rest
	}
	mark := strings.LastIndexByte(rest, '-')
	if mark < len(time.DateOnly) {
		return place{}, false
	}
	at.root = rest[mark+1:]
	_, ok := momentOf(at.root)
	return at, ok
}

// find is what there is at a place by now, with the content of a conversation;
// nil for nothing.
func (s *source) find(ctx context.Context, at place) (*connectors.Item, error) {
	p, err := s.places(ctx, once)
	if err != nil {
		return nil, err
	}
	c, walked := p.chosenByID(at.channel)
	if at.name != "" {
		c, walked = p.chosenByName(at.name)
	}
	switch {
	case at.file != "" && (walked || at.name == ""):
		return s.findFile(ctx, p, at.file)
	case !walked:
		return nil, nil //nolint:nilnil // documented
	case at.root != "":
		return s.findThread(ctx, p, c, at.root)
	default:
		return s.findDay(ctx, p, c, at.day)
	}
}

func (s *source) findFile(ctx context.Context, p *places, id string) (*connectors.Item, error) {
	f, err := s.api.fileInfo(ctx, id)
	if errors.Is(err, connectors.ErrNotFound) {
		return nil, nil //nolint:nilnil // documented
	}
	if err != nil {
		return nil, err
	}
	if err := s.people.load(ctx); err != nil {
		return nil, err
	}
	if item, ok := s.fileItem(p, f, known{people: s.people, places: p}); ok {
		return &item, nil
	}
	return nil, nil //nolint:nilnil // documented
}

func (s *source) findThread(ctx context.Context, p *places, c channel, root string) (*connectors.Item, error) {
	if began, ok := momentOf(root); !ok || !s.within(began) {
		return nil, nil //nolint:nilnil // documented
	}
	messages, there, err := s.api.replies(ctx, c, root)
	if unreadable(err) || (err == nil && !there) {
		return nil, nil //nolint:nilnil // documented
	}
	if err != nil {
		return nil, err
	}
	n, err := s.knowing(ctx, p, messages)
	if err != nil {
		return nil, err
	}
	changed := changes(messages)
	if err := s.note(ctx, c.ID, messages[0], changed); err != nil {
		return nil, err
	}
	item := s.threadItem(p, c, messages[0], changed, n)
	item.Content = []byte(threadText(c, item.Title, s.spokenIn(messages), n))
	return &item, nil
}

func (s *source) findDay(ctx context.Context, p *places, c channel, day time.Time) (*connectors.Item, error) {
	if !s.within(day) {
		return nil, nil //nolint:nilnil // documented
	}
	messages, err := s.api.day(ctx, c, day)
	if unreadable(err) {
		return nil, nil //nolint:nilnil // documented
	}
	if err != nil {
		return nil, err
	}
	n, err := s.knowing(ctx, p, messages)
	if err != nil {
		return nil, err
	}
	if item, ok := s.dayItem(p, c, messages, n); ok {
		return &item, nil
	}
	return nil, nil //nolint:nilnil // documented
}
