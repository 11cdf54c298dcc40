package driveserver

import (
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"time"
)

// A footprint is who sees a file and where, before a change.
type footprint struct {
	exists  bool
	driveID string
	users   []string
	// mine are the users in whose My Drive the file is.
	mine []string
}

// An entry is an entry of the feeds.
type entry struct {
	file   string
	drive  string // of a change of a shared drive
	before footprint
	at     time.Time
}

func (s *Server) footprint(f *File) footprint {
	if f == nil {
		return footprint{}
	}
	p := footprint{exists: true, driveID: f.driveID}
	above := s.above(f)
	for _, u := range s.users {
		if s.visible(u.email, f) {
			p.users = append(p.users, u.email)
		}
		if slices.Contains(above, u.root) {
			p.mine = append(p.mine, u.email)
		}
	}
	return p
}

// record adds an entry, and returns a function that delivers it.
func (s *Server) record(file string, before footprint) func() {
	e := entry{file: file, before: before, at: s.clock}
	s.entries = append(s.entries, e)
	var deliveries []func()
	for _, c := range s.channels {
		if s.concerns(e, c.driveID, c.email, false) {
			deliveries = append(deliveries, s.delivery(c, "change"))
		}
	}
	return func() {
		for _, deliver := range deliveries {
			deliver()
		}
	}
}

// concerns reports whether an entry is in a feed.
func (s *Server) concerns(e entry, driveID, email string, mineOnly bool) bool {
	if e.drive != "" {
		return e.drive == driveID
	}
	now := s.footprint(s.files[e.file])
	in := func(p footprint) bool {
		switch {
		case !p.exists:
			return false
		case driveID != "":
			return p.driveID == driveID
		case mineOnly:
			return p.driveID == "" && slices.Contains(p.mine, email)
		default:
			return p.driveID == "" && slices.Contains(p.users, email)
		}
	}
	return in(e.before) || in(now)
}

func (c *call) mayFollow() bool {
	id := c.query.Get("driveId")
	if id == "" {
		return true
	}
	if d := c.drive(id); d != nil && c.isMember(d) {
		return true
	}
	c.refuse(http.StatusNotFound, "notFound", "Shared drive not found: "+id)
	return false
}

func (c *call) startPageToken() {
	if c.mayFollow() {
		c.answer(object{"kind": "drive#startPageToken", "startPageToken": strconv.Itoa(len(c.entries) + 1)})
	}
}

// listChanges answers changes.list. A file has one change, with its present state.
func (c *call) listChanges() {
	if !c.mayFollow() {
		return
	}
	token, err := strconv.Atoi(c.query.Get("pageToken"))
	if from := token - 1; err != nil || from < c.oldest || from > len(c.entries) {
		c.refuse(http.StatusBadRequest, "invalid", "Invalid Value")
		return
	}
	size, err := strconv.Atoi(c.query.Get("pageSize"))
	if err != nil || size < 1 {
		size = 100
	}
	if c.MaxPage > 0 {
		size = min(size, c.MaxPage)
	}
	driveID, mineOnly := c.query.Get("driveId"), c.query.Get("restrictToMyDrive") == "true"
	last := map[string]int{}
	for i, e := range c.entries {
		last[e.file] = i
	}
	changes := []object{}
	position := token - 1
	for ; position < len(c.entries) && len(changes) < size; position++ {
		e := c.entries[position]
		if e.file != "" && last[e.file] != position && !c.left(e, driveID, mineOnly) || e.file == "" && e.drive == "" || !c.concerns(e, driveID, c.email, mineOnly) {
			continue
		}
		changes = append(changes, c.change(e, driveID, mineOnly))
	}
	answer := object{"kind": "drive#changeList", "changes": changes}
	if position < len(c.entries) {
		answer["nextPageToken"] = strconv.Itoa(position + 1)
	} else {
		answer["newStartPageToken"] = strconv.Itoa(len(c.entries) + 1)
	}
	c.answer(answer)
}

// left reports whether the file of an entry is no longer in the feed.
func (c *call) left(e entry, driveID string, mineOnly bool) bool {
	return !c.concerns(entry{file: e.file}, driveID, c.email, mineOnly)
}

