package slack

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/magpie-search/magpie/connectors"
)

const (
	walkedNotes = "walked/"
	editNotes   = "edits/"
	// recent is how far back a walk looks between two walks of everything, which
	// are wholeAge apart at most.
	recent   = 30 * 24 * time.Hour
	wholeAge = 24 * time.Hour
	// maxAsked is how many requests a page makes before it is returned.
	maxAsked = 8
)

// position is where a walk is: in a channel's history, which is read from now
// back, or in the list of files, which comes last.
type position struct {
	Edition int    `json:"v"`
	Channel string `json:"c,omitempty"`
	// From and Until bound what is left of the channel's history, in microseconds;
	// Until is 0 for a channel that was not begun.
	From  int64 `json:"f,omitempty"`
	Until int64 `json:"u,omitempty"`
	// After is the last item that was named of the stretch that ends at Until.
	After string `json:"a,omitempty"`
	// Whole says that nothing is left out, because it was there before.
	Whole bool `json:"w,omitempty"`
	// Files is the page of the list of files, from 1 on; To the age it begins at.
	Files int   `json:"n,omitempty"`
	To    int64 `json:"t,omitempty"`
}

func parsePosition(cursor string) (position, bool) {
	if cursor == "" {
		return position{Edition: 1}, true
	}
	var at position
	if len(cursor) > connectors.MaxCursorBytes || json.Unmarshal([]byte(cursor), &at) != nil || at.Edition != 1 ||
		(at.Channel == "") == (at.Files == 0) || at.Files < 0 || (at.Channel != "" && !channelShape.MatchString(at.Channel)) {
		return position{}, false
	}
	return at, true
}

func (at position) cursor() string {
	data, err := json.Marshal(at)
	if err != nil {
		return ""
	}
	return string(data)
}

// walked is what is kept of the last walk of a channel that left nothing out.
type walked struct {
	At    int64  `json:"at"`
	Name  string `json:"name"`
	Print string `json:"print"`
}

// part is the stretch that a page could not name all items of.
type part struct {
	channel string
	until   int64
	items   []connectors.Item
	next    time.Time
}

// Walk implements [connectors.Source]: channel by channel, in the order of their
// ids, from the newest day to the oldest, then the files.
func (s *source) Walk(ctx context.Context, cursor string) (connectors.Page, error) {
	if err := ctx.Err(); err != nil {
		return connectors.Page{}, err
	}
	at, ok := parsePosition(cursor)
	if !ok {
		return connectors.Page{}, connectors.Fatal(errors.New("this is no cursor of a walk through a workspace"))
	}
	how := lately
	if cursor == "" {
		how = anew
	}
	p, err := s.places(ctx, how)
	if err != nil {
		return connectors.Page{}, err
	}
	v := &visit{source: s, places: p, at: at}
	if cursor == "" {
		v.page.Warnings = append(v.page.Warnings, p.warnings...)
	}
	for !v.page.Done && v.asked < maxAsked && len(v.page.Items) < connectors.MaxPageItems {
		if v.at.Files > 0 {
			if len(v.page.Items)+filesOnPage > connectors.MaxPageItems {
				break
			}
			err = v.fileStep(ctx)
		} else {
			err = v.channelStep(ctx)
		}
		if err != nil {
			return connectors.Page{}, err
		}
	}
	if !v.page.Done {
		v.page.Next = v.at.cursor()
	}
	return v.page, nil
}

// visit is one page of a walk.
type visit struct {
	source *source
	places *places
	at     position
	page   connectors.Page
	asked  int
}

func (v *visit) warn(text string) {
	if !slices.Contains(v.page.Warnings, text) {
		v.page.Warnings = append(v.page.Warnings, text)
	}
}

// channelStep names what is left of a stretch of a channel's history.
func (v *visit) channelStep(ctx context.Context) error {
	s := v.source
	at := slices.IndexFunc(v.places.chosen, func(c channel) bool { return c.ID >= v.at.Channel })
	if at < 0 {
		v.at = position{Edition: 1, Files: 1}
		return nil
	}
	c := v.places.chosen[at]
	if c.ID != v.at.Channel || v.at.Until == 0 {
		err := s.enter(ctx, v.places, c)
		if err == nil {
			v.at, err = s.begin(ctx, c)
		}
		if unreadable(err) {
			return v.leave(at, c, err)
		}
		if err != nil {
			return err
		}
	}
	rest, err := v.stretch(ctx, c)
	if unreadable(err) {
		return v.leave(at, c, err)
	}
	if err != nil {
		return err
	}
	items := rest.items
	if i := slices.IndexFunc(items, func(i connectors.Item) bool { return i.ID == v.at.After }); v.at.After != "" && i >= 0 {
		items = items[i+1:]
	}
	room := connectors.MaxPageItems - len(v.page.Items)
	if len(items) > room {
		v.page.Items = append(v.page.Items, items[:room]...)
		v.at.After = items[room-1].ID
		return nil
	}
	v.page.Items = append(v.page.Items, items...)
	if rest.next.IsZero() || rest.next.UnixMicro() < v.at.From {
		if err := s.finished(ctx, v.at.Whole, c.ID, c.Name); err != nil {
			return err
		}
		v.next(at)
		return nil
	}
	v.at.Until, v.at.After = rest.next.UnixMicro(), ""
	return nil
}

