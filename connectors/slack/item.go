package slack

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"strconv"
	"strings"
	"time"
	"unicode"

	"github.com/magpie-search/magpie/connectors"
)

// edition changes when documents are written in another way, so that all are
// taken anew then.
const edition = "1"

const markdown = "text/markdown; charset=utf-8"

func digest(parts ...string) string {
	sum := sha256.Sum256([]byte(edition + "\x00" + strings.Join(parts, "\x00")))
	return hex.EncodeToString(sum[:12])
}

// dayItem is the item of a channel's day; ok is false for a day on which nothing
// was said. The messages are those of the day, oldest first.
func (s *source) dayItem(p *places, c channel, messages []*message, n names) (item connectors.Item, ok bool) {
	messages = s.heard(messages)
	if len(messages) == 0 {
		return connectors.Item{}, false
	}
	day := startOfDay(messages[0].at)
	facts := dayText(c, day, messages, ids{})
	if facts == "" {
		return connectors.Item{}, false
	}
	content := []byte(dayText(c, day, messages, n))
	item = connectors.Item{
		ID: dayOf(c.ID, day), Path: "#" + c.Name + "/" + day.Format(time.DateOnly), Version: digest(facts),
		Title: "#" + c.Name + ", " + day.Format("2 January 2006"), URL: permalink(p.address, c.ID, messages[0].TS, ""),
		MediaType: markdown, Size: int64(len(content)), CreatedAt: messages[0].at, ModifiedAt: lastChange(messages),
		Metadata: told(c, "day", len(messages)), Content: content,
	}
	return item, true
}

// heard are the messages of a day that belong in its document.
func (s *source) heard(messages []*message) []*message {
	var out []*message
	for _, m := range messages {
		if speaks(m) && (isRoot(m) || s.bots || !byBot(m)) && (!isReply(m) || m.Subtype == "thread_broadcast") {
			out = append(out, m)
		}
	}
	return out
}

func lastChange(messages []*message) time.Time {
	var last time.Time
	for _, m := range messages {
		if m.at.After(last) {
			last = m.at
		}
		if edited, ok := momentOf(m.Edited.TS); ok && edited.After(last) {
			last = edited
		}
	}
	return last
}

func told(c channel, what string, messages int) map[string]string {
	told := map[string]string{"kind": what, "channel": c.Name, "channels": c.ID}
	if messages > 0 {
		told["messages"] = strconv.Itoa(messages)
	}
	return told
}

// threadItem is the item of the thread that hangs on a message. changed is what
// is known of changes within it, which the root does not tell; see [source.stamps].
func (s *source) threadItem(p *places, c channel, root *message, changed string, n names) connectors.Item {
	title := titleOf(root, n)
	latest := root.LatestReply
	if latest == "" {
		latest = root.TS
	}
	version := latest + "-" + strconv.Itoa(root.Replies) + "-" + digest(c.Name, root.Subtype, body(root, ids{}))
	if changed != "" {
		version += "-" + changed
	}
	modified := lastChange([]*message{root})
	if at, ok := momentOf(latest); ok && at.After(modified) {
		modified = at
	}
	item := connectors.Item{
		ID:      threadOf(c.ID, root.TS),
		Path:    fmt.Sprintf("#%s/%s %s-%s", c.Name, root.at.Format(time.DateOnly), fileName(title), root.TS),
		Version: version, Title: title, URL: permalink(p.address, c.ID, root.TS, ""), MediaType: markdown, Size: -1,
		CreatedAt: root.at, ModifiedAt: modified, Metadata: told(c, "thread", root.Replies+1),
	}
	if root.Subtype != "tombstone" {
		item.Author = author(root, n)
	}
	return item
}

// fileName is a text as a part of a path.
func fileName(text string) string {
	return strings.Map(func(r rune) rune {
		switch {
		case r == '/' || r == '\\':
			return '∕'
		case unicode.IsControl(r) || r == unicode.ReplacementChar:
			return ' '
		}
		return r
	}, text)
}

// spokenIn are the messages of a thread that belong in its document: its root in
// any case.
func (s *source) spokenIn(messages []*message) []*message {
	var out []*message
	for i, m := range messages {
		if (i == 0 && m.Subtype != "tombstone") || (i > 0 && speaks(m) && (s.bots || !byBot(m))) {
			out = append(out, m)
		}
	}
	return out
}

// changes stands for what was edited in a thread's replies; "" for nothing.
func changes(messages []*message) string {
	var edits []string
	for _, m := range messages[min(1, len(messages)):] {
		if m.Edited.TS != "" {
			edits = append(edits, m.TS, m.Edited.TS)
		}
	}
	if len(edits) == 0 {
		return ""
	}
	return digest(edits...)[:12]
}
