package slack

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/magpie-search/magpie/connectors"
	"github.com/magpie-search/magpie/connectors/restapi"
)

const (
	historyLimit = "999"
	// fewLimit is asked for where an answer of historyLimit was too large to be read.
	fewLimit = "100"
	// maxMessages is how many messages of one day, or of one thread, are taken.
	maxMessages = 20_000
)

// stretch is a part of a channel's history: whole days, oldest message first.
type stretch struct {
	messages []*message
	// next is where the history goes on: the last moment of the day before.
	// Zero at its beginning.
	next time.Time
	// asked is how many requests it took.
	asked int
	cut   bool // a day had more messages than are taken
}

type historyPage struct {
	Messages []json.RawMessage `json:"messages"`
	More     bool              `json:"has_more"`
}

// history reads messages from a moment back, as far as one answer goes and the
// day that it ends in takes. Not before from, where that is not zero.
func (a *api) history(ctx context.Context, c channel, until, from time.Time) (stretch, error) {
	arguments := url.Values{"channel": {c.ID}, "limit": {historyLimit}, "inclusive": {"true"}, "latest": {stamp(until)}}
	if !from.IsZero() {
		arguments.Set("oldest", stamp(from))
	}
	var s stretch
	var trail restapi.LoopDetector
	for {
		var page historyPage
		cursor, _, err := a.call(ctx, "conversations.history", arguments, &page)
		s.asked++
		if fewer(err, arguments) {
			continue
		}
		if err == nil {
			err = goesOn(page, cursor, arguments, &trail)
		}
		if err != nil {
			return stretch{}, err
		}
		read := readMessages(page.Messages)
		if slices.ContainsFunc(read, func(m *message) bool { return m.at.After(until) || m.at.Before(from) }) {
			// The walk would go on from there, which may be where it was.
			return stretch{}, connectors.Retryable(fmt.Errorf("Slack answered with messages of #%s from another time than was asked for; %s", c.Name, advice), 0) //nolint:staticcheck // a name
		}
		s.messages = append(s.messages, read...)
		s.messages = ordered(s.messages)
		if !page.More {
			return s, nil
		}
		arguments.Set("cursor", cursor)
		if len(s.messages) == 0 {
			continue
		}
		oldest, newest := startOfDay(s.messages[0].at), startOfDay(s.messages[len(s.messages)-1].at)
		switch {
		case oldest.Before(newest): // of the oldest day more may follow
			s.messages = slices.DeleteFunc(s.messages, func(m *message) bool { return startOfDay(m.at).Equal(oldest) })
			s.next = oldest.AddDate(0, 0, 1).Add(-time.Microsecond)
			return s, nil
		case len(s.messages) >= maxMessages:
			s.next, s.cut = oldest.Add(-time.Microsecond), true
			return s, nil
		}
	}
}

// day reads the messages of one day.
func (a *api) day(ctx context.Context, c channel, day time.Time) ([]*message, error) {
	s, err := a.history(ctx, c, day.AddDate(0, 0, 1).Add(-time.Microsecond), day)
	return s.messages, err
}

// replies reads a thread, its root first; found is false when there is none.
func (a *api) replies(ctx context.Context, c channel, root string) (messages []*message, found bool, err error) {
	arguments := url.Values{"channel": {c.ID}, "ts": {root}, "limit": {historyLimit}}
	var trail restapi.LoopDetector
	for {
		var page historyPage
		cursor, _, err := a.call(ctx, "conversations.replies", arguments, &page)
		if fewer(err, arguments) {
			continue
		}
		if err == nil {
			err = goesOn(page, cursor, arguments, &trail)
		}
		switch {
		case codeOf(err) == "thread_not_found" || codeOf(err) == "message_not_found":
			return nil, false, nil
		case err != nil:
			return nil, false, err
		}
		messages = append(messages, readMessages(page.Messages)...)
		if !page.More || len(messages) >= maxMessages {
			break
		}
		arguments.Set("cursor", cursor)
	}
	messages = ordered(messages)
	if len(messages) == 0 || messages[0].TS != root || !isRoot(messages[0]) {
		return nil, false, nil
	}
	return messages, true, nil
}

// fewer asks for less at once after an answer that was too large to be read, and
// says whether it did.
func fewer(err error, arguments url.Values) bool {
	if !connectors.IsFatal(err) || codeOf(err) != "" || restapi.StatusOf(err) != 0 || arguments.Get("limit") == fewLimit {
		return false
	}
	arguments.Set("limit", fewLimit)
	return true
}

// goesOn refuses a page that has another one after it and does not lead there:
// what follows would be taken for missing.
func goesOn(page historyPage, cursor string, arguments url.Values, trail *restapi.LoopDetector) error {
	switch {
	case !page.More:
		return nil
	case cursor == "":
		return connectors.Retryable(errors.New("Slack says that there is more of a conversation, and not where"), 0) //nolint:staticcheck // a name
	case cursor == arguments.Get("cursor"):
		return restapi.LoopError("Slack", "a conversation", cursor)
	}
	return trail.Visit("Slack", "a conversation", cursor)
}

// ordered are messages in the order they were sent, each once: pages may shift
// while they are read.
func ordered(messages []*message) []*message {
	slices.SortStableFunc(messages, func(a, b *message) int { return strings.Compare(leftPad(a.TS, 20), leftPad(b.TS, 20)) })
	return slices.CompactFunc(messages, func(a, b *message) bool { return a.TS == b.TS })
}

// dayOf is the id of the day of a channel that a message stands in.
func dayOf(c string, at time.Time) string { return c + "/" + at.Format(time.DateOnly) }

func threadOf(c, root string) string { return c + "/" + root }

// permalink is a message's address.
func permalink(address, c, ts, thread string) string {
	if address == "" || ts == "" {
		return ""
	}
	link := fmt.Sprintf("%s/archives/%s/p%s", address, c, strings.Replace(ts, ".", "", 1))
	if thread != "" && thread != ts {
		link += "?" + url.Values{"thread_ts": {thread}, "cid": {c}}.Encode()
	}
	return link
}
