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
	// reducedLimit replaces historyLimit after a response that was too large.
	reducedLimit = "100"
	// maxMessages is the largest number of messages that are read of a day or
	// thread.
	maxMessages = 20_000
)

// A segment is a part of a channel's history: whole days, the oldest message
// first.
type segment struct {
	messages []*message
	// next is the last moment of the day before the segment, zero at the start
	// of the history.
	next      time.Time
	requests  int
	truncated bool // a day had more than maxMessages messages
}

type historyPage struct {
	Messages []json.RawMessage `json:"messages"`
	HasMore  bool              `json:"has_more"`
}

// history returns whole days of messages from until back, as many as one response
// has, and at least one day. It returns no messages before from, unless from is
// zero.
func (c *client) history(ctx context.Context, ch channel, until, from time.Time) (segment, error) {
	args := url.Values{"channel": {ch.ID}, "limit": {historyLimit}, "inclusive": {"true"}, "latest": {formatTimestamp(until)}}
	if !from.IsZero() {
		args.Set("oldest", formatTimestamp(from))
	}
	var s segment
	var loop restapi.LoopDetector
	for {
		var page historyPage
		cursor, _, err := c.call(ctx, "conversations.history", args, &page)
		s.requests++
		if reduceLimit(err, args) {
			continue
		}
		if err == nil {
			err = checkNextPage(page, cursor, args, &loop)
		}
		if err != nil {
			return segment{}, err
		}
		messages := decodeMessages(page.Messages)
		if slices.ContainsFunc(messages, func(m *message) bool { return m.sentAt.After(until) || m.sentAt.Before(from) }) {
			// The walk would continue from there and could repeat itself.
			return segment{}, connectors.Retryable(fmt.Errorf("Slack answered with messages of #%s from another time than was asked for; %s", ch.Name, checkAdvice), 0) //nolint:staticcheck // a name
		}
		s.messages = sortMessages(append(s.messages, messages...))
		if !page.HasMore {
			return s, nil
		}
		args.Set("cursor", cursor)
		if len(s.messages) == 0 {
			continue
		}
		oldest, newest := startOfDay(s.messages[0].sentAt), startOfDay(s.messages[len(s.messages)-1].sentAt)
		switch {
		case oldest.Before(newest): // the oldest day may be incomplete
			s.messages = slices.DeleteFunc(s.messages, func(m *message) bool { return startOfDay(m.sentAt).Equal(oldest) })
			s.next = oldest.AddDate(0, 0, 1).Add(-time.Microsecond)
			return s, nil
		case len(s.messages) >= maxMessages:
			s.next, s.truncated = oldest.Add(-time.Microsecond), true
			return s, nil
		}
	}
}

// dayMessages returns the messages of one day.
func (c *client) dayMessages(ctx context.Context, ch channel, day time.Time) ([]*message, error) {
	s, err := c.history(ctx, ch, day.AddDate(0, 0, 1).Add(-time.Microsecond), day)
	return s.messages, err
}

// replies returns the messages of a thread, its root first. The error is
// ErrNotFound if there is no such thread.
func (c *client) replies(ctx context.Context, ch channel, root string) ([]*message, error) {
	args := url.Values{"channel": {ch.ID}, "ts": {root}, "limit": {historyLimit}}
	var messages []*message
	var loop restapi.LoopDetector
	for {
		var page historyPage
		cursor, _, err := c.call(ctx, "conversations.replies", args, &page)
		if reduceLimit(err, args) {
			continue
		}
		if err == nil {
			err = checkNextPage(page, cursor, args, &loop)
		}
		if err != nil {
			return nil, err
		}
		messages = append(messages, decodeMessages(page.Messages)...)
		if !page.HasMore || len(messages) >= maxMessages {
			break
		}
		args.Set("cursor", cursor)
	}
	messages = sortMessages(messages)
	if len(messages) == 0 || messages[0].TS != root || !isRoot(messages[0]) {
		return nil, fmt.Errorf("read a thread: %w", connectors.ErrNotFound)
	}
	return messages, nil
}

// reduceLimit reduces the page size after a response that was too large. It
// reports whether it did.
func reduceLimit(err error, args url.Values) bool {
	if !connectors.IsFatal(err) || errorCode(err) != "" || restapi.StatusOf(err) != 0 || args.Get("limit") == reducedLimit {
		return false
	}
	args.Set("limit", reducedLimit)
	return true
}

// checkNextPage returns an error if there is a next page and its cursor is
// missing or repeated. Ignoring it would lose messages.
func checkNextPage(page historyPage, cursor string, args url.Values, loop *restapi.LoopDetector) error {
	switch {
	case !page.HasMore:
		return nil
	case cursor == "":
		return connectors.Retryable(errors.New("Slack says that there is more of a conversation, and not where"), 0) //nolint:staticcheck // a name
	case cursor == args.Get("cursor"):
		return restapi.LoopError("Slack", "a conversation", cursor)
	}
	return loop.Visit("Slack", "a conversation", cursor)
}

// sortMessages sorts messages by time and removes duplicates, which occur if
// pages shift while they are read.
func sortMessages(messages []*message) []*message {
	slices.SortStableFunc(messages, func(a, b *message) int { return strings.Compare(leftPad(a.TS, 20), leftPad(b.TS, 20)) })
	return slices.CompactFunc(messages, func(a, b *message) bool { return a.TS == b.TS })
}

// dayID returns the id of the day of a channel at a time.
func dayID(channelID string, t time.Time) string { return channelID + "/" + t.Format(time.DateOnly) }

func threadID(channelID, root string) string { return channelID + "/" + root }

// permalink returns the URL of a message.
func permalink(workspaceURL, channelID, ts, thread string) string {
	if workspaceURL == "" || ts == "" {
		return ""
	}
	link := fmt.Sprintf("%s/archives/%s/p%s", workspaceURL, channelID, strings.Replace(ts, ".", "", 1))
	if thread != "" && thread != ts {
		link += "?" + url.Values{"thread_ts": {thread}, "cid": {channelID}}.Encode()
	}
	return link
}
