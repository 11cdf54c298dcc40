package slack

import (
	"cmp"
	"encoding/json"
	"net/http"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/magpie-search/magpie/connectors"
	"github.com/magpie-search/magpie/internal/safetext"
)

const (
	headerSignature = "X-Slack-Signature"
	headerTimestamp = "X-Slack-Request-Timestamp"
	signatureScheme = "v0"
	// replayWindow is the largest age of a delivery, as Slack recommends.
	replayWindow = 5 * time.Minute
	maxChallenge = 1024
)

// webhook describes the deliveries of the Events API.
//
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
		Route: route, IsChallenge: isChallenge, Verify: verify, Parse: parse,
	}
}

// A delivery is the envelope of an event.
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
	Channel     json.RawMessage `json:"channel"` // an id, or an object
	ChannelType string          `json:"channel_type"`
	TS          string          `json:"ts"`
	ThreadTS    string          `json:"thread_ts"`
	DeletedTS   string          `json:"deleted_ts"`
	Files       json.RawMessage `json:"files"`
	Message     *eventMessage   `json:"message"`
	Previous    *eventMessage   `json:"previous_message"`
	FileID      string          `json:"file_id"`
	File        struct {
		ID string `json:"id"`
	} `json:"file"`
	User json.RawMessage `json:"user"`
}

// An eventMessage is the message that an event is about.
type eventMessage struct {
	Subtype  string          `json:"subtype"`
	TS       string          `json:"ts"`
	ThreadTS string          `json:"thread_ts"`
	Files    json.RawMessage `json:"files"`
}

func parseEnvelope(body []byte) (delivery, error) {
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

// isChallenge reports whether a body is Slack's verification of an address,
// which names no workspace.
func isChallenge(body []byte) bool {
	d, err := parseEnvelope(body)
	return err == nil && d.Type == "url_verification" && d.Challenge != ""
}

// route returns the workspaces that a delivery is for.
func route(_ http.Header, body []byte) ([]string, error) {
	d, err := parseEnvelope(body)
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
	timestamp := header.Get(headerTimestamp)
	seconds, err := strconv.ParseInt(timestamp, 10, 64)
	if err != nil || strconv.FormatInt(seconds, 10) != timestamp {
		return connectors.ErrSignature
	}
	if age := now.Sub(time.Unix(seconds, 0)); age > replayWindow || age < -replayWindow {
		return connectors.ErrSignature
	}
	signature, found := strings.CutPrefix(header.Get(headerSignature), signatureScheme+"=")
	if !found {
		return connectors.ErrSignature
	}
	return connectors.VerifyHMAC(secret, signature, []byte(signatureScheme+":"+timestamp+":"), body)
}

func parse(_ http.Header, body []byte) (connectors.Delivery, error) {
	d, err := parseEnvelope(body)
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
	out := connectors.Delivery{ID: safetext.TruncateBytes(d.ID, 200)}
	if d.Time > 0 {
		out.ChangedAt = time.Unix(d.Time, 0).UTC()
	}
	e := d.Event
	switch e.Type {
	case "message":
		out.Items = e.items()
	case "file_shared", "file_change", "file_deleted", "file_unshared", "file_public", "file_created":
		if id := cmp.Or(e.FileID, e.File.ID); fileIDPattern.MatchString(id) {
			out.Items = []string{id}
		}
	case "channel_rename", "group_rename":
		out.AllChanged = true // all paths have the name
	case "channel_archive", "channel_unarchive", "channel_deleted", "group_archive", "group_unarchive", "group_deleted",
		"channel_left", "group_left", "member_joined_channel", "member_left_channel", "team_join", "channel_shared", "channel_unshared",
		"channel_converted_to_private", "channel_converted_to_public":
		out.PermissionsChanged = true
	case "user_change":
		// The event comes for every new status as well.
		var user struct {
			Deleted bool `json:"deleted"`
		}
		out.PermissionsChanged = json.Unmarshal(e.User, &user) == nil && user.Deleted
	}
	return out, nil
}

// items returns the ids of the items that a message event concerns.
func (e event) items() []string {
	var channelID string
	if json.Unmarshal(e.Channel, &channelID) != nil || !channelIDPattern.MatchString(channelID) || e.ChannelType == "im" || e.ChannelType == "mpim" {
		return nil
	}
	var ids []string
	add := func(id string) {
		if !slices.Contains(ids, id) {
			ids = append(ids, id)
		}
	}
	addDay := func(ts string) {
		if sentAt, ok := parseTimestamp(ts); ok {
			add(dayID(channelID, sentAt))
		}
	}
	addThread := func(ts string) {
		if _, ok := parseTimestamp(ts); ok {
			add(threadID(channelID, ts))
		}
	}
	addFiles := func(raw json.RawMessage) {
		for _, f := range decodeList[file](raw) {
			if fileIDPattern.MatchString(f.ID) {
				add(f.ID)
			}
		}
	}
	// addMessage adds the day or thread of a message. The first and the last reply of
	// a thread also change the day of its root.
	addMessage := func(ts, root, subtype string) {
		if root == "" {
			addDay(ts)
			return
		}
		addThread(root)
		addDay(root)
		if subtype == "thread_broadcast" {
			addDay(ts)
		}
	}
	switch e.Subtype {
	case "message_changed", "message_replied":
		for _, m := range []*eventMessage{e.Message, e.Previous} {
			if m != nil {
				addMessage(m.TS, m.ThreadTS, m.Subtype)
				addFiles(m.Files)
			}
		}
	case "message_deleted":
		root, subtype := "", ""
		if m := e.Previous; m != nil {
			root, subtype = m.ThreadTS, m.Subtype
			addFiles(m.Files)
		}
		addMessage(e.DeletedTS, root, subtype)
	default:
		if hasContent(&message{Subtype: e.Subtype}) {
			addMessage(e.TS, e.ThreadTS, e.Subtype)
			addFiles(e.Files)
		}
	}
	return ids
}