func (c *call) change(e entry, driveID string, mineOnly bool) object {
	at := e.at.Format(time.RFC3339)
	if e.drive != "" {
		d := c.drive(e.drive)
		if d == nil {
			return object{"kind": "drive#change", "changeType": "drive", "driveId": e.drive, "removed": true, "time": at}
		}
		return object{"kind": "drive#change", "changeType": "drive", "driveId": d.id, "drive": object{"id": d.id, "name": d.name}, "removed": false, "time": at}
	}
	o := object{"kind": "drive#change", "changeType": "file", "fileId": e.file, "time": at, "removed": c.left(e, driveID, mineOnly)}
	if o["removed"] == false {
		o["file"] = c.resource(c.files[e.file])
	}
	return o
}

// A Channel is a notification channel.
type Channel struct {
	ID, Resource, Address, Token string
	Expires                      time.Time

	driveID, email string
	number         int
}

// Channels returns the channels that are open.
func (s *Server) Channels() []Channel {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	var open []Channel
	for _, c := range s.channels {
		open = append(open, *c)
	}
	return open
}

// delivery returns a function that delivers to a channel.
func (s *Server) delivery(c *Channel, state string) func() {
	c.number++
	header := http.Header{}
	for name, value := range map[string]string{
		"X-Goog-Channel-ID": c.ID, "X-Goog-Channel-Token": c.Token, "X-Goog-Channel-Expiration": c.Expires.UTC().Format(http.TimeFormat),
		"X-Goog-Resource-ID": c.Resource, "X-Goog-Resource-URI": s.URL + "/drive/v3/changes?alt=json", "X-Goog-Resource-State": state,
		"X-Goog-Message-Number": strconv.Itoa(c.number), "Content-Length": "0",
	} {
		header.Set(name, value)
	}
	address, notify := c.Address, s.Notify
	return func() {
		if notify != nil {
			notify(address, header)
		}
	}
}

// watch answers changes.watch.
func (c *call) watch() func() {
	var body struct{ ID, Type, Address, Token, Expiration string }
	expires := time.Now().Add(time.Hour)
	err := json.NewDecoder(c.r.Body).Decode(&body)
	if ms, parseErr := strconv.ParseInt(body.Expiration, 10, 64); parseErr == nil {
		expires = time.UnixMilli(ms)
	}
	switch {
	case err != nil || body.ID == "" || len(body.ID) > 64 || body.Type != "web_hook" || c.query.Get("pageToken") == "":
		c.refuse(http.StatusBadRequest, "required", "Required")
		return func() {}
	case slices.ContainsFunc(c.channels, func(other *Channel) bool { return other.ID == body.ID }):
		c.refuse(http.StatusBadRequest, "channelIdNotUnique", "Channel id "+body.ID+" not unique")
		return func() {}
	case len(body.Address) < 8 || body.Address[:8] != "https://":
		c.refuse(http.StatusBadRequest, "push.webhookUrlNotHttps", "WebHook callback must be HTTPS: "+body.Address)
		return func() {}
	case !c.mayFollow():
		return func() {}
	}
	const longest = 7 * 24 * time.Hour
	if limit := time.Now().Add(longest); expires.After(limit) {
		expires = limit
	}
	c.serial++
	made := &Channel{
		ID: body.ID, Resource: hash(fmt.Sprint("resource ", c.email, c.query.Get("driveId")))[:20], Address: body.Address, Token: body.Token, Expires: expires,
		driveID: c.query.Get("driveId"), email: c.email,
	}
	c.channels = append(c.channels, made)
	c.answer(object{
		"kind": "api#channel", "id": made.ID, "resourceId": made.Resource, "resourceUri": c.URL + "/drive/v3/changes?alt=json", "token": made.Token,
		"expiration": strconv.FormatInt(expires.UnixMilli(), 10),
	})
	return c.delivery(made, "sync")
}

// stop answers channels.stop.
func (c *call) stop() {
	var body struct{ ID, ResourceID string }
	_ = json.NewDecoder(c.r.Body).Decode(&body)
	before := len(c.channels)
	c.channels = slices.DeleteFunc(c.channels, func(channel *Channel) bool { return channel.ID == body.ID && channel.Resource == body.ResourceID })
	if len(c.channels) == before {
		c.refuse(http.StatusNotFound, "notFound", "Channel '"+body.ID+"' not found for project")
		return
	}
	c.w.WriteHeader(http.StatusNoContent)
}
