package slack

import (
	"context"
	"fmt"
	"path"
	"strings"
	"time"

	"github.com/magpie-search/magpie/connectors"
)

// Resolve implements [connectors.Resolver]. A name is an item's id or path. Of a
// path, only the channel and the identifier at the end count, so that an old title
// still finds a thread or file.
func (s *source) Resolve(ctx context.Context, names []string) (found []connectors.Item, missing []string, err error) {
	if err := ctx.Err(); err != nil {
		return nil, nil, err
	}
	return connectors.ResolveEach(ctx, names, 1, func(ctx context.Context, name string) ([]connectors.Item, error) {
		ref, ok := parseItemID(name)
		if !ok {
			ref, ok = parseItemPath(name)
		}
		if !ok {
			return nil, connectors.ErrNotFound
		}
		item, err := s.findItem(ctx, ref)
		return []connectors.Item{item}, err
	})
}

// parseItemPath parses an item's path.
func parseItemPath(name string) (itemRef, bool) {
	channelName, rest, found := strings.Cut(strings.TrimPrefix(name, "#"), "/")
	if !found || channelName == "" || strings.HasSuffix(rest, "/") {
		return itemRef{}, false
	}
	ref := itemRef{channelName: channelName}
	var err error
	if ref.day, err = time.Parse(time.DateOnly, rest); err == nil {
		return ref, true
	}
	if fileName, isFile := strings.CutPrefix(rest, "files/"); isFile {
		id := fileName[strings.LastIndexByte(fileName, '-')+1:]
		ref.file = strings.TrimSuffix(id, path.Ext(id))
		return ref, fileIDPattern.MatchString(ref.file) && id != fileName
	}
	dash := strings.LastIndexByte(rest, '-')
	if dash < len(time.DateOnly) {
		return itemRef{}, false
	}
	ref.root = rest[dash+1:]
	_, ok := parseTimestamp(ref.root)
	return ref, ok
}

// findItem returns the current item, with the content of a conversation.
func (s *source) findItem(ctx context.Context, ref itemRef) (connectors.Item, error) {
	w, err := s.workspace(ctx, reuseLoaded)
	if err != nil {
		return connectors.Item{}, err
	}
	c, selected := w.selectedByID(ref.channel)
	if ref.channelName != "" {
		c, selected = w.selectedByName(ref.channelName)
	}
	switch {
	case ref.file != "" && (selected || ref.channelName == ""):
		return s.findFile(ctx, w, ref.file)
	case !selected:
		return connectors.Item{}, errNoItem
	case ref.root != "":
		return s.findThread(ctx, w, c, ref.root)
	default:
		return s.findDay(ctx, w, c, ref.day)
	}
}

// errNoItem says that a name stands for no item of the connector.
var errNoItem = fmt.Errorf("find an item of the workspace: %w", connectors.ErrNotFound)

func (s *source) findFile(ctx context.Context, w *workspace, id string) (connectors.Item, error) {
	f, err := s.client.fileInfo(ctx, id)
	if err != nil {
		return connectors.Item{}, err
	}
	if err := s.userNames.load(ctx); err != nil {
		return connectors.Item{}, err
	}
	item, ok := s.fileItem(w, f, knownNames{users: s.userNames, workspace: w})
	if !ok {
		return connectors.Item{}, errNoItem
	}
	return item, nil
}

func (s *source) findThread(ctx context.Context, w *workspace, c channel, root string) (connectors.Item, error) {
	if sentAt, ok := parseTimestamp(root); !ok || !s.inDateRange(sentAt) {
		return connectors.Item{}, errNoItem
	}
	messages, err := s.client.replies(ctx, c, root)
	if err != nil {
		return connectors.Item{}, err
	}
	names, err := s.namesFor(ctx, w, messages)
	if err != nil {
		return connectors.Item{}, err
	}
	edits := editsHash(messages)
	if err := s.recordEdits(ctx, c.ID, messages[0], edits); err != nil {
		return connectors.Item{}, err
	}
	item := s.threadItem(w, c, messages[0], edits, names)
	item.Content = []byte(renderThread(c, item.Title, s.threadDocumentMessages(messages), names))
	return item, nil
}

func (s *source) findDay(ctx context.Context, w *workspace, c channel, day time.Time) (connectors.Item, error) {
	if !s.inDateRange(day) {
		return connectors.Item{}, errNoItem
	}
	messages, err := s.client.dayMessages(ctx, c, day)
	if err != nil {
		return connectors.Item{}, err
	}
	names, err := s.namesFor(ctx, w, messages)
	if err != nil {
		return connectors.Item{}, err
	}
	item, ok := s.dayItem(w, c, messages, names)
	if !ok {
		return connectors.Item{}, errNoItem
	}
	return item, nil
}
