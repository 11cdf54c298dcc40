package confluence

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"slices"
	"strings"
	"sync"

	"github.com/magpie-search/magpie/connectors"
	"github.com/magpie-search/magpie/connectors/restapi"
)

var errCursor = connectors.Fatal(errors.New("this is no cursor of a walk"))

// source is an open site.
type source struct {
	api    *api
	place  place
	s      connectors.Settings
	wants  wants
	notes  connectors.State // nil while a connector is only being tested
	ofText bool             // whether permissions are imported

	mutex     sync.Mutex // of what follows
	known     bool       // the account was accepted
	inScope   []space    // the spaces of the walk, by key
	people    people
	warnings  []string
	warned    map[string]bool
	above     map[string][]ancestor   // of pages that were seen, by id
	spaceOf   map[string]string       // key of their space
	readers   map[string]*restriction // of pages
	spaceRead map[string]spaceReaders // of spaces, by key
	mailOf    map[string]string       // by user, "" for one that hides it
	membersOf map[string][]string     // ids, by group
	noted     map[string]bool         // derived groups whose lists are kept
}

func open(dial connectors.Dial, gateway string, s connectors.Settings) (*source, error) {
	where, err := siteOf(s)
	if err != nil {
		return nil, connectors.Fatal(err)
	}
	permissions, _ := s.IncludesPermissions()
	made := &source{
		api: &api{site: where, gateway: gateway, dial: dial, s: s}, s: s, notes: s.State, ofText: permissions,
		wants: wants{
			files: s.Boolean(optionAttachments), comments: s.Boolean(optionComments), archived: s.Boolean(optionArchived), restrictions: permissions,
		},
		people: people{}, warned: map[string]bool{}, spaceRead: map[string]spaceReaders{}, mailOf: map[string]string{}, membersOf: map[string][]string{}, noted: map[string]bool{},
	}
	made.forget()
	if where.cloud {
		made.place = &cloud{api: made.api, wants: made.wants, parents: map[string]parent{}, keys: map[string]string{}}
	} else {
		made.place = &center{api: made.api, wants: made.wants}
	}
	return made, nil
}

// forget drops what another walk has to ask for anew.
func (s *source) forget() {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	s.inScope = nil
	s.above, s.spaceOf, s.readers = map[string][]ancestor{}, map[string]string{}, map[string]*restriction{}
	s.spaceRead = map[string]spaceReaders{}
	if c, ok := s.place.(*cloud); ok {
		c.mutex.Lock()
		defer c.mutex.Unlock()
		clear(c.parents)
	}
}

// warn notes what the next page of the walk is to say, once.
func (s *source) warn(text string) {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	if !s.warned[text] {
		s.warned[text] = true
		s.warnings = append(s.warnings, text)
	}
}

// account makes sure that the site knows who asks. Both deployments answer
// whom they do not know with what everybody may see, which may be nothing.
func (s *source) account(ctx context.Context) error {
	s.mutex.Lock()
	known := s.known
	s.mutex.Unlock()
	if known {
		return nil
	}
	var me user
	if err := s.api.get(ctx, "rest/api/user/current", nil, &me); err != nil {
		if errors.Is(err, connectors.ErrNotFound) {
			return connectors.Fatal(fmt.Errorf("there is no Confluence at config.%s; correct the address, with the path that pages have in front of /display or /spaces", optionURL))
		}
		return err
	}
	if me.Type == "anonymous" || me.id() == "" {
		return connectors.NeedsAuth(errors.New("the wiki does not know the account; enter the credentials again"))
	}
	s.mutex.Lock()
	defer s.mutex.Unlock()
	s.known = true
	return nil
}

