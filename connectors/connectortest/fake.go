package connectortest

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/magpie-search/magpie/connectors"
)

// A Fake is a source in memory that does what a test demands. The id of an item is
// the path at which it was created. Its methods may be called while connectors use it. Its
// fields are set before, or while it is locked.
type Fake struct {
	sync.Mutex

	// PageSize is the number of items on a page. NewFake sets 100. FeedPageSize is
	// that of changes on a page, 0 for PageSize.
	PageSize, FeedPageSize int
	// Latency is the duration of each call.
	Latency time.Duration
	// BeforeWalk, BeforeOpen and BeforeChanges, if not nil, are called before each
	// Walk, Open and Changes.
	BeforeWalk, BeforeOpen func(ctx context.Context, at string) error
	BeforeChanges          func(ctx context.Context, token string) error
	// Reshape changes each page before it is returned, ReshapeChanges each page of
	// changes. They may be nil.
	Reshape        func(page connectors.Page) connectors.Page
	ReshapeChanges func(page connectors.ChangePage) connectors.ChangePage
	// FolderContainers says that the top folder at which a file was created is its
	// container, unless it has another.
	FolderContainers bool
	// Tiers are the rights that CheckTiers returns.
	Tiers []connectors.Tier
	// ReadersError is the error of Readers.
	ReadersError error
	// Settings are those of the source that was opened last.
	Settings connectors.Settings

	files            map[string]File
	readers          map[string]connectors.Readers
	groups           []connectors.Group
	groupsError      error
	faults           []*Fault
	calls            map[Call]int
	opens            map[string]int
	changes          []fakeChange
	moved            bool            // a file is not at its id
	oldest           int             // tokens before this change have expired
	incomplete       map[string]bool // containers that cannot be listed
	readersRequested int
}

var _ Fixture = (*Fake)(nil)

// A File is an item of a [Fake].
type File struct {
	Content, Version string
	MediaType        string
	ReportedSize     int64 // 0 means the length of Content
	Created          time.Time
	Modified         time.Time // zero means Created
	Metadata         map[string]string
	Path             string // where it was moved to, empty for its id
	Container        string
}

// NewFake returns an empty source.
func NewFake() *Fake {
	return &Fake{
		PageSize: 100, files: map[string]File{}, readers: map[string]connectors.Readers{},
		calls: map[Call]int{}, opens: map[string]int{},
	}
}

// Set creates or replaces a file with a version.
func (f *Fake) Set(path, version, content string) {
	f.Lock()
	defer f.Unlock()
	id := f.idAt(path)
	f.files[id] = File{Content: content, Version: version, Path: f.files[id].Path, Container: f.files[id].Container}
	f.note(id, false)
}

// Fill creates n Markdown files: doc-0000.md and so on.
func (f *Fake) Fill(n int, version string) {
	for i := range n {
		f.Set(fmt.Sprintf("doc-%04d.md", i), version, fmt.Sprintf("# Document %d\n\nVersion %s of the text of document %d.\n", i, version, i))
	}
}

// Put implements [Fixture]. Each content has a version of its own.
func (f *Fake) Put(_ testing.TB, path string, content []byte) {
	f.Lock()
	defer f.Unlock()
	version := fmt.Sprintf("%d-%x", len(content), content[:min(len(content), 16)])
	id := f.idAt(path)
	old, exists := f.files[id]
	if exists && old.Content != string(content) {
		version += "+" + old.Version[:min(len(old.Version), 100)]
	}
	f.files[id] = File{Content: string(content), Version: version, Path: old.Path, Container: old.Container}
	f.note(id, false)
}

// Delete implements [Fixture].
func (f *Fake) Delete(_ testing.TB, path string) { f.Remove(path) }

// Remove deletes files.
func (f *Fake) Remove(paths ...string) {
	f.Lock()
	defer f.Unlock()
	for _, path := range paths {
		id := f.idAt(path)
		delete(f.files, id)
		f.note(id, false)
	}
}

