package slackserver

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"
)

// User is a user of the workspace.
type User struct {
	ID, Name, RealName, Email string
	// Team is the ID of the user's workspace; empty for this one.
	Team                       string
	Bot, Deleted, Unconfirmed  bool
	Restricted, UltraRestriced bool
}

// Channel describes a new channel.
type Channel struct {
	ID, Name string
	Private  bool
	Members  []string
}

// Message describes a new message.
type Message struct {
	User, Text string
	// Thread is the ts of the root message of a reply. Broadcast shows the reply in
	// the channel, too.
	Thread    string
	Broadcast bool
	Subtype   string
	// Bot and Username are the ID and the name of the posting bot.
	Bot, Username string
	// Blocks and Attachments are copied to the JSON of the message.
	Blocks, Attachments json.RawMessage
	// Files are the IDs of shared files.
	Files []string
}

// File describes a new file.
type File struct {
	Name, Title, MediaType, User string
	Content                      []byte
	// External is the URL of a file that Slack only links to.
	External string
	// Kind is the filetype.
	Kind string
	// Text is the text of the message that shares the file.
	Text string
}

type channel struct {
	Channel
	members  map[string]bool
	archived bool
	previous []string
	created  int64
	messages []*message // by ts
}

type message struct {
	Message
	ts      string
	edited  string
	deleted bool // a tombstone
	hidden  bool
	replies []*message
	root    *message // of a reply
}

type file struct {
	File
	id               string
	created, updated int64
	channels         map[string]bool
	deleted          bool
}

// tick advances the clock by a second and returns the ts of a new event.
func (s *Server) tick() string {
	s.now = s.now.Add(time.Second)
	s.serial++
	return fmt.Sprintf("%d.%06d", s.now.Unix(), s.serial%1_000_000)
}

// SetClock sets the clock, which advances by a second with each change.
func (s *Server) SetClock(now time.Time) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.now = now
}

func (s *Server) id(letter string) string {
	s.serial++
	return fmt.Sprintf("%s%08d", letter, s.serial)
}

// AddUser adds a user and returns the ID.
func (s *Server) AddUser(u User) string {
	s.mu.Lock()
	defer s.mu.Unlock()
	if u.ID == "" {
		u.ID = s.id("U")
	}
	s.users[u.ID] = &u
	s.event(map[string]any{"type": "team_join", "user": s.userJSON(&u, true)})
	return u.ID
}

// Deactivate deactivates a user.
func (s *Server) Deactivate(id string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.users[id].Deleted = true
	s.event(map[string]any{"type": "user_change", "user": s.userJSON(s.users[id], true)})
}

// AddChannel adds a channel and returns its ID.
func (s *Server) AddChannel(c Channel) string {
	s.mu.Lock()
	defer s.mu.Unlock()
	if c.ID == "" {
		c.ID = s.id("C")
	}
	ch := &channel{Channel: c, members: make(map[string]bool), created: s.now.Unix()}
	for _, id := range c.Members {
		ch.members[id] = true
	}
	s.channels[c.ID] = ch
	return c.ID
}

// Invite adds a user to a channel.
func (s *Server) Invite(c, user string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.channels[c].members[user] = true
	s.post(s.channels[c], Message{User: user, Subtype: "channel_join", Text: "<@" + user + "> has joined the channel"})
	s.event(map[string]any{"type": "member_joined_channel", "user": user, "channel": c, "channel_type": "C", "team": s.Team})
}

// Kick removes a user from a channel.
func (s *Server) Kick(c, user string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.channels[c].members, user)
	s.event(map[string]any{"type": "member_left_channel", "user": user, "channel": c, "channel_type": "C", "team": s.Team})
}

// Archive archives a channel.
func (s *Server) Archive(c string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.channels[c].archived = true
	s.event(map[string]any{"type": "channel_archive", "channel": c})
}

