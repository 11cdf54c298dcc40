package slack

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/magpie-search/magpie/connectors"
)

// renderVersion is changed when documents are rendered in another way, so that
// all of them are read again.
const renderVersion = "1"

const markdownType = "text/markdown; charset=utf-8"

func versionHash(parts ...string) string {
	sum := sha256.Sum256([]byte(renderVersion + "\x00" + strings.Join(parts, "\x00")))
	return hex.EncodeToString(sum[:12])
}

// dayItem returns the item of a channel's day from all its messages, the oldest
// first. ok is false if the document would be empty.
func (s *source) dayItem(w *workspace, c channel, messages []*message, names nameResolver) (item connectors.Item, ok bool) {
	messages = s.dayDocumentMessages(messages)
	if len(messages) == 0 {
		return connectors.Item{}, false
	}
	day := startOfDay(messages[0].sentAt)
	withoutNames := renderDay(c, day, messages, rawIDs{})
	if withoutNames == "" {
		return connectors.Item{}, false
	}
	content := []byte(renderDay(c, day, messages, names))
	item = connectors.Item{
		ID: dayID(c.ID, day), Path: "#" + c.Name + "/" + day.Format(time.DateOnly), Version: versionHash(withoutNames),
		Title: "#" + c.Name + ", " + day.Format("2 January 2006"), URL: permalink(w.url, c.ID, messages[0].TS, ""),
		MediaType: markdownType, Size: int64(len(content)), CreatedAt: messages[0].sentAt, ModifiedAt: lastChange(messages),
		Metadata: metadata(c, "day", len(messages)), Content: content,
	}
	return item, true
}

// dayDocumentMessages returns the messages of a day that belong to its
// document.
func (s *source) dayDocumentMessages(messages []*message) []*message {
	var kept []*message
	for _, m := range messages {
		if hasContent(m) && (isRoot(m) || s.includeBots || !isFromBot(m)) && (!isReply(m) || m.Subtype == "thread_broadcast") {
			kept = append(kept, m)
		}
	}
	return kept
}

func lastChange(messages []*message) time.Time {
	var last time.Time
	for _, m := range messages {
		if m.sentAt.After(last) {
			last = m.sentAt
		}
		if edited, ok := parseTimestamp(m.Edited.TS); ok && edited.After(last) {
			last = edited
		}
	}
	return last
}

func metadata(c channel, kind string, messages int) map[string]string {
	facts := map[string]string{"kind": kind, "channel": c.Name, "channels": c.ID}
	if messages > 0 {
		facts["messages"] = strconv.Itoa(messages)
	}
	return facts
}

// threadItem returns the item of the thread below a root message. edits is the
// edits hash of the replies, which the root message does not show; see
// [source.knownEdits].
func (s *source) threadItem(w *workspace, c channel, root *message, edits string, names nameResolver) connectors.Item {
	title := messageTitle(root, names)
	latest := root.LatestReply
	if latest == "" {
		latest = root.TS
	}
	version := latest + "-" + strconv.Itoa(root.Replies) + "-" + versionHash(c.Name, root.Subtype, bodyMarkdown(root, rawIDs{}))
	if edits != "" {
		version += "-" + edits
	}
	modified := lastChange([]*message{root})
	if sentAt, ok := parseTimestamp(latest); ok && sentAt.After(modified) {
		modified = sentAt
	}
	item := connectors.Item{
		ID:      threadID(c.ID, root.TS),
		Path:    fmt.Sprintf("#%s/%s %s-%s", c.Name, root.sentAt.Format(time.DateOnly), pathSegment(title), root.TS),
		Version: version, Title: title, URL: permalink(w.url, c.ID, root.TS, ""), MediaType: markdownType, Size: -1,
		CreatedAt: root.sentAt, ModifiedAt: modified, Metadata: metadata(c, "thread", root.Replies+1),
	}
	if root.Subtype != "tombstone" {
		item.Author = authorName(root, names)
	}
	return item
}

func pathSegment(text string) string {
	return connectors.PathSegment(strings.NewReplacer(`\`, "/", "\uFFFD", " ").Replace(text))
}

// threadDocumentMessages returns the messages of a thread that belong to its
// document.
func (s *source) threadDocumentMessages(messages []*message) []*message {
	var kept []*message
	for i, m := range messages {
		if (i == 0 && m.Subtype != "tombstone") || (i > 0 && hasContent(m) && (s.includeBots || !isFromBot(m))) {
			kept = append(kept, m)
		}
	}
	return kept
}

// editsHash identifies the edits of a thread's replies. It is "" if there are
// none.
func editsHash(messages []*message) string {
	var edits []string
	for _, m := range messages[min(1, len(messages)):] {
		if m.Edited.TS != "" {
			edits = append(edits, m.TS, m.Edited.TS)
		}
	}
	if len(edits) == 0 {
		return ""
	}
	return versionHash(edits...)[:12]
}
