package connectortest

import (
	"cmp"
	"context"
	"fmt"
	"strconv"
	"strings"

	"github.com/magpie-search/magpie/connectors"
)

// A fakeChange is a change of a file, or of its readers.
type fakeChange struct {
	id      string
	readers bool
}

// note adds a change to the feed.
func (f *Fake) note(id string, readers bool) {
	f.changes = append(f.changes, fakeChange{id, readers})
}

// idAt returns the id of the file at a path, or the path if there is none.
func (f *Fake) idAt(path string) string {
	if file, ok := f.files[path]; !f.moved || path == "" || ok && file.Path == "" {
		return path
	}
	for id, file := range f.files {
		if file.Path == path {
			return id
		}
	}
	return path
}

// containerOf returns the container of a file.
func (f *Fake) containerOf(id string) string {
	container := f.files[id].Container
	if folder, _, inside := strings.Cut(id, "/"); inside && container == "" && f.FolderContainers {
		container = folder
	}
	return container
}

// Move moves a file, or a folder with all files in it. The ids stay.
func (f *Fake) Move(from, to string) {
	f.Lock()
	defer f.Unlock()
	for _, id := range f.sorted() {
		file := f.files[id]
		path := f.item(id).Path
		rest, inside := strings.CutPrefix(path, from)
		if !inside || rest != "" && !strings.HasPrefix(rest, "/") {
			continue
		}
		if file.Path = to + rest; file.Path == id {
			file.Path = ""
		}
		f.files[id], f.moved = file, true
		f.note(id, false)
	}
}

// SetContainer puts files into a container.
func (f *Fake) SetContainer(container string, paths ...string) {
	for _, path := range paths {
		f.Change(path, func(file *File) { file.Container = container })
	}
}

// SetIncomplete makes containers that walks and the feed do not list, as a locked
// site. "" stands for a search that omits everything. It replaces earlier ones.
func (f *Fake) SetIncomplete(containers ...string) {
	f.Lock()
	defer f.Unlock()
	unlocked := f.incomplete
	f.incomplete = map[string]bool{}
	for _, container := range containers {
		f.incomplete[container] = true
		delete(unlocked, container)
	}
	for _, id := range f.sorted() {
		if unlocked[f.containerOf(id)] {
			f.note(id, false) // its changes were not listed meanwhile
		}
	}
}

// ExpireTokens makes all tokens so far expire.
func (f *Fake) ExpireTokens() {
	f.Lock()
	defer f.Unlock()
	f.changes = append(f.changes, fakeChange{})
	f.oldest = len(f.changes)
}

// tokenPrefix begins the tokens of the feed; the number of changes follows.
const tokenPrefix = "at-"

// A fakeFeeder implements [connectors.Feeder].
type fakeFeeder struct{ of fakeSource }

// Changes implements [connectors.Feeder].
func (s fakeFeeder) Changes(ctx context.Context, token string) (connectors.ChangePage, error) {
	f := s.of.fake
	due, err := f.beginCall(ctx, OnChanges, token)
	if err != nil {
		return connectors.ChangePage{}, err
	}
	f.Lock()
	feeding := f.BeforeChanges
	f.Unlock()
	if feeding != nil {
		if err := feeding(ctx, token); err != nil {
			return connectors.ChangePage{}, err
		}
	}
	f.Lock()
	defer f.Unlock()
	if token == "" {
		return connectors.ChangePage{Next: formatToken(len(f.changes))}, ctx.Err()
	}
	text, found := strings.CutPrefix(token, tokenPrefix)
	at, err := strconv.Atoi(text)
	switch {
	case !found || err != nil || at < 0 || at > len(f.changes) || formatToken(at) != token:
		return connectors.ChangePage{Expired: true}, ctx.Err()
	case at < f.oldest:
		return connectors.ChangePage{Expired: true}, ctx.Err()
	}
	page := f.changePage(at)
	if due.RepeatCursor {
		page.Next, page.More = token, true
	}
	if f.ReshapeChanges != nil {
		page = f.ReshapeChanges(page)
	}
	return page, ctx.Err()
}

func formatToken(at int) string { return fmt.Sprintf("%s%d", tokenPrefix, at) }

// changePage returns the changes from one on. Files are given as they are now. The
// caller holds the lock.
func (f *Fake) changePage(at int) connectors.ChangePage {
	end := min(at+cmp.Or(f.FeedPageSize, f.PageSize), len(f.changes))
	page := connectors.ChangePage{Next: formatToken(end), More: end < len(f.changes)}
	seen := map[fakeChange]bool{}
	for _, change := range f.changes[at:end] {
		if change.id == "" || seen[change] || f.incomplete[f.containerOf(change.id)] {
			continue
		}
		seen[change] = true
		switch _, exists := f.files[change.id]; {
		case !exists:
			page.Gone = append(page.Gone, change.id)
		case change.readers:
			page.Permissions = append(page.Permissions, change.id)
		default:
			page.Items = append(page.Items, f.item(change.id))
		}
	}
	return page
}

// source returns a source with the abilities.
func (a Abilities) source(s fakeSource) connectors.Source {
	switch {
	case a.ListsPermissions && a.Resolves && a.Feeds:
		return struct {
			fakeSource
			fakeResolver
			fakeLister
			fakeFeeder
		}{s, fakeResolver{s}, fakeLister{s}, fakeFeeder{s}}
	case a.ListsPermissions && a.Resolves:
		return struct {
			fakeSource
			fakeResolver
			fakeLister
		}{s, fakeResolver{s}, fakeLister{s}}
	case a.Resolves && a.Feeds:
		return struct {
			fakeSource
			fakeResolver
			fakeFeeder
		}{s, fakeResolver{s}, fakeFeeder{s}}
	case a.ListsPermissions && a.Feeds:
		return struct {
			fakeSource
			fakeLister
			fakeFeeder
		}{s, fakeLister{s}, fakeFeeder{s}}
	case a.ListsPermissions:
		return struct {
			fakeSource
			fakeLister
		}{s, fakeLister{s}}
	case a.Resolves:
		return struct {
			fakeSource
			fakeResolver
		}{s, fakeResolver{s}}
	case a.Feeds:
		return struct {
			fakeSource
			fakeFeeder
		}{s, fakeFeeder{s}}
	}
	return s
}
