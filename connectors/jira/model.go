package jira

import (
	"cmp"
	"encoding/json"
	"strings"
	"time"

	"github.com/magpie-search/magpie/connectors/atlassian"
)

// An identifier is an id that Jira writes as a string or as a number.
type identifier string

// UnmarshalJSON implements [json.Unmarshaler].
func (i *identifier) UnmarshalJSON(text []byte) error {
	var value string
	if json.Unmarshal(text, &value) == nil {
		*i = identifier(value)
		return nil
	}
	var number json.Number
	if json.Unmarshal(text, &number) == nil {
		*i = identifier(number)
	}
	return nil
}

type project struct {
	ID        identifier
	Key, Name string
	Lead      *user
}

func (project) RequiredFields() []string { return []string{"id", "key"} }

type user struct {
	AccountID, AccountType, Key, Name, DisplayName, EmailAddress string
	Active                                                       *bool
}

// id returns the site's permanent id of a user.
func (u *user) id() string {
	if u == nil {
		return ""
	}
	return cmp.Or(u.AccountID, u.Key, u.Name)
}

func (u *user) displayName() string {
	if u == nil {
		return ""
	}
	return cmp.Or(u.DisplayName, u.Name)
}

type named struct {
	ID   identifier
	Name string
}

func (n *named) name() string {
	if n == nil {
		return ""
	}
	return n.Name
}

// An issue is an issue of a search or by itself.
type issue struct {
	ID     identifier
	Key    string
	Fields struct {
		Summary                                 string
		Description                             json.RawMessage
		Status, IssueType, Priority, Resolution *named
		Project                                 project
		Assignee, Reporter, Creator             *user
		Created, Updated                        atlassian.Timestamp
		DueDate                                 string
		Labels                                  []string
		Components, FixVersions                 []named
		Parent                                  *struct {
			Key    string
			Fields struct{ Summary string }
		}
		Comment    *comments
		Attachment []attachment
		Security   *named
	}
}

func (issue) RequiredFields() []string { return []string{"id", "key", "fields"} }

// isValid reports whether an entry of a search has the fields of an issue. Without
// its project, that of the key is taken.
func (i *issue) isValid() bool {
	p := &i.Fields.Project
	if key, _, found := strings.Cut(i.Key, "-"); found && p.Key == "" {
		p.Key = key
	}
	if p.ID == "" {
		p.ID = identifier(p.Key)
	}
	return isID(string(i.ID)) && p.Key != "" && !i.Fields.Updated.IsZero()
}

// is reports whether two projects are the same.
func (p project) is(other project) bool {
	return p.ID == other.ID || p.Key != "" && strings.EqualFold(p.Key, other.Key)
}

type comments struct {
	Comments []comment
	Total    int
}

func (comments) RequiredList() string { return "comments" }

type comment struct {
	ID           identifier
	Author       *user
	Body         json.RawMessage
	Created      atlassian.Timestamp
	Visibility   *struct{ Type, Value string }
	UpdateAuthor *user
}

type attachment struct {
	ID       identifier
	Filename string
	Author   *user
	Created  atlassian.Timestamp
	Size     *int64
	MimeType string
	Content  string // the address
}

func (a *attachment) size() int64 {
	if a.Size == nil || *a.Size < 0 {
		return -1
	}
	return *a.Size
}

// The fields of an issue that are requested.
func textFields(withComments, withFiles bool) []string {
	fields := append([]string{"description"}, factFields(withFiles)...)
	if withComments {
		fields = append(fields, "comment")
	}
	return fields
}

// factFields are the fields without the texts.
func factFields(withFiles bool) []string {
	fields := []string{
		"summary", "status", "issuetype", "priority", "resolution", "project", "assignee", "reporter", "creator", "created", "updated", "duedate",
		"labels", "components", "fixVersions", "parent", "security",
	}
	if withFiles {
		fields = append(fields, "attachment")
	}
	return fields
}

// milliseconds returns a time for JQL.
func milliseconds(t time.Time) int64 {
	if t.IsZero() {
		return 0
	}
	return t.UnixMilli()
}
