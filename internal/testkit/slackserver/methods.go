package slackserver

import (
	"bytes"
	"encoding/base64"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"
)

// handler serves a method, which may require a scope.
type handler struct {
	scope string
	do    func(c *call) answer
}

// methods returns the supported methods of the Web API.
func methods() map[string]handler {
	return map[string]handler{
		"auth.test":             {"", (*call).authTest},
		"conversations.list":    {"", (*call).conversationsList},
		"conversations.info":    {"", (*call).conversationsInfo},
		"conversations.history": {"", (*call).history},
		"conversations.replies": {"", (*call).replies},
		"conversations.members": {"", (*call).members},
		"conversations.join":    {"channels:join", (*call).join},
		"users.list":            {"users:read", (*call).usersList},
		"users.info":            {"users:read", (*call).usersInfo},
		"files.list":            {"files:read", (*call).filesList},
		"files.info":            {"files:read", (*call).filesInfo},
	}
}

func (c *call) authTest() answer {
	u := c.server.users[c.token.user]
	out := answer{"url": "https://" + c.server.Domain + ".slack.com/", "team": "Magpies", "team_id": c.server.Team, "user": u.Name, "user_id": u.ID, "is_enterprise_install": false}
	if c.token.bot {
		out["bot_id"] = "B0MAGPIE"
	}
	return out
}

// limit returns the argument limit, or an error code.
func (c *call) limit(standard, most int) (limit int, code string) {
	limit = standard
	if text := c.arguments.Get("limit"); text != "" {
		var err error
		if limit, err = strconv.Atoi(text); err != nil || limit < 0 || limit > most {
			return 0, "invalid_limit"
		}
		if limit == 0 {
			limit = standard
		}
	}
	if c.server.maxPage > 0 {
		limit = min(limit, c.server.maxPage)
	}
	return limit, ""
}

func encodeCursor(text string) string { return base64.StdEncoding.EncodeToString([]byte(text)) }

// cursor returns the argument cursor without the prefix of its method, or an
// error code.
func (c *call) cursor(prefix string) (after, code string) {
	text := c.arguments.Get("cursor")
	if text == "" {
		return "", ""
	}
	data, err := base64.StdEncoding.DecodeString(text)
	after, found := strings.CutPrefix(string(data), prefix)
	if err != nil || !found {
		return "", "invalid_cursor"
	}
	return after, ""
}

// page returns the requested page of sorted IDs and the next cursor, or an error
// code.
func (c *call) page(ids []string, prefix string, standard, most int) (page []string, next, code string) {
	limit, code := c.limit(standard, most)
	if code != "" {
		return nil, "", code
	}
	from, code := c.cursor(prefix)
	if code != "" {
		return nil, "", code
	}
	ids = slices.DeleteFunc(ids, func(id string) bool { return id < from })
	if len(ids) > limit {
		return ids[:limit], encodeCursor(prefix + ids[limit]), ""
	}
	return ids, "", ""
}

func metadata(next string) map[string]any { return map[string]any{"next_cursor": next} }

// canSee reports whether the token's user can see a channel.
func (c *call) canSee(ch *channel) bool {
	return ch != nil && (!ch.Private || ch.members[c.token.user])
}

// channel returns a channel if the token has the scope "read" or "history" of its
// kind.
func (c *call) channel(id, scope string) (ch *channel, refusal answer) {
	ch = c.server.channels[id]
	if !c.canSee(ch) {
		return nil, refuse("channel_not_found")
	}
	kind := "channels:"
	if ch.Private {
		kind = "groups:"
	}
	if !c.hasScope(kind + scope) {
		return nil, c.missingScope()
	}
	if scope == "history" && c.token.bot && !ch.members[c.token.user] {
		return nil, refuse("not_in_channel")
	}
	return ch, nil
}

