package slack

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"net/http"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/magpie-search/magpie/connectors"
)

const (
	headerSignature = "X-Slack-Signature"
	headerTimestamp = "X-Slack-Request-Timestamp"
	signatureScheme = "v0"
	// replayWindow is how old a delivery may be, as Slack advises.
	replayWindow = 5 * time.Minute
	maxChallenge = 1024
)

// webhook describes the deliveries of the Events API.
// https://api.slack.com/authentication/verifying-requests-from-slack
func webhook() *connectors.Webhook {
	return &connectors.Webhook{
		Secret: credentialSecret,
		Keys: func(s connectors.Settings) []string {
			if team := s.String(optionTeam); team != "" {
				return []string{strings.ToLower(team)}
			}
			return nil
		},
		Route: route, IsChallenge: challenges, Verify: verify, Parse: read,
	}
}

// delivery is the envelope of an event.
type delivery struct {
	Type           string `json:"type"`
	Team           string `json:"team_id"`
	Challenge      string `json:"challenge"`
	ID             string `json:"event_id"`
	Time           int64  `json:"event_time"`
	Authorizations []struct {
		Team string `json:"team_id"`
	} `json:"authorizations"`
	Event event `json:"event"`
}

type event struct {
	Type        string          `json:"type"`
	Subtype     string          `json:"subtype"`
	Channel     json.RawMessage `json:"channel"` // an id, or an object for what happened to it
	ChannelKind string          `json:"channel_type"`
	TS          string          `json:"ts"`
	ThreadTS    string          `json:"thread_ts"`
	DeletedTS   string          `json:"deleted_ts"`
	Files       json.RawMessage `json:"files"`
	Message     *mention        `json:"message"`
	Previous    *mention        `json:"previous_message"`
	FileID      string          `json:"file_id"`
	File        struct {
		ID string `json:"id"`
	} `json:"file"`
	User json.RawMessage `json:"user"`
}

// mention is the message that an event is about.
type mention struct {
	Subtype  string          `json:"subtype"`
	TS       string          `json:"ts"`
	ThreadTS string          `json:"thread_ts"`
	Files    json.RawMessage `json:"files"`
}

func envelopeOf(body []byte) (delivery, error) {
	var d delivery
	if json.Unmarshal(body, &d) != nil {
		return delivery{}, connectors.ErrDelivery
	}
	switch d.Type {
	case "event_callback", "url_verification", "app_rate_limited":
		return d, nil
	}
	return delivery{}, connectors.ErrDelivery
}

// challenges reports whether a body is Slack's verification of an address, which
// names no workspace.
func challenges(body []byte) bool {
	d, err := envelopeOf(body)
	return err == nil && d.Type == "url_verification" && d.Challenge != ""
}

// route tells the workspaces that a delivery is for.
func route(_ http.Header, body []byte) ([]string, error) {
	d, err := envelopeOf(body)
	if err != nil {
		return nil, err
	}
	teams := []string{d.Team}
	for _, a := range d.Authorizations[:min(len(d.Authorizations), 16)] {
		teams = append(teams, a.Team)
	}
	var keys []string
	for _, team := range teams {
		if team = strings.ToLower(team); team != "" && len(team) <= 64 && !slices.Contains(keys, team) {
			keys = append(keys, team)
		}
	}
	return keys, nil
}

// verify checks the signature and its age.
func verify(secret string, header http.Header, body []byte, now time.Time) error {
	when := header.Get(headerTimestamp)
	seconds, err := strconv.ParseInt(when, 10, 64)
	if err != nil || secret == "" || strconv.FormatInt(seconds, 10) != when {
		return connectors.ErrSignature
	}
	if age := now.Sub(time.Unix(seconds, 0)); age > replayWindow || age < -replayWindow {
		return connectors.ErrSignature
	}
	given, found := strings.CutPrefix(header.Get(headerSignature), signatureScheme+"=")
	if !found {
		return connectors.ErrSignature
	}
	mac := hmac.New(sha256.New, []byte(secret))
	mac.Write([]byte(signatureScheme + ":" + when + ":"))
	mac.Write(body)
	if !hmac.Equal([]byte(given), []byte(hex.EncodeToString(mac.Sum(nil)))) {
		return connectors.ErrSignature
	}
	return nil
}