// Rename renames a channel.
func (s *Server) Rename(c, name string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.channels[c].previous = append([]string{s.channels[c].Name}, s.channels[c].previous...)
	s.channels[c].Name = name
	s.event(map[string]any{"type": "channel_rename", "channel": map[string]any{"id": c, "name": name, "created": s.channels[c].created}})
}

// MakePrivate makes a public channel private.
func (s *Server) MakePrivate(c string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.channels[c].Private = true
}

// DeleteChannel deletes a channel with its messages.
func (s *Server) DeleteChannel(c string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.channels, c)
	s.event(map[string]any{"type": "channel_deleted", "channel": c})
}

// Post sends a message and returns its ts.
func (s *Server) Post(c string, m Message) string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.post(s.channels[c], m)
}

func (s *Server) post(c *channel, m Message) string {
	created := &message{Message: m, ts: s.tick()}
	if root := c.find(m.Thread); root != nil {
		created.root = root
		root.replies = append(root.replies, created)
		if m.Broadcast {
			created.Subtype = "thread_broadcast"
			c.messages = append(c.messages, created)
		}
	} else {
		c.messages = append(c.messages, created)
	}
	body := s.messageJSON(c, created)
	body["channel"], body["channel_type"], body["event_ts"] = c.ID, kindOf(c), created.ts
	s.event(body)
	return created.ts
}

func kindOf(c *channel) string {
	if c.Private {
		return "group"
	}
	return "channel"
}

func (c *channel) find(ts string) *message {
	if ts == "" {
		return nil
	}
	for _, m := range c.messages {
		if m.ts == ts {
			return m
		}
		for _, r := range m.replies {
			if r.ts == ts {
				return r
			}
		}
	}
	return nil
}

// Edit changes the text of a message.
func (s *Server) Edit(c, ts, text string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	ch := s.channels[c]
	m := ch.find(ts)
	before := s.messageJSON(ch, m)
	m.Text, m.edited, m.Blocks = text, s.tick(), nil
	s.event(map[string]any{
		"type": "message", "subtype": "message_changed", "hidden": true, "channel": c, "channel_type": kindOf(ch),
		"message": s.messageJSON(ch, m), "previous_message": before, "ts": m.edited, "event_ts": m.edited,
	})
}

// Delete deletes a message. A message with replies becomes a tombstone.
func (s *Server) Delete(c, ts string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	ch := s.channels[c]
	m := ch.find(ts)
	before, now := s.messageJSON(ch, m), s.tick()
	if len(m.replies) > 0 {
		m.deleted, m.Text, m.Blocks, m.Attachments, m.Files = true, "This message was deleted.", nil, nil, nil
		s.event(map[string]any{
			"type": "message", "subtype": "message_changed", "hidden": true, "channel": c, "channel_type": kindOf(ch),
			"message": s.messageJSON(ch, m), "previous_message": before, "ts": now, "event_ts": now,
		})
		return
	}
	if root := m.root; root != nil {
		root.replies = slices.DeleteFunc(root.replies, func(r *message) bool { return r == m })
	}
	ch.messages = slices.DeleteFunc(ch.messages, func(r *message) bool { return r == m })
	s.event(map[string]any{
		"type": "message", "subtype": "message_deleted", "hidden": true, "channel": c, "channel_type": kindOf(ch),
		"deleted_ts": ts, "previous_message": before, "ts": now, "event_ts": now,
	})
}

// Share uploads a file and posts it in a channel. It returns the ID of the file and
// the ts of the message.
func (s *Server) Share(c string, f File) (id, ts string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.tick()
	created := &file{File: f, id: s.id("F"), created: s.now.Unix(), updated: s.now.Unix(), channels: map[string]bool{c: true}}
	s.files[created.id] = created
	ts = s.post(s.channels[c], Message{User: f.User, Text: f.Text, Subtype: "file_share", Files: []string{created.id}})
	s.event(map[string]any{"type": "file_shared", "file_id": created.id, "user_id": f.User, "file": map[string]any{"id": created.id}, "channel_id": c, "event_ts": ts})
	return created.id, ts
}

