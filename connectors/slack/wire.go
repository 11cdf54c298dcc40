package slack

import (
	"encoding/json"
	"regexp"
	"strconv"
	"strings"
	"time"
)

// What Slack's answers are read into: only what is of use here. Texts and blocks
// are written by anybody, so that what has another shape than the documentation
// says never makes the message beside it unreadable.

type channel struct {
	ID         string   `json:"id"`
	Name       string   `json:"name"`
	Previous   []string `json:"previous_names,omitempty"`
	Private    bool     `json:"is_private,omitempty"`
	Archived   bool     `json:"is_archived,omitempty"`
	Member     bool     `json:"is_member,omitempty"`
	Direct     bool     `json:"is_im,omitempty"`
	DirectMany bool     `json:"is_mpim,omitempty"`
}

type person struct {
	ID      string `json:"id"`
	Team    string `json:"team_id"`
	Name    string `json:"name"`
	Deleted bool   `json:"deleted"`
	Bot     bool   `json:"is_bot"`
	// Guests of several channels and of one.
	Restricted      bool `json:"is_restricted"`
	UltraRestricted bool `json:"is_ultra_restricted"`
	Stranger        bool `json:"is_stranger"`
	// Confirmed says that the person has shown that the address is theirs.
	Confirmed  *bool  `json:"is_email_confirmed"`
	RealName   string `json:"real_name"`
	Enterprise struct {
		Teams []string `json:"teams"`
	} `json:"enterprise_user"`
	Profile struct {
		Email       string `json:"email"`
		RealName    string `json:"real_name"`
		DisplayName string `json:"display_name"`
	} `json:"profile"`
}

// label is what a person is called.
func (p person) label() string {
	for _, name := range []string{p.Profile.RealName, p.RealName, p.Profile.DisplayName, p.Name} {
		if name = strings.TrimSpace(name); name != "" {
			return oneLine(name)
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
	Replies     int             `json:"reply_count"`
	LatestReply string          `json:"latest_reply"`
	RawFiles    json.RawMessage `json:"files"`
	RawBlocks   json.RawMessage `json:"blocks"`
	RawAttached json.RawMessage `json:"attachments"`

	files    []file
	blocks   []block
	attached []attachment
	at       time.Time
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

// block is a block, or an element of one.
type block struct {
	Type      string  `json:"type"`
	Text      words   `json:"text"`
	Title     words   `json:"title"`
	Elements  []block `json:"elements"`
	Fields    []words `json:"fields"`
	Style     style   `json:"style"`
	Indent    int     `json:"indent"`
	URL       string  `json:"url"`
	User      string  `json:"user_id"`
	Group     string  `json:"usergroup_id"`
	Channel   string  `json:"channel_id"`
	Range     string  `json:"range"`
	Name      string  `json:"name"`
	Unicode   string  `json:"unicode"`
	Alternate string  `json:"alt_text"`
	Fallback  string  `json:"fallback"`
}

// words are a text object, or the plain string that stands in its place in rich text.
type words struct {
	Text  string
	Plain bool // no mrkdwn
}

// UnmarshalJSON implements json.Unmarshaler; another shape is no text.
func (w *words) UnmarshalJSON(data []byte) error {
	var object struct {
		Type string `json:"type"`
		Text string `json:"text"`
	}
	if json.Unmarshal(data, &w.Text) == nil {
		return nil
	}
	if json.Unmarshal(data, &object) == nil {
		w.Text, w.Plain = object.Text, object.Type == "plain_text"
	}
	return nil
}

// style is that of a text, or of a list.
type style struct {
	List               string
	Bold, Italic, Gone bool
	Code               bool
}

// UnmarshalJSON implements json.Unmarshaler; another shape is no style.
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
		s.Bold, s.Italic, s.Gone, s.Code = object.Bold, object.Italic, object.Strike, object.Code
	}
	return nil
}

// readMessages reads messages one by one; what has no proper time is none.
func readMessages(raw []json.RawMessage) []*message {
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
		at, ok := momentOf(m.TS)
		if !ok {
			continue
		}
		m.at = at
		m.files = listOf[file](m.RawFiles)
		m.blocks = listOf[block](m.RawBlocks)
		m.attached = listOf[attachment](m.RawAttached)
		m.RawFiles, m.RawBlocks, m.RawAttached = nil, nil, nil
		out = append(out, m)
	}
	return out
}

// listOf reads the entries of a list that have the right shape.
func listOf[T any](data json.RawMessage) []T {
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
	stampShape   = regexp.MustCompile(`^[0-9]{1,11}\.[0-9]{6}$`)
	channelShape = regexp.MustCompile(`^[CG][A-Z0-9]{2,30}$`)
	fileShape    = regexp.MustCompile(`^F[A-Z0-9]{2,30}$`)
)

// momentOf reads a message's ts, which is its id in its channel and the time it
// was sent: seconds and, after the point, what tells the messages of one second
// apart.
func momentOf(ts string) (time.Time, bool) {
	if !stampShape.MatchString(ts) {
		return time.Time{}, false
	}
	whole, part, _ := strings.Cut(ts, ".")
	seconds, err := strconv.ParseInt(whole, 10, 64)
	if err != nil {
		return time.Time{}, false
	}
	micros, err := strconv.ParseInt(part, 10, 64)
	if err != nil {
		return time.Time{}, false
	}
	return time.Unix(seconds, micros*1000).UTC(), true
}

// stamp is the ts of a moment.
func stamp(t time.Time) string {
	micros := t.UnixMicro()
	return strconv.FormatInt(micros/1e6, 10) + "." + leftPad(strconv.FormatInt(micros%1e6, 10), 6)
}

func leftPad(digits string, width int) string {
	return strings.Repeat("0", max(width-len(digits), 0)) + digits
}

func oneLine(text string) string { return strings.Join(strings.Fields(text), " ") }
