package slack

import (
	"encoding/json"
	"regexp"
	"strconv"
	"strings"
	"time"
)

// The types of responses have only the fields that are used. People and apps write
// texts and blocks, so that a part of another shape than documented must not make
// the message unreadable.

type channel struct {
	ID            string   `json:"id"`
	Name          string   `json:"name"`
	PreviousNames []string `json:"previous_names,omitempty"`
	Private       bool     `json:"is_private,omitempty"`
	Archived      bool     `json:"is_archived,omitempty"`
	Member        bool     `json:"is_member,omitempty"`
	Direct        bool     `json:"is_im,omitempty"`
	DirectMany    bool     `json:"is_mpim,omitempty"`
}

type person struct {
	ID      string `json:"id"`
	Team    string `json:"team_id"`
	Name    string `json:"name"`
	Deleted bool   `json:"deleted"`
	Bot     bool   `json:"is_bot"`
	// Restricted is a guest of several channels, UltraRestricted of one.
	Restricted      bool   `json:"is_restricted"`
	UltraRestricted bool   `json:"is_ultra_restricted"`
	IsStranger      bool   `json:"is_stranger"`
	EmailConfirmed  *bool  `json:"is_email_confirmed"`
	RealName        string `json:"real_name"`
	Enterprise      struct {
		Teams []string `json:"teams"`
	} `json:"enterprise_user"`
	Profile struct {
		Email       string `json:"email"`
		RealName    string `json:"real_name"`
		DisplayName string `json:"display_name"`
	} `json:"profile"`
}

func (p person) displayName() string {
	for _, name := range []string{p.Profile.RealName, p.RealName, p.Profile.DisplayName, p.Name} {
		if name = strings.TrimSpace(name); name != "" {
			return strings.Join(strings.Fields(name), " ")
		}
	}
	return p.ID
}

type message struct {
	Type     string `json:"type"`
	Subtype  string `json:"subtype"`
	TS       string `json:"ts"`
	ThreadTS string `json:"thread_ts"`
	User     string `json:"user"`
	BotID    string `json:"bot_id"`
	Username string `json:"username"`
	Text     string `json:"text"`
	Profile  struct {
		Name string `json:"name"`
	} `json:"bot_profile"`
	Edited struct {
		TS string `json:"ts"`
	} `json:"edited"`
	Replies        int             `json:"reply_count"`
	LatestReply    string          `json:"latest_reply"`
	RawFiles       json.RawMessage `json:"files"`
	RawBlocks      json.RawMessage `json:"blocks"`
	RawAttachments json.RawMessage `json:"attachments"`

	files       []file
	blocks      []block
	attachments []attachment
	sentAt      time.Time
}

type attachment struct {
	Fallback  string  `json:"fallback"`
	Pretext   string  `json:"pretext"`
	Title     string  `json:"title"`
	TitleLink string  `json:"title_link"`
	Text      string  `json:"text"`
	FromURL   string  `json:"from_url"`
	IsShare   bool    `json:"is_share"`
	Unfurl    bool    `json:"is_msg_unfurl"`
	Fields    []field `json:"fields"`
	Blocks    []block `json:"blocks"`
}

type field struct {
	Title string `json:"title"`
	Value string `json:"value"`
}

type file struct {
	ID           string   `json:"id"`
	Created      int64    `json:"created"`
	Updated      int64    `json:"updated"`
	Name         string   `json:"name"`
	Title        string   `json:"title"`
	MediaType    string   `json:"mimetype"`
	Kind         string   `json:"filetype"`
	Mode         string   `json:"mode"`
	External     bool     `json:"is_external"`
	ExternalType string   `json:"external_type"`
	User         string   `json:"user"`
	Size         int64    `json:"size"`
	Preview      string   `json:"preview"`
	URL          string   `json:"url_private"`
	Download     string   `json:"url_private_download"`
	Permalink    string   `json:"permalink"`
	Channels     []string `json:"channels"`
	Groups       []string `json:"groups"`
}

// A block is a block of a message, or an element of one.
type block struct {
	Type      string       `json:"type"`
	Text      textObject   `json:"text"`
	Title     textObject   `json:"title"`
	Elements  []block      `json:"elements"`
	Fields    []textObject `json:"fields"`
	Style     style        `json:"style"`
	Indent    int          `json:"indent"`
	URL       string       `json:"url"`
	User      string       `json:"user_id"`
	Group     string       `json:"usergroup_id"`
	Channel   string       `json:"channel_id"`
	Range     string       `json:"range"`
	Name      string       `json:"name"`
	Unicode   string       `json:"unicode"`
	Alternate string       `json:"alt_text"`
	Fallback  string       `json:"fallback"`
}

