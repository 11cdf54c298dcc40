package notion

import (
	"encoding/json"
	"strings"
	"time"
)

// A stamp is a time, or the zero time if it cannot be parsed.
type stamp struct{ time.Time }

// UnmarshalJSON implements [json.Unmarshaler].
func (s *stamp) UnmarshalJSON(text []byte) error {
	var formatted string
	if json.Unmarshal(text, &formatted) == nil {
		if t, err := time.Parse(time.RFC3339Nano, formatted); err == nil {
			s.Time = t.UTC()
		}
	}
	return nil
}

// A parent is the parent of an object.
type parent struct {
	Type         string
	PageID       string `json:"page_id"`
	DatabaseID   string `json:"database_id"`
	DataSourceID string `json:"data_source_id"`
	BlockID      string `json:"block_id"`
}

// An object is a page or a data source.
type object struct {
	Object         string
	ID             string
	Created        stamp `json:"created_time"`
	Edited         stamp `json:"last_edited_time"`
	InTrash        bool  `json:"in_trash"`
	Archived       bool
	Parent         *parent
	DatabaseParent *parent `json:"database_parent"`
	URL            string
	Title          []richText
	Properties     map[string]property
}

func (o *object) isGone() bool { return o.InTrash || o.Archived }

func (o *object) isValid() bool {
	return isID(o.ID) && !o.Edited.IsZero()
}

// title returns the title of a page or data source.
func (o *object) title() string {
	list := o.Title
	for _, p := range o.Properties {
		if p.Type == "title" && o.Object != "data_source" {
			list = p.Title
		}
	}
	return strings.Join(strings.Fields(plainText(list)), " ")
}

type richText struct {
	Type, PlainText string `json:"-"`
	Href            string
	Text            struct{ Content string }
	Annotations     struct{ Bold, Italic, Strikethrough, Code bool }
}

// UnmarshalJSON implements [json.Unmarshaler].
func (r *richText) UnmarshalJSON(text []byte) error {
	var parts struct {
		Type        string
		PlainText   *string `json:"plain_text"`
		Href        *string
		Text        *struct{ Content string }
		Annotations struct{ Bold, Italic, Strikethrough, Code bool }
	}
	if json.Unmarshal(text, &parts) != nil {
		return nil
	}
	r.Type, r.Annotations = parts.Type, parts.Annotations
	if parts.Href != nil {
		r.Href = *parts.Href
	}
	switch {
	case parts.PlainText != nil:
		r.PlainText = *parts.PlainText
	case parts.Text != nil:
		r.PlainText = parts.Text.Content
	}
	return nil
}

func plainText(list []richText) string {
	var b strings.Builder
	for _, r := range list {
		b.WriteString(r.PlainText)
	}
	return b.String()
}

// A list is a page of a list.
type list[T any] struct {
	Results       []T
	HasMore       bool   `json:"has_more"`
	NextCursor    string `json:"next_cursor"`
	RequestStatus struct {
		Type   string
		Reason string `json:"incomplete_reason"`
	} `json:"request_status"`
}

// RequiredFields and RequiredList are the fields without which a list would seem
// complete or empty.
func (list[T]) RequiredFields() []string { return []string{"has_more"} }
func (list[T]) RequiredList() string     { return "results" }

// A hosted file is a file that Notion or another site serves.
type hosted struct {
	Type    string
	Name    string
	Caption []richText
	File    *struct{ URL string }
	// FileUpload is not served, External is another site's.
	External *struct{ URL string }
}
