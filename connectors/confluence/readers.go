package confluence

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"net/url"
	"slices"
	"strings"

	"github.com/magpie-search/magpie/connectors"
)

// Who may read a page is on the list of its space, on the page's own list, and
// on those of all the pages above it, as far as they have any. Principals are
// any of which is enough, so where more than one list is left, a group stands
// for those who are on all of them: derivedPrefix and a hash of the lists. The
// lists are noted, and Groups tells the members: who leaves one of the groups
// loses the page with the next look at the groups, without a look at the page.
const (
	derivedPrefix = "restriction:"
	derivedNotes  = "readers/"
)

type spaceReaders struct {
	everyone bool
	list     restriction
}

// Readers implements [connectors.PermissionLister].
func (s *source) Readers(ctx context.Context, items []connectors.Item) (map[string]connectors.Readers, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	spaces, err := s.scope(ctx)
	if err != nil {
		return nil, err
	}
	found := make(map[string]connectors.Readers, len(items))
	byPage := make(map[string]*connectors.Readers)
	for _, item := range items {
		id, err := s.pageOf(ctx, item)
		if err != nil {
			return nil, err
		}
		if id == "" {
			continue
		}
		readers, known := byPage[id]
		if !known {
			if readers, err = s.readersOf(ctx, spaces, item, id); err != nil {
				return nil, err
			}
			byPage[id] = readers
		}
		if readers != nil {
			found[item.ID] = *readers
		}
	}
	return found, nil
}

// pageOf is the id of the page that an item is, or is attached to; "" for none.
func (s *source) pageOf(ctx context.Context, item connectors.Item) (string, error) {
	kind, id := parseID(item.ID)
	switch {
	case kind == "":
		return "", nil
	case kind != strings.TrimSuffix(prefixFile, ":"):
		return id, nil
	case item.Metadata[metaPage] != "":
		return item.Metadata[metaPage], nil
	}
	f, err := s.place.file(ctx, id)
	switch {
	case errors.Is(err, connectors.ErrNotFound):
		return "", nil
	case err != nil:
		return "", err
	}
	return f.page, nil
}

// readersOf are those of one page; nil where they cannot be told, which is for
// nobody to see.
func (s *source) readersOf(ctx context.Context, spaces []space, item connectors.Item, id string) (*connectors.Readers, error) {
	s.mutex.Lock()
	above, known := s.above[id]
	key := s.spaceOf[id]
	s.mutex.Unlock()
	if !known {
		kind, _ := parseID(item.ID)
		if kind == kindPage || kind == kindBlog {
			_, err := s.lookUp(ctx, kind, id)
			if err != nil {
				return nil, hidden(err)
			}
		} else if _, err := s.holder(ctx, id); err != nil {
			return nil, hidden(err)
		}
		s.mutex.Lock()
		above, key = s.above[id], s.spaceOf[id]
		s.mutex.Unlock()
	}
	at := slices.IndexFunc(spaces, func(one space) bool { return one.key == key })
	if at < 0 {
		return nil, nil //nolint:nilnil // documented: nobody
	}
	in, err := s.spaceReaders(ctx, spaces[at])
	if err != nil {
		return nil, err
	}
	var lists []restriction
	if !in.everyone {
		if in.list.empty() {
			return nil, nil //nolint:nilnil // documented: nobody
		}
		lists = append(lists, in.list)
	}
	for _, one := range append(slices.Clone(above), ancestor{id: id, kind: kindPage}) {
		r, err := s.restrictionOf(ctx, one)
		if err != nil {
			return nil, hidden(err)
		}
		if !r.empty() {
			lists = append(lists, r)
		}
	}
	return s.onAll(ctx, lists)
}

// hidden leaves of an error only what is not about one page.
func hidden(err error) error {
	if errors.Is(err, connectors.ErrNotFound) {
		return nil
	}
	return err
}

func (s *source) restrictionOf(ctx context.Context, of ancestor) (restriction, error) {
	s.mutex.Lock()
	known := s.readers[of.id]
	s.mutex.Unlock()
	if known != nil {
		return *known, nil
	}
	found, err := s.api.restriction(ctx, of.id)
	if errors.Is(err, connectors.ErrNotFound) && of.kind != kindPage && of.kind != "" {
		err = nil // a folder that has no such lists
	}
	if err != nil {
		return restriction{}, err
	}
	s.mutex.Lock()
	defer s.mutex.Unlock()
	s.readers[of.id] = &found
	return found, nil
}