// ShareAgain posts a file in another channel.
func (s *Server) ShareAgain(c, id string) string {
	s.mu.Lock()
	defer s.mu.Unlock()
	f := s.files[id]
	f.channels[c] = true
	ts := s.post(s.channels[c], Message{User: f.User, Subtype: "file_share", Files: []string{id}})
	s.event(map[string]any{"type": "file_shared", "file_id": id, "user_id": f.User, "file": map[string]any{"id": id}, "channel_id": c, "event_ts": ts})
	return ts
}

// EditFile changes the content of a file.
func (s *Server) EditFile(id string, content []byte) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.tick()
	s.files[id].Content, s.files[id].updated = content, s.now.Unix()
	s.event(map[string]any{"type": "file_change", "file_id": id, "file": map[string]any{"id": id}})
}

// DeleteFile deletes a file. Messages that share it keep a tombstone.
func (s *Server) DeleteFile(id string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.tick()
	s.files[id].deleted, s.files[id].Content = true, nil
	s.event(map[string]any{"type": "file_deleted", "file_id": id, "event_ts": s.tick()})
}

// event records an event delivery.
func (s *Server) event(e map[string]any) {
	s.serial++
	data, err := json.Marshal(map[string]any{
		"token": "verification", "team_id": s.Team, "api_app_id": "A0MAGPIE", "event": e, "type": "event_callback",
		"event_id": fmt.Sprintf("Ev%08d", s.serial), "event_time": s.now.Unix(),
		"authorizations":        []any{map[string]any{"enterprise_id": nil, "team_id": s.Team, "user_id": s.BotUser, "is_bot": true, "is_enterprise_install": false}},
		"is_ext_shared_channel": false, "event_context": "4-event",
	})
	if err == nil {
		s.events = append(s.events, data)
	}
}

// Events returns the bodies of the event deliveries since the last call.
func (s *Server) Events() [][]byte {
	s.mu.Lock()
	defer s.mu.Unlock()
	out := s.events
	s.events = nil
	return out
}

func (s *Server) messageJSON(c *channel, m *message) map[string]any {
	out := map[string]any{"type": "message", "ts": m.ts, "text": m.Text, "team": s.Team}
	set := func(name string, value any, ok bool) {
		if ok {
			out[name] = value
		}
	}
	set("user", m.User, m.User != "")
	set("subtype", m.Subtype, m.Subtype != "")
	set("bot_id", m.Bot, m.Bot != "")
	set("username", m.Username, m.Username != "")
	set("blocks", m.Blocks, len(m.Blocks) > 0)
	set("attachments", m.Attachments, len(m.Attachments) > 0)
	set("edited", map[string]any{"user": m.User, "ts": m.edited}, m.edited != "")
	if m.deleted {
		out["subtype"], out["hidden"], out["user"] = "tombstone", true, slackbot
	}
	if len(m.Files) > 0 {
		var files []any
		for _, id := range m.Files {
			f := s.fileJSON(s.files[id])
			delete(f, "channels") // messages have no shares
			delete(f, "groups")
			delete(f, "shares")
			files = append(files, f)
		}
		out["files"], out["upload"] = files, false
	}
	root := m.root
	switch {
	case root != nil:
		out["thread_ts"], out["parent_user_id"] = root.ts, root.User
		if m.Subtype == "thread_broadcast" {
			out["root"] = map[string]any{"ts": root.ts, "thread_ts": root.ts, "text": root.Text, "user": root.User}
		}
	case len(m.replies) > 0:
		people := map[string]bool{}
		for _, r := range m.replies {
			people[r.User] = true
		}
		out["thread_ts"], out["reply_count"], out["latest_reply"] = m.ts, len(m.replies), m.replies[len(m.replies)-1].ts
		out["reply_users"], out["reply_users_count"], out["is_locked"], out["subscribed"] = slices.Sorted(maps.Keys(people)), len(people), false, false
	}
	return out
}