func (c *call) conversationsList() answer {
	types := first(c.arguments.Get("types"), "public_channel")
	var public, private bool
	for kind := range strings.SplitSeq(types, ",") {
		switch strings.TrimSpace(kind) {
		case "public_channel":
			public = true
		case "private_channel":
			private = true
		case "im", "mpim":
		default:
			return refuse("invalid_types")
		}
	}
	if (public && !c.hasScope("channels:read")) || (private && !c.hasScope("groups:read")) {
		return c.missingScope()
	}
	var ids []string
	for _, id := range slices.Sorted(maps.Keys(c.server.channels)) {
		ch := c.server.channels[id]
		if c.canSee(ch) && ((ch.Private && private) || (!ch.Private && public)) && (!ch.archived || c.arguments.Get("exclude_archived") != "true") {
			ids = append(ids, id)
		}
	}
	ids, next, code := c.page(ids, "team:", 100, 1000)
	if code != "" {
		return refuse(code)
	}
	list := []any{}
	for _, id := range ids {
		list = append(list, c.server.channelJSON(c.server.channels[id], c.token.user))
	}
	return answer{"channels": list, "response_metadata": metadata(next)}
}

func (c *call) conversationsInfo() answer {
	ch, refusal := c.channel(c.arguments.Get("channel"), "read")
	if refusal != nil {
		return refusal
	}
	return answer{"channel": c.server.channelJSON(ch, c.token.user)}
}

// bounds returns the time range of a history, or an error code.
func (c *call) bounds() (within func(ts string) bool, code string) {
	number := func(name, invalid string) (string, string) {
		text := c.arguments.Get(name)
		if text == "" {
			return "", ""
		}
		if _, err := strconv.ParseFloat(text, 64); err != nil {
			return "", invalid
		}
		whole, part, _ := strings.Cut(text, ".")
		return strings.Repeat("0", max(0, 12-len(whole))) + whole + "." + (part + "000000")[:6], ""
	}
	oldest, code := number("oldest", "invalid_ts_oldest")
	if code != "" {
		return nil, code
	}
	latest, code := number("latest", "invalid_ts_latest")
	if code != "" {
		return nil, code
	}
	inclusive := c.arguments.Get("inclusive") == "true" || c.arguments.Get("inclusive") == "1"
	return func(ts string) bool {
		ts = strings.Repeat("0", max(0, 19-len(ts))) + ts
		if oldest != "" && (ts < oldest || (ts == oldest && !inclusive)) {
			return false
		}
		return latest == "" || ts < latest || (ts == latest && inclusive)
	}, ""
}

func (c *call) history() answer {
	ch, refusal := c.channel(c.arguments.Get("channel"), "history")
	if refusal != nil {
		return refusal
	}
	within, code := c.bounds()
	if code != "" {
		return refuse(code)
	}
	limit, code := c.limit(100, 999)
	if code != "" {
		return refuse(code)
	}
	before, code := c.cursor("next_ts:")
	if code != "" {
		return refuse(code)
	}
	list, next := []any{}, ""
	for _, m := range slices.Backward(ch.messages) {
		if m.hidden || !within(m.ts) || (before != "" && m.ts > before) {
			continue
		}
		if len(list) == limit {
			next = encodeCursor("next_ts:" + m.ts)
			break
		}
		list = append(list, c.server.messageJSON(ch, m))
	}
	return answer{"messages": list, "has_more": next != "", "pin_count": 0, "response_metadata": metadata(next)}
}

// replies returns the root message in every page, as Slack does.
func (c *call) replies() answer {
	ch, refusal := c.channel(c.arguments.Get("channel"), "history")
	if refusal != nil {
		return refusal
	}
	root := ch.find(c.arguments.Get("ts"))
	if root == nil {
		return refuse("thread_not_found")
	}
	limit, code := c.limit(1000, 1000)
	if code != "" {
		return refuse(code)
	}
	from, code := c.cursor("next_ts:")
	if code != "" {
		return refuse(code)
	}
	list, next := []any{c.server.messageJSON(ch, root)}, ""
	for _, m := range root.replies {
		if m.ts < from {
			continue
		}
		if len(list) > limit {
			next = encodeCursor("next_ts:" + m.ts)
			break
		}
		list = append(list, c.server.messageJSON(ch, m))
	}
	return answer{"messages": list, "has_more": next != "", "response_metadata": metadata(next)}
}

func (c *call) members() answer {
	ch, refusal := c.channel(c.arguments.Get("channel"), "read")
	if refusal != nil {
		return refusal
	}
	ids, next, code := c.page(slices.Sorted(maps.Keys(ch.members)), "user:", 100, 1000)
	if code != "" {
		return refuse(code)
	}
	return answer{"members": ids, "response_metadata": metadata(next)}
}

