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

// Fake is a source that does what a test asks for: items, pages and faults. Its
// items are named by their paths. It may be changed while connectors work with
// it; its fields are set before, or while it is locked.
type Fake struct {
	sync.Mutex

	// PageSize is how many items a page holds: 100.
	PageSize int
	// Latency is how long each call takes.
	Latency time.Duration
	// Walking and Opening, when set, are asked before each Walk and Open.
	Walking, Opening func(ctx context.Context, at string) error
	// Reshape changes a page on its way out. May be nil.
	Reshape func(page connectors.Page) connectors.Page
	// Refusing is what asking for readers comes to; nil for their names.
	Refusing error
	// Settings are those of the source that was opened last.
	Settings connectors.Settings

	files   map[string]File
	readers map[string]connectors.Readers
	// groups are the directory's; directory is what reading it comes to.
	groups    []connectors.Group
	directory error
	faults    []*Fault
	calls     map[Call]int
	opens     map[string]int
	asked     int
}

var _ Fixture = (*Fake)(nil)

// File is one item of a [Fake].
type File struct {
	Content, Version string
	MediaType        string
	Size             int64 // that is told; 0 is the content's
	Created          time.Time
	Modified         time.Time // 0 is Created
	Metadata         map[string]string
}

// NewFake makes an empty source.
func NewFake() *Fake {
	return &Fake{
		PageSize: 100, files: map[string]File{}, readers: map[string]connectors.Readers{},
		calls: map[Call]int{}, opens: map[string]int{},
	}
}

// Set puts a file of a version there.
func (f *Fake) Set(path, version, content string) {
	f.Lock()
	defer f.Unlock()
	f.files[path] = File{Content: content, Version: version}
}

// Fill puts n Markdown files there: doc-0000.md and so on.
func (f *Fake) Fill(n int, version string) {
	for i := range n {
		f.Set(fmt.Sprintf("doc-%04d.md", i), version, fmt.Sprintf("# Document %d\n\nVersion %s of the text of document %d.\n", i, version, i))
	}
}

// Put implements [Fixture]; each content is a version of its own.
func (f *Fake) Put(_ testing.TB, path string, content []byte) {
	f.Lock()
	defer f.Unlock()
	version := fmt.Sprintf("%d-%x", len(content), content[:min(len(content), 16)])
	if old, there := f.files[path]; there && old.Content != string(content) {
		version += "+" + old.Version[:min(len(old.Version), 100)]
	}
	f.files[path] = File{Content: string(content), Version: version}
}

// Delete implements [Fixture].
func (f *Fake) Delete(_ testing.TB, path string) { f.Remove(path) }

// Remove removes files.
func (f *Fake) Remove(paths ...string) {
	f.Lock()
	defer f.Unlock()
	for _, path := range paths {
		delete(f.files, path)
	}
}

// Change changes a file.
func (f *Fake) Change(path string, change func(*File)) {
	f.Lock()
	defer f.Unlock()
	file := f.files[path]
	change(&file)
	f.files[path] = file
}

// Share says who may see a file; nobody at all sees everything.
func (f *Fake) Share(path string, principals ...string) {
	f.Lock()
	defer f.Unlock()
	f.readers[path] = connectors.Readers{Everyone: len(principals) == 0, Principals: principals}
}

// Hooks sets what is asked before walks and opens.
func (f *Fake) Hooks(walking, opening func(ctx context.Context, at string) error) {
	f.Lock()
	defer f.Unlock()
	f.Walking, f.Opening = walking, opening
}

// Opened counts the Opens since it was called last.
func (f *Fake) Opened() (total int) {
	f.Lock()
	defer f.Unlock()
	for _, n := range f.opens {
		total += n
	}
	f.opens = map[string]int{}
	return total
}

// Calls counts the calls of a kind since the beginning.
func (f *Fake) Calls(of Call) int {
	f.Lock()
	defer f.Unlock()
	return f.calls[of]
}

// Asked counts the items whose readers were asked for.
func (f *Fake) Asked() int {
	f.Lock()
	defer f.Unlock()
	return f.asked
}

// Item is what a walk says of a file. The fake must not be changed meanwhile: it
// is for Reshape and for tests that lock it.
func (f *Fake) Item(path string) connectors.Item {
	file := f.files[path]
	size := file.Size
	if size == 0 {
		size = int64(len(file.Content))
	}
	modified := file.Modified
	if modified.IsZero() {
		modified = file.Created
	}
	return connectors.Item{
		ID: path, Path: path, Version: file.Version, MediaType: file.MediaType, Size: size, CreatedAt: file.Created.UTC(), ModifiedAt: modified.UTC(),
		URL: "https://example.com/" + path, Metadata: file.Metadata,
	}
}

func (f *Fake) sorted() []string { return slices.Sorted(maps.Keys(f.files)) }

// Abilities are what a [Fake] can do as a connector.
type Abilities struct {
	Unbounded bool            // a walk does not name every item
	Resolves  bool            // it looks paths up
	Lists     bool            // it knows who may see what
	Pace      connectors.Pace // each call takes a turn
}

// Kind makes a kind whose sources are the fake.
func (f *Fake) Kind(name string, a Abilities) connectors.Kind {
	return connectors.Kind{
		Name: name, Title: "Fake", Description: "A source that does what a test asks for.", Category: connectors.CategoryFiles,
		Bounded: !a.Unbounded, Permissions: a.Lists, Pace: a.Pace,
		Credentials: []connectors.Option{{Name: "token", Title: "Token", Help: "Anything.", Type: connectors.TypeString, Sensitive: true, Example: "x"}},
		New: func(ctx context.Context, s connectors.Settings) (connectors.Source, error) {
			f.Lock()
			f.Settings = s
			f.Unlock()
			if _, err := f.meet(ctx, OnNew, ""); err != nil {
				return nil, err
			}
			source := fakeSource{fake: f, settings: s}
			switch {
			case a.Lists && a.Resolves:
				return struct {
					fakeSource
					fakeResolver
					fakeLister
				}{source, fakeResolver{source}, fakeLister{source}}, nil
			case a.Lists:
				return struct {
					fakeSource
					fakeLister
				}{source, fakeLister{source}}, nil
			case a.Resolves:
				return struct {
					fakeSource
					fakeResolver
				}{source, fakeResolver{source}}, nil
			}
			return source, nil
		},
	}
}
