package notionserver

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"
)

// Page is a page or a row of a data source.
type Page struct {
	ID, Title string
	// Parent is the ID of a page, data source or block, "" for the workspace.
	Parent string
	// Text has a paragraph on each line. Lines that begin with "# " are headings.
	Text string
	// Properties are further properties of a row, in the form of the API.
	Properties map[string]any
	Files      []File
	Comments   []string
	// Trashed puts the page into the trash, Unshared takes it from the integration, and
	// Unindexed keeps it out of the search.
	Trashed, Unshared, Unindexed bool
	Created, Edited              time.Time
}

// File is a file block of a page.
type File struct {
	ID, Name string
	Data     []byte
	Upload   string // another one for each upload
}

// Source is a data source. Database is the ID of its database.
type Source struct {
	ID, Database, Title string
	Parent              string // a page
	Unshared            bool
	Edited              time.Time
}

func (s *Server) next() string {
	s.serial++
	return fmt.Sprintf("%08x-5e6f-8081-92a3-c4d5e6f00000", 0x1a000000+s.serial)
}

func (s *Server) now() time.Time {
	s.clock = s.clock.Add(time.Second)
	return s.clock
}

// Advance moves the clock.
func (s *Server) Advance(by time.Duration) {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	s.clock = s.clock.Add(by)
}

// SetClock sets the clock.
func (s *Server) SetClock(at time.Time) {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	s.clock = at
}

// Add adds a page and returns its ID.
func (s *Server) Add(p Page) string {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	if p.ID == "" {
		p.ID = s.next()
	}
	p.Created = s.now()
	p.Edited = p.Created
	s.complete(&p)
	s.pages[p.ID] = &p
	return p.ID
}

func (s *Server) complete(p *Page) {
	for i := range p.Files {
		if p.Files[i].ID == "" {
			p.Files[i].ID = s.next()
		}
		if p.Files[i].Upload == "" {
			p.Files[i].Upload = s.next()
		}
	}
}

// Change edits a page.
func (s *Server) Change(id string, change func(*Page)) {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	p := s.pages[id]
	p.Edited = s.now()
	change(p)
	s.complete(p)
}

// Set changes a page without an edit, as a move or a share does.
func (s *Server) Set(id string, change func(*Page)) {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	change(s.pages[id])
}

// AddDatabase adds a database with one data source below a page, and returns both
// IDs.
func (s *Server) AddDatabase(title, parent string) (database, source string) {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	database, source = s.next(), s.next()
	s.sources[source] = &Source{ID: source, Database: database, Title: title, Parent: parent, Edited: s.now()}
	return database, source
}

// AddSource adds a data source to a database.
func (s *Server) AddSource(database, title string) string {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	id := s.next()
	s.sources[id] = &Source{ID: id, Database: database, Title: title, Edited: s.now()}
	return id
}

// ChangeSource changes a data source.
func (s *Server) ChangeSource(id string, change func(*Source)) {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	s.sources[id].Edited = s.now()
	change(s.sources[id])
}

// AddBlock adds a block below a page or block, which can be the parent of pages.
func (s *Server) AddBlock(parent string) string {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	id := s.next()
	s.blocks[id] = parent
	return id
}

// isVisible reports whether a page is shared with the integration.
func (s *Server) isVisible(id string) bool {
	for at := id; ; {
		switch {
		case s.pages[at] != nil:
			p := s.pages[at]
			if p.Unshared {
				return false
			}
			if at = p.Parent; at == "" {
				return true
			}
		case s.sources[at] != nil:
			return !s.sources[at].Unshared
		case s.blocks[at] != "":
			at = s.blocks[at]
		default:
			return false
		}
	}
}

// isTrashed reports whether a page or one above it is in the trash.
func (s *Server) isTrashed(id string) bool {
	for at := id; at != ""; {
		switch {
		case s.pages[at] != nil:
			if s.pages[at].Trashed {
				return true
			}
			at = s.pages[at].Parent
		case s.sources[at] != nil:
			at = s.sources[at].Parent
		default:
			at = s.blocks[at]
		}
	}
	return false
}

func (s *Server) sortedPages(match func(*Page) bool) []*Page {
	var found []*Page
	for _, id := range slices.Sorted(maps.Keys(s.pages)) {
		if p := s.pages[id]; s.isVisible(id) && !s.isTrashed(id) && match(p) {
			found = append(found, p)
		}
	}
	return found
}

func (s *Server) file(id string) (*Page, *File) {
	for _, p := range s.pages {
		for i := range p.Files {
			if p.Files[i].ID == id {
				return p, &p.Files[i]
			}
		}
	}
	return nil, nil
}

// AddSample fills the workspace with some content.
func (s *Server) AddSample() {
	handbook := s.Add(Page{Title: "Handbook", Text: "How we work.\n# Holidays\nEverybody takes 30 days."})
	s.Add(Page{
		Title: "Travel", Parent: handbook, Text: "Trains before planes.\nSend the tickets to the office.",
		Files: []File{{Name: "rates.csv", Data: []byte("country,rate\nFrance,48\nJapan,61\n")}}, Comments: []string{"Who approves trips?"},
	})
	_, source := s.AddDatabase("Decisions", handbook)
	s.Add(Page{Title: "Use PostgreSQL", Parent: source, Text: "One database for documents and vectors.", Properties: map[string]any{
		"Status": map[string]any{"id": "st", "type": "status", "status": map[string]any{"name": "Decided"}},
	}})
	s.Add(Page{Title: "Rent a boat", Parent: source, Text: "For the summer party.", Properties: map[string]any{
		"Status": map[string]any{"id": "st", "type": "status", "status": map[string]any{"name": "Open"}},
	}})
}

// paragraphs returns the lines of a page's text.
func (p *Page) paragraphs() []string {
	if p.Text == "" {
		return nil
	}
	return strings.Split(p.Text, "\n")
}