// next goes on to the channel after the one at an index.
func (v *visit) next(at int) {
	if at+1 < len(v.places.chosen) {
		v.at = position{Edition: 1, Channel: v.places.chosen[at+1].ID}
		return
	}
	v.at = position{Edition: 1, Files: 1}
}

// leave goes on after a channel that cannot be read.
func (v *visit) leave(at int, c channel, err error) error {
	v.warn(fmt.Sprintf("#%s could not be read: %s.", c.Name, or(codeOf(err), "it was not found")))
	v.asked++
	v.next(at)
	return nil
}

// begin is the position at the end of a channel's history.
func (s *source) begin(ctx context.Context, c channel) (position, error) {
	from, to := s.span.bounds(s.now())
	at := position{Edition: 1, Channel: c.ID, Whole: true}
	again, err := s.wasWalked(ctx, c.ID, c.Name)
	if err != nil {
		return position{}, err
	}
	if again {
		at.Whole = false
		if begin := startOfDay(s.now().Add(-recent)); begin.After(from) {
			from = begin
		}
	}
	if to.IsZero() {
		to = s.now().Add(24 * time.Hour) // clocks differ
	}
	at.Until = to.UnixMicro() - 1
	if !from.IsZero() {
		at.From = from.UnixMicro()
	}
	return at, nil
}

// wasWalked says whether all of a channel, or of the files, was walked lately and
// with the same settings, so that only what is recent has to be walked now.
func (s *source) wasWalked(ctx context.Context, what, name string) (bool, error) {
	if !s.lasting || s.settings.FullWalk {
		return false, nil
	}
	data, err := s.notes.Get(ctx, walkedNotes+what)
	if err != nil {
		return false, fmt.Errorf("read what was walked: %w", err)
	}
	var last walked
	if len(data) == 0 || json.Unmarshal(data, &last) != nil {
		return false, nil
	}
	age := s.now().Sub(time.Unix(last.At, 0))
	return last.Name == name && last.Print == s.print && age >= 0 && age < wholeAge, nil
}

func (s *source) finished(ctx context.Context, whole bool, what, name string) error {
	if !s.lasting || !whole {
		return nil
	}
	data, err := json.Marshal(walked{At: s.now().Unix(), Name: name, Print: s.print})
	if err != nil {
		return err
	}
	if err := s.notes.Put(ctx, walkedNotes+what, data); err != nil {
		return fmt.Errorf("keep what was walked: %w", err)
	}
	return nil
}

// stretch is the part of the history at the position, as read before where items
// of it are left to be named.
func (v *visit) stretch(ctx context.Context, c channel) (*part, error) {
	s := v.source
	s.mutex.Lock()
	last := s.part
	s.mutex.Unlock()
	if v.at.After != "" && last != nil && last.channel == c.ID && last.until == v.at.Until {
		return last, nil
	}
	var from time.Time
	if v.at.From != 0 {
		from = time.UnixMicro(v.at.From).UTC()
	}
	read, err := s.api.history(ctx, c, time.UnixMicro(v.at.Until).UTC(), from)
	v.asked += max(read.asked, 1)
	if err != nil {
		return nil, err
	}
	if read.cut {
		v.warn(fmt.Sprintf("#%s has days with more than %d messages; the newest of such a day were taken.", c.Name, maxMessages))
	}
	items, err := s.itemsOf(ctx, v.places, c, read.messages)
	if err != nil {
		return nil, err
	}
	fresh := &part{channel: c.ID, until: v.at.Until, items: items, next: read.next}
	s.mutex.Lock()
	defer s.mutex.Unlock()
	s.part = fresh
	return fresh, nil
}