// A textObject is a text object, or the plain string that replaces one in rich
// text.
type textObject struct {
	Text    string
	IsPlain bool // without mrkdwn
}

// UnmarshalJSON implements [json.Unmarshaler]. Anything else is an empty text.
func (w *textObject) UnmarshalJSON(data []byte) error {
	var object struct {
		Type string `json:"type"`
		Text string `json:"text"`
	}
	if json.Unmarshal(data, &w.Text) == nil {
		return nil
	}
	if json.Unmarshal(data, &object) == nil {
		w.Text, w.IsPlain = object.Text, object.Type == "plain_text"
	}
	return nil
}

// A style is the style of a text or list.
type style struct {
	List                 string
	Bold, Italic, Strike bool
	Code                 bool
}

// UnmarshalJSON implements [json.Unmarshaler]. Anything else is no style.
func (s *style) UnmarshalJSON(data []byte) error {
	var object struct {
		Bold   bool `json:"bold"`
		Italic bool `json:"italic"`
		Strike bool `json:"strike"`
		Code   bool `json:"code"`
	}
	if json.Unmarshal(data, &s.List) == nil {
		return nil
	}
	if json.Unmarshal(data, &object) == nil {
		s.Bold, s.Italic, s.Strike, s.Code = object.Bold, object.Italic, object.Strike, object.Code
	}
	return nil
}

// decodeMessages decodes messages one by one. It leaves out those without a
// valid timestamp.
func decodeMessages(raw []json.RawMessage) []*message {
	out := make([]*message, 0, len(raw))
	for _, data := range raw {
		m := &message{}
		if json.Unmarshal(data, m) != nil {
			var least struct{ Type, Subtype, TS, User, Text string }
			if json.Unmarshal(data, &least) != nil {
				continue
			}
			m = &message{Type: least.Type, Subtype: least.Subtype, TS: least.TS, User: least.User, Text: least.Text}
		}
		at, ok := parseTimestamp(m.TS)
		if !ok {
			continue
		}
		m.sentAt = at
		m.files = decodeList[file](m.RawFiles)
		m.blocks = decodeList[block](m.RawBlocks)
		m.attachments = decodeList[attachment](m.RawAttachments)
		m.RawFiles, m.RawBlocks, m.RawAttachments = nil, nil, nil
		out = append(out, m)
	}
	return out
}

// decodeList decodes a list. It leaves out the entries that cannot be decoded.
func decodeList[T any](data json.RawMessage) []T {
	var raw []json.RawMessage
	if len(data) == 0 || json.Unmarshal(data, &raw) != nil {
		return nil
	}
	out := make([]T, 0, len(raw))
	for _, entry := range raw {
		var value T
		if json.Unmarshal(entry, &value) == nil {
			out = append(out, value)
		}
	}
	return out
}

var (
	timestampPattern = regexp.MustCompile(`^[0-9]{1,11}\.[0-9]{6}$`)
	channelIDPattern = regexp.MustCompile(`^[CG][A-Z0-9]{2,30}$`)
	fileIDPattern    = regexp.MustCompile(`^F[A-Z0-9]{2,30}$`)
)

// parseTimestamp parses a message's ts: the time at which it was sent, which is
// also its id in the channel.
func parseTimestamp(ts string) (time.Time, bool) {
	if !timestampPattern.MatchString(ts) {
		return time.Time{}, false
	}
	secondsText, microsText, _ := strings.Cut(ts, ".")
	seconds, err := strconv.ParseInt(secondsText, 10, 64)
	if err != nil {
		return time.Time{}, false
	}
	micros, err := strconv.ParseInt(microsText, 10, 64)
	if err != nil {
		return time.Time{}, false
	}
	return time.Unix(seconds, micros*1000).UTC(), true
}

// formatTimestamp returns a time as a ts.
func formatTimestamp(t time.Time) string {
	micros := t.UnixMicro()
	return strconv.FormatInt(micros/1e6, 10) + "." + leftPad(strconv.FormatInt(micros%1e6, 10), 6)
}

func leftPad(digits string, width int) string {
	return strings.Repeat("0", max(width-len(digits), 0)) + digits
}