// spaceReaders are those of a space. That everybody sees it counts only where
// somebody without credentials is shown it indeed: the site's own settings can
// forbid what the space allows.
func (s *source) spaceReaders(ctx context.Context, of space) (spaceReaders, error) {
	s.mutex.Lock()
	found, known := s.spaceRead[of.key]
	s.mutex.Unlock()
	if known {
		return found, nil
	}
	list, err := s.place.readersOf(ctx, of)
	if err != nil {
		return spaceReaders{}, err
	}
	if at := slices.Index(list.Users, anonymous); at >= 0 {
		list.Users = slices.Delete(list.Users, at, at+1)
		path := "rest/api/space/" + url.PathEscape(of.key)
		if s.api.site.cloud {
			path = "api/v2/spaces/" + url.PathEscape(of.id)
		}
		if found.everyone, err = s.api.visible(ctx, path, of); err != nil {
			return spaceReaders{}, err
		}
	}
	found.list = list
	if !found.everyone && list.empty() {
		s.warn("Confluence does not name anybody who may see the space " + of.key + "; nobody finds its pages.")
	}
	s.mutex.Lock()
	defer s.mutex.Unlock()
	s.spaceRead[of.key] = found
	return found, nil
}

// onAll are those who are on each of some lists.
func (s *source) onAll(ctx context.Context, lists []restriction) (*connectors.Readers, error) {
	lists = needed(lists)
	switch len(lists) {
	case 0:
		return &connectors.Readers{Everyone: true}, nil
	case 1:
		found := &connectors.Readers{}
		for _, g := range lists[0].Groups {
			if g == nobody {
				continue
			}
			found.Principals = append(found.Principals, "group:"+g)
		}
		people, err := s.addresses(ctx, lists[0].Users)
		found.Principals = append(found.Principals, people...)
		return found, err
	}
	text, err := json.Marshal(lists)
	if err != nil {
		return nil, err
	}
	sum := sha256.Sum256(text)
	name := hex.EncodeToString(sum[:12])
	if s.notes == nil {
		people, err := s.intersection(ctx, lists)
		return &connectors.Readers{Principals: people}, err
	}
	s.mutex.Lock()
	noted := s.noted[name]
	s.mutex.Unlock()
	if !noted {
		if err := s.notes.Put(ctx, derivedNotes+name, text); err != nil {
			return nil, err
		}
		s.mutex.Lock()
		s.noted[name] = true
		s.mutex.Unlock()
	}
	return &connectors.Readers{Principals: []string{"group:" + derivedPrefix + name}}, nil
}

// needed are the lists without those that another one is a part of, in an order
// of their own.
func needed(lists []restriction) []restriction {
	var kept []restriction
	for i, one := range lists {
		if !slices.ContainsFunc(lists[:i], func(other restriction) bool { return other.within(one) }) &&
			!slices.ContainsFunc(lists[i+1:], func(other restriction) bool { return other.within(one) && !one.within(other) }) {
			kept = append(kept, one)
		}
	}
	slices.SortFunc(kept, func(a, b restriction) int {
		if order := slices.Compare(a.Users, b.Users); order != 0 {
			return order
		}
		return slices.Compare(a.Groups, b.Groups)
	})
	return kept
}

// addresses are principals of people, of those whose mail address is told.
func (s *source) addresses(ctx context.Context, ids []string) ([]string, error) {
	s.mutex.Lock()
	var missing []string
	for _, id := range ids {
		if _, known := s.mailOf[id]; !known && id != nobody {
			missing = append(missing, id)
		}
	}
	s.mutex.Unlock()
	if len(missing) > 0 {
		found, err := s.place.mails(ctx, missing)
		if err != nil {
			return nil, err
		}
		s.mutex.Lock()
		for _, id := range missing {
			s.mailOf[id] = strings.ToLower(strings.TrimSpace(found[id]))
		}
		s.mutex.Unlock()
	}
	var made []string
	without := false
	s.mutex.Lock()
	for _, id := range ids {
		switch mail := s.mailOf[id]; {
		case id == nobody:
		case strings.Contains(mail, "@"):
			made = append(made, "user:"+mail)
		case mail != program:
			without = true
		}
	}
	s.mutex.Unlock()
	if without {
		s.warn(hiddenAddresses)
	}
	slices.Sort(made)
	return slices.Compact(made), nil
}

// program takes the place of the mail address of an account that is no person's.
const program = "app"

const hiddenAddresses = "Confluence hides the mail addresses of some people from the account; they find nothing that is not for everyone until their profiles show the address."