// read says what a delivery tells.
func read(_ http.Header, body []byte) (connectors.Delivery, error) {
	d, err := envelopeOf(body)
	if err != nil {
		return connectors.Delivery{}, err
	}
	switch d.Type {
	case "url_verification":
		if d.Challenge == "" || len(d.Challenge) > maxChallenge || !regexp.MustCompile(`^[\x21-\x7e]+$`).MatchString(d.Challenge) {
			return connectors.Delivery{}, connectors.ErrDelivery
		}
		return connectors.Delivery{Response: []byte(d.Challenge)}, nil
	case "app_rate_limited":
		return connectors.Delivery{AllChanged: true}, nil // events were dropped
	}
	out := connectors.Delivery{ID: clip(d.ID, 200)}
	if d.Time > 0 {
		out.ChangedAt = time.Unix(d.Time, 0).UTC()
	}
	e := d.Event
	switch e.Type {
	case "message":
		out.Items = e.items()
	case "file_shared", "file_change", "file_deleted", "file_unshared", "file_public", "file_created":
		if id := or(e.FileID, e.File.ID); fileShape.MatchString(id) {
			out.Items = []string{id}
		}
	case "channel_rename", "group_rename":
		out.AllChanged = true // the name is in all paths
	case "channel_archive", "channel_unarchive", "channel_deleted", "group_archive", "group_unarchive", "group_deleted",
		"channel_left", "group_left", "member_joined_channel", "member_left_channel", "team_join", "channel_shared", "channel_unshared",
		"channel_converted_to_private", "channel_converted_to_public":
		out.PermissionsChanged = true
	case "user_change":
		// It tells of every new status, too; only leaving changes who may see what.
		var user struct {
			Deleted bool `json:"deleted"`
		}
		out.PermissionsChanged = json.Unmarshal(e.User, &user) == nil && user.Deleted
	}
	return out, nil
}

// items are the documents that a message's event concerns.
func (e event) items() []string {
	var c string
	if json.Unmarshal(e.Channel, &c) != nil || !channelShape.MatchString(c) || e.ChannelKind == "im" || e.ChannelKind == "mpim" {
		return nil
	}
	var ids []string
	add := func(id string) {
		if !slices.Contains(ids, id) {
			ids = append(ids, id)
		}
	}
	day := func(ts string) {
		if at, ok := momentOf(ts); ok {
			add(dayOf(c, at))
		}
	}
	thread := func(ts string) {
		if _, ok := momentOf(ts); ok {
			add(threadOf(c, ts))
		}
	}
	attached := func(raw json.RawMessage) {
		for _, f := range listOf[file](raw) {
			if fileShape.MatchString(f.ID) {
				add(f.ID)
			}
		}
	}
	// of adds the documents that a message stands in: its day, or its thread. The
	// first reply and the last one also change the day that the root stands in.
	of := func(ts, root, subtype string) {
		if root == "" {
			day(ts)
			return
		}
		thread(root)
		day(root)
		if subtype == "thread_broadcast" {
			day(ts)
		}
	}
	switch e.Subtype {
	case "message_changed", "message_replied":
		for _, m := range []*mention{e.Message, e.Previous} {
			if m != nil {
				of(m.TS, m.ThreadTS, m.Subtype)
				attached(m.Files)
			}
		}
	case "message_deleted":
		root, subtype := "", ""
		if m := e.Previous; m != nil {
			root, subtype = m.ThreadTS, m.Subtype
			attached(m.Files)
		}
		of(e.DeletedTS, root, subtype)
	default:
		if speaks(&message{Subtype: e.Subtype}) {
			of(e.TS, e.ThreadTS, e.Subtype)
			attached(e.Files)
		}
	}
	return ids
}