func (c *call) join() answer {
	ch := c.server.channels[c.arguments.Get("channel")]
	switch {
	case !c.canSee(ch):
		return refuse("channel_not_found")
	case ch.Private:
		return refuse("method_not_supported_for_channel_type")
	case ch.archived:
		return refuse("is_archived")
	}
	out := answer{}
	if ch.members[c.token.user] {
		out["warning"], out["response_metadata"] = "already_in_channel", map[string]any{"warnings": []string{"already_in_channel"}}
	}
	ch.members[c.token.user] = true
	out["channel"] = c.server.channelJSON(ch, c.token.user)
	return out
}

func (c *call) usersList() answer {
	ids, next, code := c.page(slices.Sorted(maps.Keys(c.server.users)), "user:", 1000, 1000)
	if code != "" {
		return refuse(code)
	}
	list := []any{}
	for _, id := range ids {
		list = append(list, c.server.userJSON(c.server.users[id], c.hasScope("users:read.email")))
	}
	return answer{"members": list, "cache_ts": c.server.now.Unix(), "response_metadata": metadata(next)}
}

func (c *call) usersInfo() answer {
	u := c.server.users[c.arguments.Get("user")]
	if u == nil {
		return refuse("user_not_found")
	}
	return answer{"user": c.server.userJSON(u, c.hasScope("users:read.email"))}
}

// canSeeFile reports whether the token's user can see a channel with the file.
func (c *call) canSeeFile(f *file) bool {
	for id := range f.channels {
		if c.canSee(c.server.channels[id]) {
			return true
		}
	}
	return false
}

func (c *call) filesList() answer {
	number := func(name string, standard int64) int64 {
		if n, err := strconv.ParseInt(c.arguments.Get(name), 10, 64); err == nil {
			return n
		}
		return standard
	}
	count, page := int(number("count", 100)), int(number("page", 1))
	from, to := number("ts_from", 0), number("ts_to", 1<<60)
	if c.server.maxPage > 0 {
		count = min(count, c.server.maxPage)
	}
	var all []*file
	for _, id := range slices.Sorted(maps.Keys(c.server.files)) {
		f := c.server.files[id]
		if !f.deleted && c.canSeeFile(f) && f.created >= from && f.created <= to {
			all = append(all, f)
		}
	}
	slices.SortStableFunc(all, func(a, b *file) int { return int(b.created - a.created) })
	list := []any{}
	for at := (page - 1) * count; at >= 0 && at < min(page*count, len(all)); at++ {
		list = append(list, c.server.fileJSON(all[at]))
	}
	pages := max((len(all)+count-1)/count, 1)
	return answer{"files": list, "paging": map[string]any{"count": count, "total": len(all), "page": page, "pages": pages}}
}

func (c *call) filesInfo() answer {
	f := c.server.files[c.arguments.Get("file")]
	switch {
	case f == nil || (!f.deleted && !c.canSeeFile(f)):
		return refuse("file_not_found")
	case f.deleted:
		return refuse("file_deleted")
	}
	return answer{"file": c.server.fileJSON(f), "comments": []any{}, "response_metadata": metadata("")}
}

// download serves a file. Without access it redirects to the sign-in page, whose
// status is 200.
func (s *Server) download(w http.ResponseWriter, r *http.Request) {
	name, _, _ := strings.Cut(strings.TrimPrefix(r.URL.Path, "/files-pri/"+s.Team+"-"), "/")
	token, _ := strings.CutPrefix(r.Header.Get("Authorization"), "Bearer ")
	s.mu.Lock()
	s.calls["download"]++
	c := &call{server: s, token: s.tokens[token]}
	f := s.files[name]
	allowed := f != nil && !f.deleted && c.token != nil && c.token.revoked == "" && c.hasScope("files:read") && c.canSeeFile(f)
	var content []byte
	kind := ""
	if allowed {
		content, kind = f.Content, f.MediaType
	}
	s.mu.Unlock()
	switch {
	case f == nil:
		http.NotFound(w, r)
	case !allowed:
		w.Header().Set("Location", s.URL+"/?redir="+url.QueryEscape(r.URL.Path))
		w.WriteHeader(http.StatusFound)
	default:
		w.Header().Set("Content-Type", first(kind, "application/octet-stream"))
		http.ServeContent(w, r, "", time.Time{}, bytes.NewReader(content))
	}
}