// Change calls change with a file.
func (f *Fake) Change(path string, change func(*File)) {
	f.Lock()
	defer f.Unlock()
	id := f.idAt(path)
	file := f.files[id]
	change(&file)
	f.files[id] = file
	f.note(id, false)
}

// Share sets the readers of a file. Without principals, everyone may read it.
func (f *Fake) Share(path string, principals ...string) {
	f.Lock()
	defer f.Unlock()
	id := f.idAt(path)
	f.readers[id] = connectors.Readers{Everyone: len(principals) == 0, Principals: principals}
	f.note(id, true)
}

// SetHooks sets BeforeWalk and BeforeOpen.
func (f *Fake) SetHooks(walking, opening func(ctx context.Context, at string) error) {
	f.Lock()
	defer f.Unlock()
	f.BeforeWalk, f.BeforeOpen = walking, opening
}

// TakeOpenCount returns the number of Opens since it was last called.
func (f *Fake) TakeOpenCount() (total int) {
	f.Lock()
	defer f.Unlock()
	for _, n := range f.opens {
		total += n
	}
	f.opens = map[string]int{}
	return total
}

// Calls returns the number of calls so far.
func (f *Fake) Calls(call Call) int {
	f.Lock()
	defer f.Unlock()
	return f.calls[call]
}

// ReadersRequested returns the number of items whose readers were requested.
func (f *Fake) ReadersRequested() int {
	f.Lock()
	defer f.Unlock()
	return f.readersRequested
}

// Item returns the item of a file as a walk does. The caller holds the lock.
func (f *Fake) Item(path string) connectors.Item { return f.item(f.idAt(path)) }

func (f *Fake) item(id string) connectors.Item {
	file := f.files[id]
	path := id
	if file.Path != "" {
		path = file.Path
	}
	size := file.ReportedSize
	if size == 0 {
		size = int64(len(file.Content))
	}
	modified := file.Modified
	if modified.IsZero() {
		modified = file.Created
	}
	return connectors.Item{
		ID: id, Path: path, Container: f.containerOf(id), Version: file.Version, MediaType: file.MediaType, Size: size, CreatedAt: file.Created.UTC(), ModifiedAt: modified.UTC(),
		URL: "https://example.com/" + path, Metadata: file.Metadata,
	}
}

// Items returns all items, sorted by id. The caller holds the lock.
func (f *Fake) Items() []connectors.Item {
	items := make([]connectors.Item, 0, len(f.files))
	for _, id := range f.sorted() {
		items = append(items, f.item(id))
	}
	return items
}

func (f *Fake) sorted() []string { return slices.Sorted(maps.Keys(f.files)) }

// Abilities are the optional abilities of a [Fake].
type Abilities struct {
	PartialWalk      bool                 // a walk does not list every item
	Resolves         bool                 // it is a [connectors.Resolver]
	ListsPermissions bool                 // it is a [connectors.PermissionLister] and [connectors.GroupLister]
	Feeds            bool                 // it is a [connectors.Feeder]
	Confirms         bool                 // deletions are confirmed; needs Resolves
	RateLimit        connectors.RateLimit // applies to each call
}

// Kind returns a kind whose sources are the fake.
func (f *Fake) Kind(name string, a Abilities) connectors.Kind {
	return connectors.Kind{
		Name: name, Title: "Fake", Description: "A source that does what a test asks for.", Category: connectors.CategoryFiles,
		Enumerates: !a.PartialWalk, Feeds: a.Feeds, ConfirmDeletions: a.Confirms, Permissions: a.ListsPermissions, RateLimit: a.RateLimit,
		Credentials: []connectors.Option{{Name: "token", Title: "Token", Help: "Anything.", Type: connectors.TypeString, Sensitive: true, Example: "x"}},
		New: func(ctx context.Context, s connectors.Settings) (connectors.Source, error) {
			f.Lock()
			f.Settings = s
			f.Unlock()
			if _, err := f.beginCall(ctx, OnNew, ""); err != nil {
				return nil, err
			}
			return a.source(fakeSource{fake: f, settings: s}), nil
		},
	}
}
