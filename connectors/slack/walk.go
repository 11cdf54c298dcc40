package slack

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/magpie-search/magpie/connectors"
)

const (
	walkedPrefix = "walked/"
	editsPrefix  = "edits/"
	// recentWindow is the range of a walk between two full walks.
	recentWindow     = 30 * 24 * time.Hour
	fullWalkInterval = 24 * time.Hour
	// maxPageRequests bounds the requests for one page of a walk.
	maxPageRequests = 8
)

// A walkCursor is a position in a channel's history, which is read backwards,
// or in the list of files, which comes last.
type walkCursor struct {
	Version int    `json:"v"`
	Channel string `json:"c,omitempty"`
	// From and Until bound the rest of the channel's history, in microseconds.
	// Until is 0 before the channel is started.
	From  int64 `json:"f,omitempty"`
	Until int64 `json:"u,omitempty"`
	// After is the last item that was listed of the segment at Until.
	After string `json:"a,omitempty"`
	// Full says that the walk is not limited to the recent window.
	Full bool `json:"w,omitempty"`
	// FilePage is the page of the list of files, from 1. FilesUntil, if not 0,
	// is the upper bound of the files' times in seconds.
	FilePage   int   `json:"n,omitempty"`
	FilesUntil int64 `json:"t,omitempty"`
}

func parseCursor(text string) (walkCursor, error) {
	if text == "" {
		return walkCursor{Version: 1}, nil
	}
	var c walkCursor
	if err := connectors.ParseCursor(text, &c); err != nil {
		return walkCursor{}, err
	}
	if c.Version != 1 || (c.Channel == "") == (c.FilePage == 0) || c.FilePage < 0 || (c.Channel != "" && !channelIDPattern.MatchString(c.Channel)) {
		return walkCursor{}, connectors.ErrCursor
	}
	return c, nil
}

// A walkRecord is the state's record of the last full walk of a channel or of
// the files.
type walkRecord struct {
	WalkedAt   int64  `json:"at"`
	Name       string `json:"name"`
	ConfigHash string `json:"print"`
}

// A pendingSegment is a segment of which the last page did not list all items.
type pendingSegment struct {
	channel string
	until   int64
	items   []connectors.Item
	next    time.Time
}

// Walk implements [connectors.Source]: the channels, sorted by id, each from its
// newest day to the oldest, and then the files.
func (s *source) Walk(ctx context.Context, cursor string) (connectors.Page, error) {
	if err := ctx.Err(); err != nil {
		return connectors.Page{}, err
	}
	position, err := parseCursor(cursor)
	if err != nil {
		return connectors.Page{}, err
	}
	r := reuseSaved
	if cursor == "" {
		r = reuseNothing
	}
	w, err := s.workspace(ctx, r)
	if err != nil {
		return connectors.Page{}, err
	}
	b := &pageBuilder{source: s, workspace: w, cursor: position}
	if cursor == "" {
		b.page.Warnings = append(b.page.Warnings, w.warnings...)
	}
	for !b.page.Done && b.requests < maxPageRequests && len(b.page.Items) < connectors.MaxPageItems {
		if b.cursor.FilePage > 0 {
			if len(b.page.Items)+filesPerPage > connectors.MaxPageItems {
				break
			}
			err = b.walkFiles(ctx)
		} else {
			err = b.walkChannel(ctx)
		}
		if err != nil {
			return connectors.Page{}, err
		}
	}
	if !b.page.Done {
		b.page.Next = connectors.FormatCursor(b.cursor)
	}
	return b.page, nil
}

// A pageBuilder makes one page of a walk.
type pageBuilder struct {
	source    *source
	workspace *workspace
	cursor    walkCursor
	page      connectors.Page
	requests  int
}

func (b *pageBuilder) addWarning(text string) {
	if !slices.Contains(b.page.Warnings, text) {
		b.page.Warnings = append(b.page.Warnings, text)
	}
}

// walkChannel adds the items of the next segment of a channel's history.
func (b *pageBuilder) walkChannel(ctx context.Context) error {
	s := b.source
	index := slices.IndexFunc(b.workspace.selected, func(c channel) bool { return c.ID >= b.cursor.Channel })
	if index < 0 {
		b.cursor = walkCursor{Version: 1, FilePage: 1}
		return nil
	}
	c := b.workspace.selected[index]
	if c.ID != b.cursor.Channel || b.cursor.Until == 0 {
		err := s.joinIfNeeded(ctx, b.workspace, c)
		if err == nil {
			b.cursor, err = s.startChannel(ctx, c)
		}
		if isUnreadable(err) {
			b.skipChannel(index, c, err)
			return nil
		}
		if err != nil {
			return err
		}
	}
	read, err := b.readSegment(ctx, c)
	if isUnreadable(err) {
		b.skipChannel(index, c, err)
		return nil
	}
	if err != nil {
		return err
	}
	items := read.items
	if i := slices.IndexFunc(items, func(i connectors.Item) bool { return i.ID == b.cursor.After }); b.cursor.After != "" && i >= 0 {
		items = items[i+1:]
	}
	room := connectors.MaxPageItems - len(b.page.Items)
	if len(items) > room {
		b.page.Items = append(b.page.Items, items[:room]...)
		b.cursor.After = items[room-1].ID
		return nil
	}
	b.page.Items = append(b.page.Items, items...)
	if read.next.IsZero() || read.next.UnixMicro() < b.cursor.From {
		if err := s.recordWalk(ctx, b.cursor.Full, c.ID, c.Name); err != nil {
			return err
		}
		b.startChannelAfter(index)
		return nil
	}
	b.cursor.Until, b.cursor.After = read.next.UnixMicro(), ""
	return nil
}

