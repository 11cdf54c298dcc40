package syncer_test

import (
	"context"
	"fmt"
	"io"
	"maps"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"magpie/connectors"
)

// script is a source that does what a test asks for. Its items are named by
// their paths.
type script struct {
	mu        sync.Mutex
	files     map[string]file
	pageSize  int
	opens     map[string]int
	walks     int
	closes    int
	readers   map[string]connectors.Readers
	groups    []connectors.Group // one on each page
	directory error              // what the directory answers in place of its last page
	refusing  error              // to say who may see what
	asked     int                // items whose readers were asked for

	// walking and opening, when set, are asked before each Walk and Open.
	walking func(ctx context.Context, cursor string) error
	opening func(ctx context.Context, path string) error
	// reshape changes a page on its way out.
	reshape  func(page connectors.Page) connectors.Page
	settings connectors.Settings // of the last source that was opened
}

type file struct {
	content, version string
	media            string
	size             int64 // 0 is the content's
	created          time.Time
	metadata         map[string]string
}

func newScript() *script {
	return &script{files: map[string]file{}, opens: map[string]int{}, readers: map[string]connectors.Readers{}, pageSize: 100}
}

// set puts a Markdown file of a version there.
func (s *script) set(path, version, content string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.files[path] = file{content: content, version: version}
}

// fill puts n Markdown files there: doc-0000.md and so on.
func (s *script) fill(n int, version string) {
	for i := range n {
		s.set(fmt.Sprintf("doc-%04d.md", i), version, fmt.Sprintf("# Document %d\n\nVersion %s of the text of document %d.\n", i, version, i))
	}
}

func (s *script) remove(paths ...string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, path := range paths {
		delete(s.files, path)
	}
}

func (s *script) change(path string, change func(*file)) {
	s.mu.Lock()
	defer s.mu.Unlock()
	f := s.files[path]
	change(&f)
	s.files[path] = f
}

// hooks sets what is asked before walks and opens.
func (s *script) hooks(walking, opening func(ctx context.Context, at string) error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.walking, s.opening = walking, opening
}

// opened counts the Opens since the last call.
func (s *script) opened() (total int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, n := range s.opens {
		total += n
	}
	s.opens = map[string]int{}
	return total
}

func (s *script) item(path string) connectors.Item {
	f := s.files[path]
	size := f.size
	if size == 0 {
		size = int64(len(f.content))
	}
	return connectors.Item{
		ID: path, Path: path, Version: f.version, MediaType: f.media, Size: size, CreatedAt: f.created, ModifiedAt: f.created,
		URL: "https://example.com/" + path, Metadata: f.metadata,
	}
}

// walker is an opened script.
type walker struct{ *script }

func (w walker) Walk(ctx context.Context, cursor string) (connectors.Page, error) {
	w.mu.Lock()
	walking := w.walking
	w.walks++
	w.mu.Unlock()
	if walking != nil {
		if err := walking(ctx, cursor); err != nil {
			return connectors.Page{}, err
		}
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	page := connectors.Page{Next: cursor, Done: true}
	for _, path := range slices.Sorted(maps.Keys(w.files)) {
		if path <= cursor {
			continue
		}
		if len(page.Items) == w.pageSize {
			page.Done = false
			break
		}
		page.Items = append(page.Items, w.item(path))
		page.Next = path
	}
	if w.reshape != nil {
		page = w.reshape(page)
	}
	return page, ctx.Err()
}

func (w walker) Open(ctx context.Context, item connectors.Item) (io.ReadCloser, error) {
	w.mu.Lock()
	opening := w.opening
	w.opens[item.ID]++
	w.mu.Unlock()
	if opening != nil {
		if err := opening(ctx, item.ID); err != nil {
			return nil, err
		}
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	f, ok := w.files[item.ID]
	if !ok {
		return nil, fmt.Errorf("%s: %w", item.ID, connectors.ErrNotFound)
	}
	return io.NopCloser(strings.NewReader(f.content)), nil
}

func (w walker) Check(context.Context) error { return nil }

func (w walker) Close() error {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.closes++
	return nil
}

// resolver can look paths up as well.
type resolver struct{ walker }

func (r resolver) Resolve(_ context.Context, paths []string) (found []connectors.Item, missing []string, err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, path := range paths {
		if _, ok := r.files[path]; ok {
			found = append(found, r.item(path))
		} else {
			missing = append(missing, path)
		}
	}
	return found, missing, nil
}

// lister can say who may see what as well.
type lister struct{ walker }

func (l lister) Readers(ctx context.Context, items []connectors.Item) (map[string]connectors.Readers, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.asked += len(items)
	if l.refusing != nil {
		return nil, l.refusing
	}
	readers := make(map[string]connectors.Readers)
	for _, item := range items {
		if r, ok := l.readers[item.ID]; ok {
			readers[item.ID] = r
		}
	}
	return readers, ctx.Err()
}

// Groups makes the lister a directory.
func (l lister) Groups(ctx context.Context, cursor string) (connectors.GroupPage, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	at, _ := strconv.Atoi(cursor)
	if l.directory != nil && at+1 >= len(l.groups) {
		return connectors.GroupPage{}, l.directory
	}
	if at >= len(l.groups) {
		return connectors.GroupPage{Done: true}, nil
	}
	return connectors.GroupPage{Groups: l.groups[at : at+1], Next: strconv.Itoa(at + 1), Done: at+1 == len(l.groups)}, ctx.Err()
}

// belongs says who belongs to a group.
func (s *script) belongs(group string, members ...string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.groups = slices.DeleteFunc(s.groups, func(g connectors.Group) bool { return g.Principal == group })
	if len(members) > 0 {
		s.groups = append(s.groups, connectors.Group{Principal: group, Name: group, Members: members})
	}
}

// directoryFails makes every reading of groups end in an error.
func (s *script) directoryFails(err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.directory = err
}

// share says who may see a file; nobody at all sees everything.
func (s *script) share(path string, principals ...string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.readers[path] = connectors.Readers{Everyone: len(principals) == 0, Principals: principals}
}

// kinds are the ways in which the script can be a connector.
func (s *script) kinds() (*connectors.Registry, error) {
	kind := func(name string, bounded bool, open func() connectors.Source) connectors.Kind {
		return connectors.Kind{
			Name: name, Title: name, Description: name, Bounded: bounded,
			Credentials: []connectors.Option{{Name: "token", Title: "Token", Type: connectors.TypeString, Sensitive: true}},
			New: func(_ context.Context, settings connectors.Settings) (connectors.Source, error) {
				s.mu.Lock()
				defer s.mu.Unlock()
				s.settings = settings
				return open(), nil
			},
		}
	}
	sharing := kind("sharing", true, func() connectors.Source { return lister{walker{s}} })
	sharing.Permissions = true
	return connectors.NewRegistry(
		sharing,
		kind("scripted", true, func() connectors.Source { return walker{s} }),
		kind("resolving", true, func() connectors.Source { return resolver{walker{s}} }),
		kind("unbounded", false, func() connectors.Source { return walker{s} }),
	)
}
