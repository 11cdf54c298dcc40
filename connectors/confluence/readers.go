package confluence

import (
	"context"
	"errors"
	"net/url"
	"slices"
	"strings"

	"github.com/magpie-search/magpie/connectors"
	"github.com/magpie-search/magpie/connectors/atlassian"
)

// The readers of a page must be on the list of its space, on the page's own list,
// and on those of all pages above it, as far as they have lists.

type spaceReaders struct {
	everyone bool
	list     allowList
}

// Readers implements [connectors.PermissionLister].
func (s *source) Readers(ctx context.Context, items []connectors.Item) (map[string]connectors.Readers, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	spaces, err := s.selectedSpaces(ctx)
	if err != nil {
		return nil, err
	}
	readers := make(map[string]connectors.Readers, len(items))
	byPage := make(map[string]*connectors.Readers) // nil for unknown readers
	for _, item := range items {
		id, err := s.itemPageID(ctx, item)
		if err != nil {
			return nil, err
		}
		if id == "" {
			continue
		}
		if _, cached := byPage[id]; !cached {
			pageReaders, ok, err := s.pageReaders(ctx, spaces, item, id)
			if err != nil {
				return nil, err
			}
			if byPage[id] = nil; ok {
				byPage[id] = &pageReaders
			}
		}
		if pageReaders := byPage[id]; pageReaders != nil {
			readers[item.ID] = *pageReaders
		}
	}
	return readers, nil
}

// itemPageID returns the id of the page that an item is, or is attached to. It
// is "" if there is none.
func (s *source) itemPageID(ctx context.Context, item connectors.Item) (string, error) {
	kind, id := parseID(item.ID)
	switch {
	case kind == "":
		return "", nil
	case kind != strings.TrimSuffix(prefixFile, ":"):
		return id, nil
	case item.Metadata[metaPage] != "":
		return item.Metadata[metaPage], nil
	}
	f, err := s.deployment.file(ctx, id)
	switch {
	case errors.Is(err, connectors.ErrNotFound):
		return "", nil
	case err != nil:
		return "", err
	}
	return f.page, nil
}

// pageReaders returns the readers of a page. It reports false if they are
// unknown, so that nobody may read the page.
func (s *source) pageReaders(ctx context.Context, spaces []space, item connectors.Item, id string) (readers connectors.Readers, ok bool, err error) {
	s.mutex.Lock()
	ancestors, cached := s.ancestors[id]
	key := s.spaceKeys[id]
	s.mutex.Unlock()
	if !cached {
		kind, _ := parseID(item.ID)
		if kind == kindPage || kind == kindBlog {
			if _, err := s.pageByID(ctx, kind, id); err != nil {
				return readers, false, ignoreNotFound(err)
			}
		} else if _, err := s.filePage(ctx, id); err != nil {
			return readers, false, ignoreNotFound(err)
		}
		s.mutex.Lock()
		ancestors, key = s.ancestors[id], s.spaceKeys[id]
		s.mutex.Unlock()
	}
	i := slices.IndexFunc(spaces, func(sp space) bool { return sp.key == key })
	if i < 0 {
		return readers, false, nil
	}
	ofSpace, err := s.spaceReaders(ctx, spaces[i])
	if err != nil {
		return readers, false, err
	}
	var lists []allowList
	if !ofSpace.everyone {
		if ofSpace.list.Empty() {
			return readers, false, nil
		}
		lists = append(lists, ofSpace.list)
	}
	for _, a := range append(slices.Clone(ancestors), ancestor{id: id, kind: kindPage}) {
		list, err := s.restrictionOf(ctx, a)
		if err != nil {
			return readers, false, ignoreNotFound(err)
		}
		if !list.Empty() {
			lists = append(lists, list)
		}
	}
	readers, err = s.readers.Intersect(ctx, lists)
	return readers, err == nil, err
}

func ignoreNotFound(err error) error {
	if errors.Is(err, connectors.ErrNotFound) {
		return nil
	}
	return err
}

func (s *source) restrictionOf(ctx context.Context, a ancestor) (allowList, error) {
	s.mutex.Lock()
	cached := s.restrictions[a.id]
	s.mutex.Unlock()
	if cached != nil {
		return *cached, nil
	}
	list, err := s.client.readRestriction(ctx, a.id)
	if errors.Is(err, connectors.ErrNotFound) && a.kind != kindPage && a.kind != "" {
		err = nil // a folder has no lists
	}
	if err != nil {
		return allowList{}, err
	}
	s.mutex.Lock()
	defer s.mutex.Unlock()
	s.restrictions[a.id] = &list
	return list, nil
}

// spaceReaders returns the readers of a space. A public space is readable by
// everyone only if the site shows it to visitors without credentials, since the
// site's settings can forbid that.
func (s *source) spaceReaders(ctx context.Context, sp space) (spaceReaders, error) {
	s.mutex.Lock()
	readers, cached := s.readersBySpace[sp.key]
	s.mutex.Unlock()
	if cached {
		return readers, nil
	}
	list, err := s.deployment.spaceReaders(ctx, sp)
	if err != nil {
		return spaceReaders{}, err
	}
	if i := slices.Index(list.Users, anonymous); i >= 0 {
		list.Users = slices.Delete(list.Users, i, i+1)
		path := "rest/api/space/" + url.PathEscape(sp.key)
		if s.client.Site.Cloud {
			path = "api/v2/spaces/" + url.PathEscape(sp.id)
		}
		if readers.everyone, err = s.client.IsPublic(ctx, path, sp.key); err != nil {
			return spaceReaders{}, err
		}
	}
	readers.list = list
	if !readers.everyone && list.Empty() {
		s.addWarning("Confluence does not name anybody who may see the space " + sp.key + "; nobody finds its pages.")
	}
	s.mutex.Lock()
	defer s.mutex.Unlock()
	s.readersBySpace[sp.key] = readers
	return readers, nil
}

// addresses returns the principals of the users whose addresses are visible.
func (s *source) addresses(ctx context.Context, ids []string) ([]string, error) {
	s.mutex.Lock()
	var missing []string
	for _, id := range ids {
		if _, cached := s.addressOf[id]; !cached && id != atlassian.UnknownEntry {
			missing = append(missing, id)
		}
	}
	s.mutex.Unlock()
	if len(missing) > 0 {
		addresses, err := s.deployment.addresses(ctx, missing)
		if err != nil {
			return nil, err
		}
		s.mutex.Lock()
		for _, id := range missing {
			s.addressOf[id] = strings.ToLower(strings.TrimSpace(addresses[id]))
		}
		s.mutex.Unlock()
	}
	var principals []string
	hidden := false
	s.mutex.Lock()
	for _, id := range ids {
		switch address := s.addressOf[id]; {
		case id == atlassian.UnknownEntry:
		case strings.Contains(address, "@"):
			principals = append(principals, "user:"+address)
		case address != appAccount:
			hidden = true
		}
	}
	s.mutex.Unlock()
	if hidden {
		s.addWarning(hiddenAddresses)
	}
	slices.Sort(principals)
	return slices.Compact(principals), nil
}

// appAccount replaces the mail address of an account that is not a person's.
const appAccount = "app"

const hiddenAddresses = "Confluence hides the mail addresses of some people from the account; they find nothing that is not for everyone until their profiles show the address."