// startChannelAfter moves the cursor to the channel after an index.
func (b *pageBuilder) startChannelAfter(index int) {
	if index+1 < len(b.workspace.selected) {
		b.cursor = walkCursor{Version: 1, Channel: b.workspace.selected[index+1].ID}
		return
	}
	b.cursor = walkCursor{Version: 1, FilePage: 1}
}

// skipChannel continues after a channel that cannot be read.
func (b *pageBuilder) skipChannel(index int, c channel, err error) {
	b.addWarning(fmt.Sprintf("#%s could not be read: %s.", c.Name, cmp.Or(errorCode(err), "it was not found")))
	b.requests++
	b.startChannelAfter(index)
}

// startChannel returns the cursor at the newest message of a channel.
func (s *source) startChannel(ctx context.Context, c channel) (walkCursor, error) {
	from, to := s.dateRange.bounds(s.now())
	cursor := walkCursor{Version: 1, Channel: c.ID, Full: true}
	recently, err := s.walkedRecently(ctx, c.ID, c.Name)
	if err != nil {
		return walkCursor{}, err
	}
	if recently {
		cursor.Full = false
		if start := startOfDay(s.now().Add(-recentWindow)); start.After(from) {
			from = start
		}
	}
	if to.IsZero() {
		to = s.now().Add(24 * time.Hour) // clocks differ
	}
	cursor.Until = to.UnixMicro() - 1
	if !from.IsZero() {
		cursor.From = from.UnixMicro()
	}
	return cursor, nil
}

// walkedRecently reports whether a channel, or the files, had a full walk recently
// with the same settings, so that a walk of the recent window suffices.
func (s *source) walkedRecently(ctx context.Context, part, name string) (bool, error) {
	if !s.hasState || s.settings.FullWalk {
		return false, nil
	}
	var last walkRecord
	if ok, err := connectors.GetJSON(ctx, s.state, walkedPrefix+part, &last); err != nil || !ok {
		return false, err
	}
	age := s.now().Sub(time.Unix(last.WalkedAt, 0))
	return last.Name == name && last.ConfigHash == s.configHash && age >= 0 && age < fullWalkInterval, nil
}

func (s *source) recordWalk(ctx context.Context, full bool, part, name string) error {
	if !s.hasState || !full {
		return nil
	}
	return connectors.PutJSON(ctx, s.state, walkedPrefix+part, walkRecord{WalkedAt: s.now().Unix(), Name: name, ConfigHash: s.configHash})
}

// readSegment returns the segment at the cursor. It is read again only if the last
// page has listed all of its items.
func (b *pageBuilder) readSegment(ctx context.Context, c channel) (*pendingSegment, error) {
	s := b.source
	s.mutex.Lock()
	last := s.pending
	s.mutex.Unlock()
	if b.cursor.After != "" && last != nil && last.channel == c.ID && last.until == b.cursor.Until {
		return last, nil
	}
	var from time.Time
	if b.cursor.From != 0 {
		from = time.UnixMicro(b.cursor.From).UTC()
	}
	read, err := s.client.history(ctx, c, time.UnixMicro(b.cursor.Until).UTC(), from)
	b.requests += max(read.requests, 1)
	if err != nil {
		return nil, err
	}
	if read.truncated {
		b.addWarning(fmt.Sprintf("#%s has days with more than %d messages; the newest of such a day were taken.", c.Name, maxMessages))
	}
	items, err := s.segmentItems(ctx, b.workspace, c, read.messages)
	if err != nil {
		return nil, err
	}
	pending := &pendingSegment{channel: c.ID, until: b.cursor.Until, items: items, next: read.next}
	s.mutex.Lock()
	defer s.mutex.Unlock()
	s.pending = pending
	return pending, nil
}

