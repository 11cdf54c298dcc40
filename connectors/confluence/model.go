package confluence

import (
	"cmp"
	"time"

	"github.com/magpie-search/magpie/connectors/atlassian"
)

// A space is a space of the site.
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

// A page is a page or blog post.
type page struct {
	id, kind, title, status string
	space                   string // the key
	version                 int
	author                  string
	created, modified       time.Time
	ancestors               []ancestor // from the top of the space
	hasBody                 bool
	body                    string // in storage format
	labels                  []string
	files                   []file
	commentMarks            []string // of comments: "id.version", sorted
	url                     string
	restriction             *allowList // nil if unknown
}

type ancestor struct{ id, kind, title string }

// A file is an attachment.
type file struct {
	id, page, title, media string
	version                int
	size                   int64
	author                 string
	created, modified      time.Time
	url, download          string
}

// A comment is below a page, or on a selection in it.
type comment struct {
	id, author, body, selection string
	created                     time.Time
	version                     int
	resolved                    bool
}

// What follows is how version 1 of the interface writes things; Data Center has
// no other, and search on Cloud answers in it.

type content struct {
	ID, Type, Status, Title string
	Space                   struct{ Key string }
	Version                 version
	History                 struct {
		CreatedDate atlassian.Timestamp
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

func (contents) RequiredFields() []string { return []string{"results"} }

func (content) RequiredFields() []string { return []string{"id", "type", "version.number"} }

// isValid reports whether an entry of a list has the fields of content.
func (c content) isValid() bool {
	return c.ID != "" && c.Type != "" && c.Version.Number > 0
}

// rows is a list of version 1.
type rows[T any] struct {
	Results []T
	paging
}

func (rows[T]) RequiredFields() []string { return []string{"results"} }

// paging is the position of a list of version 1.
type paging struct {
	Start, Limit, Size int
	Links              links `json:"_links"`
}

type links struct{ WebUI, Download, Next, Base string }

type version struct {
	Number int
	When   atlassian.Timestamp
	By     user
}

type user struct {
	Type, AccountID, AccountType, UserKey, Username, DisplayName, PublicName, Email string
}

func (u user) displayName() string {
	if u.Type == "anonymous" {
		return ""
	}
	return cmp.Or(u.DisplayName, u.PublicName, u.Username)
}

// id returns the site's permanent id of a user.
func (u user) id() string { return cmp.Or(u.AccountID, u.UserKey, u.Username) }

func (user) RequiredFields() []string { return []string{"type"} }

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

func (restrictionList) RequiredFields() []string {
	return []string{"restrictions.user.results", "restrictions.group.results"}
}

// isComplete reports whether both lists are present. Without one of them, a
// page would have more readers.
func (l *restrictionList) isComplete() bool {
	return l.Restrictions.User.Results != nil && l.Restrictions.Group.Results != nil
}