// scope returns the spaces that belong to the connector, by key. It is an error
// when one that is named cannot be seen: that must not look like an empty one.
func (s *source) scope(ctx context.Context) ([]space, error) {
	s.mutex.Lock()
	found := s.inScope
	s.mutex.Unlock()
	if found != nil {
		return found, nil
	}
	if err := s.account(ctx); err != nil {
		return nil, err
	}
	named := s.s.Strings(optionSpaces)
	all, err := s.place.spaces(ctx, named)
	if err != nil {
		return nil, err
	}
	if found, err = s.choose(named, all); err != nil {
		return nil, err
	}
	slices.SortFunc(found, func(a, b space) int { return strings.Compare(a.key, b.key) })
	found = slices.CompactFunc(found, func(a, b space) bool { return a.key == b.key })
	s.mutex.Lock()
	defer s.mutex.Unlock()
	s.inScope = found
	return found, nil
}

func (s *source) choose(named []string, all []space) ([]space, error) {
	found := []space{}
	if len(named) == 0 {
		if len(all) == 0 {
			return nil, connectors.NeedsAuth(errors.New("the account does not see any space; give it the right to view those that are to be found"))
		}
		for _, one := range all {
			if (!one.personal || s.s.Boolean(optionPersonal)) && (!one.archived || s.wants.archived) {
				found = append(found, one)
			}
		}
		return found, nil
	}
	for _, key := range named {
		at := slices.IndexFunc(all, func(one space) bool { return strings.EqualFold(one.key, key) })
		switch {
		case at < 0:
			return nil, connectors.NeedsAuth(fmt.Errorf("the space %q does not exist, or the account may not see it; give it the right to view the space, or take it out of config.%s", key, optionSpaces))
		case all[at].archived && !s.wants.archived:
			return nil, connectors.Fatal(fmt.Errorf("the space %q is archived; set config.%s, or take it out of config.%s", key, optionArchived, optionSpaces))
		}
		found = append(found, all[at])
	}
	return found, nil
}

// Check implements [connectors.Source].
func (s *source) Check(ctx context.Context) error {
	s.forget()
	found, err := s.scope(ctx)
	if err != nil || len(found) == 0 {
		return err
	}
	pages, _, err := s.place.list(ctx, found[0], kindPage, "")
	if err != nil {
		return err
	}
	if clause := s.s.String(optionCQL); clause != "" {
		if len(pages) == 0 {
			pages = []*page{{id: "1"}}
		}
		if _, err := s.api.matching(ctx, pages[:1], clause); err != nil {
			return err
		}
	}
	if !s.ofText {
		return nil
	}
	if _, err := s.spaceReaders(ctx, found[0]); err != nil {
		return fmt.Errorf("read who may see the space %s: %w", found[0].key, err)
	}
	if _, _, err := s.place.groups(ctx, 0); err != nil {
		return fmt.Errorf("read the groups: %w", err)
	}
	return nil
}

// Close implements [connectors.Source].
func (s *source) Close() error {
	s.api.close()
	return nil
}

// named fills in what the people are called that texts refer to.
func (s *source) named(ctx context.Context, texts ...string) (people, error) {
	ids := mentions(texts...)
	s.mutex.Lock()
	var missing []string
	for id := range ids {
		if _, known := s.people[id]; !known {
			missing = append(missing, id)
		}
	}
	s.mutex.Unlock()
	if len(missing) > 0 {
		slices.Sort(missing)
		found := people{}
		if err := s.place.names(ctx, missing, found); err != nil {
			if status := restapi.StatusOf(err); status != 403 && status != 404 {
				return nil, err
			}
			s.warn("The account may not read the names of people; mentions of them read @user.")
		}
		s.mutex.Lock()
		for _, id := range missing {
			s.people[id] = found[id]
		}
		s.mutex.Unlock()
	}
	names := people{}
	s.mutex.Lock()
	defer s.mutex.Unlock()
	for id := range ids {
		names[id] = s.people[id]
	}
	return names, nil
}

// own is a link that the site gave as a path below it.
func (a *api) own(link string) (string, url.Values, error) {
	address, err := url.Parse(link)
	if err != nil || link == "" {
		return "", nil, connectors.ErrNotFound
	}
	if address.Host != "" {
		base, _ := url.Parse(a.site.base)
		if address.Host != base.Host || address.Scheme != base.Scheme {
			return "", nil, errors.New("the wiki named a place for the content that is not its own")
		}
		return address.String(), nil, nil
	}
	return address.EscapedPath(), address.Query(), nil
}