// segmentItems returns the items of whole days, from the newest day on: each day,
// followed by the threads that began on it.
func (s *source) segmentItems(ctx context.Context, w *workspace, c channel, messages []*message) ([]connectors.Item, error) {
	if len(messages) == 0 {
		return nil, nil
	}
	names, err := s.namesFor(ctx, w, messages)
	if err != nil {
		return nil, err
	}
	var items []connectors.Item
	for end := len(messages); end > 0; {
		day := startOfDay(messages[end-1].sentAt)
		start := end - 1
		for start > 0 && startOfDay(messages[start-1].sentAt).Equal(day) {
			start--
		}
		ofDay := messages[start:end]
		end = start
		if item, ok := s.dayItem(w, c, ofDay, names); ok {
			items = append(items, item)
		}
		for _, m := range slices.Backward(ofDay) {
			if !isRoot(m) {
				continue
			}
			edits, err := s.knownEdits(ctx, c.ID, m)
			if err != nil {
				return nil, err
			}
			items = append(items, s.threadItem(w, c, m, edits, names))
		}
	}
	return items, nil
}

func editsKey(channelID string, root *message) string {
	return editsPrefix + channelID + "/" + root.sentAt.Format("2006-01")
}

// knownEdits returns the edits hash of a thread's replies as of the last reading of
// the thread. The root message does not show edits of replies.
func (s *source) knownEdits(ctx context.Context, channelID string, root *message) (string, error) {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	month, err := s.monthEdits(ctx, editsKey(channelID, root))
	return month[root.TS], err
}

func (s *source) monthEdits(ctx context.Context, key string) (map[string]string, error) {
	if month := s.editsByMonth[key]; month != nil {
		return month, nil
	}
	month := make(map[string]string)
	if ok, err := connectors.GetJSON(ctx, s.state, key, &month); err != nil {
		return nil, err
	} else if !ok || month == nil {
		month = make(map[string]string)
	}
	s.editsByMonth[key] = month
	return month, nil
}

// maxEdits is the largest number of edited threads in a value of the state, which
// has those of one channel and month.
const maxEdits = 20_000

// recordEdits stores the edits hash of a thread's replies.
func (s *source) recordEdits(ctx context.Context, channelID string, root *message, edits string) error {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	key := editsKey(channelID, root)
	month, err := s.monthEdits(ctx, key)
	if err != nil || month[root.TS] == edits || len(month) >= maxEdits {
		return err
	}
	month[root.TS] = edits
	if edits == "" {
		delete(month, root.TS)
	}
	return connectors.PutJSON(ctx, s.state, key, month)
}

// walkFiles adds a page of the list of files.
func (b *pageBuilder) walkFiles(ctx context.Context) error {
	s := b.source
	if !s.includeFiles || len(b.workspace.selected) == 0 {
		b.page.Done = true
		return nil
	}
	from, to := s.dateRange.bounds(s.now())
	if b.cursor.FilePage == 1 && b.cursor.FilesUntil == 0 {
		recently, err := s.walkedRecently(ctx, "files", "")
		if err != nil {
			return err
		}
		b.cursor.Full = !recently
	}
	if start := startOfDay(s.now().Add(-recentWindow)); !b.cursor.Full && start.After(from) {
		from = start
	}
	if b.cursor.FilesUntil != 0 {
		to = time.Unix(b.cursor.FilesUntil, 0)
	}
	list, more, err := s.client.files(ctx, b.cursor.FilePage, from, to)
	b.requests++
	if err != nil {
		return err
	}
	if err := s.userNames.load(ctx); err != nil {
		return err
	}
	names := knownNames{users: s.userNames, workspace: b.workspace}
	for _, f := range list {
		switch {
		case f.isExternal():
			b.addWarning(warnExternalFiles)
		case f.Mode == "hidden_by_limit":
			b.addWarning(warnHiddenFiles)
		}
		if item, ok := s.fileItem(b.workspace, f, names); ok {
			b.page.Items = append(b.page.Items, item)
		}
	}
	if !more {
		b.page.Done = true
		return s.recordWalk(ctx, b.cursor.Full, "files", "")
	}
	b.cursor.FilePage++
	if oldest := list[len(list)-1].Created; b.cursor.FilePage > maxFilePages && oldest > 0 && (b.cursor.FilesUntil == 0 || oldest < b.cursor.FilesUntil) {
		b.cursor.FilePage, b.cursor.FilesUntil = 1, oldest // high page numbers are slow
	}
	return nil
}

// An itemRef is a parsed id or path of an item.
type itemRef struct {
	channel, channelName string // the id or the name is set
	day                  time.Time
	root                 string
	file                 string
}

// parseItemID parses an item's id.
func parseItemID(id string) (itemRef, bool) {
	if fileIDPattern.MatchString(id) {
		return itemRef{file: id}, true
	}
	channelID, rest, found := strings.Cut(id, "/")
	if !found || !channelIDPattern.MatchString(channelID) {
		return itemRef{}, false
	}
	if day, err := time.Parse(time.DateOnly, rest); err == nil {
		return itemRef{channel: channelID, day: day}, true
	}
	if _, ok := parseTimestamp(rest); ok {
		return itemRef{channel: channelID, root: rest}, true
	}
	return itemRef{}, false
}