func (s *Server) fileJSON(f *file) map[string]any {
	if f.deleted {
		return map[string]any{"id": f.id, "mode": "tombstone"}
	}
	channels, groups, shares := []string{}, []string{}, map[string]any{}
	for _, id := range slices.Sorted(maps.Keys(f.channels)) {
		c := s.channels[id]
		switch {
		case c == nil:
		case c.Private:
			groups = append(groups, id)
		default:
			channels = append(channels, id)
		}
	}
	out := map[string]any{
		"id": f.id, "created": f.created, "timestamp": f.created, "updated": f.updated, "name": f.Name, "title": first(f.Title, f.Name),
		"mimetype": f.MediaType, "filetype": first(f.Kind, "text"), "pretty_type": "File", "user": f.User, "editable": true, "size": len(f.Content),
		"mode": "hosted", "is_external": false, "external_type": "", "is_public": len(channels) > 0, "public_url_shared": false,
		"display_as_bot": false, "username": "", "channels": channels, "groups": groups, "ims": []string{}, "shares": shares, "comments_count": 0,
		"permalink":   "https://" + s.Domain + ".slack.com/files/" + f.User + "/" + f.id + "/" + strings.ToLower(strings.Map(plain, f.Name)),
		"url_private": s.URL + "/files-pri/" + s.Team + "-" + f.id + "/file", "url_private_download": s.URL + "/files-pri/" + s.Team + "-" + f.id + "/download/file",
	}
	if f.External != "" {
		out["mode"], out["is_external"], out["external_type"], out["url_private"], out["size"] = "external", true, "gdrive", f.External, 0
		delete(out, "url_private_download")
	}
	return out
}

func plain(r rune) rune {
	if r == '.' || r == '-' || (r >= '0' && r <= '9') || (r >= 'a' && r <= 'z') || (r >= 'A' && r <= 'Z') {
		return r
	}
	return '_'
}

func first(a, b string) string {
	if a != "" {
		return a
	}
	return b
}

func (s *Server) userJSON(u *User, mail bool) map[string]any {
	profile := map[string]any{"real_name": u.RealName, "display_name": u.Name, "real_name_normalized": u.RealName, "team": first(u.Team, s.Team)}
	if mail && u.Email != "" {
		profile["email"] = u.Email
	}
	return map[string]any{
		"id": u.ID, "team_id": first(u.Team, s.Team), "name": u.Name, "deleted": u.Deleted, "real_name": u.RealName, "is_bot": u.Bot,
		"is_restricted": u.Restricted || u.UltraRestriced, "is_ultra_restricted": u.UltraRestriced, "is_app_user": false,
		"is_email_confirmed": !u.Unconfirmed, "is_stranger": u.Team != "" && u.Team != s.Team, "profile": profile, "updated": 1502138686,
	}
}

func (s *Server) channelJSON(c *channel, viewer string) map[string]any {
	return map[string]any{
		"id": c.ID, "name": c.Name, "name_normalized": c.Name, "is_channel": !c.Private, "is_group": c.Private, "is_im": false, "is_mpim": false,
		"is_private": c.Private, "is_archived": c.archived, "is_member": c.members[viewer], "is_general": c.Name == "general", "is_shared": false,
		"is_ext_shared": false, "is_org_shared": false, "created": c.created, "creator": viewer, "previous_names": append([]string{}, c.previous...),
		"num_members": len(c.members), "topic": map[string]any{"value": "", "creator": "", "last_set": 0},
		"purpose": map[string]any{"value": "", "creator": "", "last_set": 0},
	}
}

// Day returns the UTC day of a ts.
func (s *Server) Day(ts string) string {
	whole, _, _ := strings.Cut(ts, ".")
	seconds, _ := strconv.ParseInt(whole, 10, 64)
	return time.Unix(seconds, 0).UTC().Format(time.DateOnly)
}