// itemsOf are the items of a stretch of whole days, the newest day first: the day
// and the threads that began on it.
func (s *source) itemsOf(ctx context.Context, p *places, c channel, messages []*message) ([]connectors.Item, error) {
	if len(messages) == 0 {
		return nil, nil
	}
	n, err := s.knowing(ctx, p, messages)
	if err != nil {
		return nil, err
	}
	var items []connectors.Item
	for end := len(messages); end > 0; {
		day := startOfDay(messages[end-1].at)
		start := end - 1
		for start > 0 && startOfDay(messages[start-1].at).Equal(day) {
			start--
		}
		some := messages[start:end]
		end = start
		if item, ok := s.dayItem(p, c, some, n); ok {
			items = append(items, item)
		}
		for _, m := range slices.Backward(some) {
			if !isRoot(m) {
				continue
			}
			changed, err := s.changed(ctx, c.ID, m)
			if err != nil {
				return nil, err
			}
			items = append(items, s.threadItem(p, c, m, changed, n))
		}
	}
	return items, nil
}

func editsName(c string, root *message) string {
	return editNotes + c + "/" + root.at.Format("2006-01")
}

// changed is what is known of edits in a thread's replies, which its root does
// not tell: what the last look at the thread itself found.
func (s *source) changed(ctx context.Context, c string, root *message) (string, error) {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	month, err := s.editsOf(ctx, editsName(c, root))
	return month[root.TS], err
}

func (s *source) editsOf(ctx context.Context, name string) (map[string]string, error) {
	if month := s.edits[name]; month != nil {
		return month, nil
	}
	data, err := s.notes.Get(ctx, name)
	if err != nil {
		return nil, fmt.Errorf("read what was edited: %w", err)
	}
	month := make(map[string]string)
	if len(data) > 0 && json.Unmarshal(data, &month) != nil {
		month = make(map[string]string)
	}
	s.edits[name] = month
	return month, nil
}

// maxEdits is how many edited threads of one channel and month are remembered.
const maxEdits = 20_000

// note remembers the edits in a thread's replies.
func (s *source) note(ctx context.Context, c string, root *message, changed string) error {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	name := editsName(c, root)
	month, err := s.editsOf(ctx, name)
	if err != nil || month[root.TS] == changed || len(month) >= maxEdits {
		return err
	}
	month[root.TS] = changed
	if changed == "" {
		delete(month, root.TS)
	}
	data, err := json.Marshal(month)
	if err != nil {
		return err
	}
	if err := s.notes.Put(ctx, name, data); err != nil {
		return fmt.Errorf("keep what was edited: %w", err)
	}
	return nil
}

// fileStep names a page of the list of files.
func (v *visit) fileStep(ctx context.Context) error {
	s := v.source
	if !s.files || len(v.places.chosen) == 0 {
		v.page.Done = true
		return nil
	}
	from, to := s.span.bounds(s.now())
	if v.at.Files == 1 && v.at.To == 0 {
		again, err := s.wasWalked(ctx, "files", "")
		if err != nil {
			return err
		}
		v.at.Whole = !again
	}
	if begin := startOfDay(s.now().Add(-recent)); !v.at.Whole && begin.After(from) {
		from = begin
	}
	if v.at.To != 0 {
		to = time.Unix(v.at.To, 0)
	}
	list, more, err := s.api.files(ctx, v.at.Files, from, to)
	v.asked++
	if err != nil {
		return err
	}
	if err := s.people.load(ctx); err != nil {
		return err
	}
	n := known{people: s.people, places: v.places}
	for _, f := range list {
		switch {
		case f.external():
			v.warn(warnOutside)
		case f.Mode == "hidden_by_limit":
			v.warn(warnHidden)
		}
		if item, ok := s.fileItem(v.places, f, n); ok {
			v.page.Items = append(v.page.Items, item)
		}
	}
	if !more {
		v.page.Done = true
		return s.finished(ctx, v.at.Whole, "files", "")
	}
	v.at.Files++
	if last := list[len(list)-1].Created; v.at.Files > maxFilePages && last > 0 && (v.at.To == 0 || last < v.at.To) {
		v.at.Files, v.at.To = 1, last // counting on would take ever longer
	}
	return nil
}

// place is what an item's id or path names.
type place struct {
	channel, name string // one of them: its id or its name
	day           time.Time
	root          string
	file          string
}

// placeOf reads an item's id.
func placeOf(id string) (place, bool) {
	if fileShape.MatchString(id) {
		return place{file: id}, true
	}
	c, rest, found := strings.Cut(id, "/")
	if !found || !channelShape.MatchString(c) {
		return place{}, false
	}
	if day, err := time.Parse(time.DateOnly, rest); err == nil {
		return place{channel: c, day: day}, true
	}
	if _, ok := momentOf(rest); ok {
		return place{channel: c, root: rest}, true
	}
	return place{}, false
}
