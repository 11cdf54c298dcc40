package confluence

import (
	"encoding/json"
	"strings"
	"time"
)

// space is a space of the site.
type space struct {
	id, key, name string
	personal      bool
	archived      bool
}

// The kinds of content that become items.
const (
	kindPage = "page"
	kindBlog = "blogpost"
)

// page is a page or a blog post.
type page struct {
	id, kind, title, status string
	space                   string // its key
	number                  int    // of the version
	author                  string
	created, modified       time.Time
	ancestors               []ancestor // from the top of the space on
	hasBody                 bool
	body                    string // storage format
	labels                  []string
	files                   []file
	marks                   []string // of its comments: "id.version", sorted
	url                     string
	restriction             *restriction // nil when it was not told
}

type ancestor struct{ id, kind, title string }

// file is an attachment.
type file struct {
	id, page, title, media string
	number                 int
	size                   int64
	author                 string
	created, modified      time.Time
	url, download          string
}

// comment is one that stands below a page or in it.
type comment struct {
	id, author, body, on string
	created              time.Time
	number               int
	resolved             bool
}

// What follows is how version 1 of the interface writes things; Data Center has
// no other, and search on Cloud answers in it.

type content struct {
	ID, Type, Status, Title string
	Space                   struct{ Key string }
	Version                 version
	History                 struct {
		CreatedDate stamp
		CreatedBy   user
		LastUpdated version
	}
	Ancestors []struct{ ID, Type, Title string }
	Container struct{ ID, Type, Title string }
	Body      struct {
		Storage *struct{ Value string }
	}
	Metadata struct {
		MediaType string
		Labels    struct {
			Results []struct{ Name, Prefix string }
			paging
		}
	}
	Children struct {
		Attachment *contents
	}
	Descendants struct {
		Comment *contents
	}
	Restrictions struct {
		Read *restrictionList
	}
	Extensions struct {
		MediaType        string
		FileSize         int64
		Location         string
		Resolution       struct{ Status string }
		InlineProperties struct{ OriginalSelection string }
	}
	Links links `json:"_links"`
}

type contents struct {
	Results    []content
	NextCursor string
	paging
}

func (contents) needs() []string { return []string{"results"} }

func (content) needs() []string { return []string{"id", "type", "version.number"} }

// proper says whether an entry of a list is a page, a post or a file.
func (c content) proper() bool {
	return c.ID != "" && c.Type != "" && c.Version.Number > 0
}

// rows is a list of version 1.
type rows[T any] struct {
	Results []T
	paging
}

func (rows[T]) needs() []string { return []string{"results"} }

// paging is how the lists of version 1 say where they are.
type paging struct {
	Start, Limit, Size int
	Links              links `json:"_links"`
}

type links struct{ WebUI, Download, Next, Base string }

type version struct {
	Number int
	When   stamp
	By     user
}

type user struct {
	Type, AccountID, AccountType, UserKey, Username, DisplayName, PublicName, Email string
}

func (u user) name() string {
	if u.Type == "anonymous" {
		return ""
	}
	return firstOf(u.DisplayName, u.PublicName, u.Username)
}

// id is what the site calls a user for good.
func (u user) id() string { return firstOf(u.AccountID, u.UserKey, u.Username) }

func (user) needs() []string { return []string{"type"} }

type group struct{ ID, Name string }

type restrictionList struct {
	Restrictions struct {
		User struct {
			Results []user
			paging
		}
		Group struct {
			Results []group
			paging
		}
	}
}

func (restrictionList) needs() []string {
	return []string{"restrictions.user.results", "restrictions.group.results"}
}

// told says whether both lists came: without one, a page would be open to those
// whom it is closed to.
func (l *restrictionList) told() bool {
	return l.Restrictions.User.Results != nil && l.Restrictions.Group.Results != nil
}

// stamp is a time as the site writes it; what cannot be read is the zero time.
type stamp struct{ time.Time }

// UnmarshalJSON implements [json.Unmarshaler].
func (s *stamp) UnmarshalJSON(text []byte) error {
	var written string
	if json.Unmarshal(text, &written) != nil {
		return nil // a time of another form is unknown, and no reason to lose the page
	}
	for _, layout := range []string{time.RFC3339Nano, "2006-01-02T15:04:05.999Z0700", time.DateOnly} {
		if at, err := time.Parse(layout, strings.TrimSpace(written)); err == nil {
			s.Time = at.UTC()
			return nil
		}
	}
	return nil
}
