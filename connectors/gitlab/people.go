package gitlab

import (
	"context"
	"fmt"
	"maps"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/magpie-search/magpie/connectors"
)

const (
	peoplePrefix   = "people/"
	peopleDoneKey  = "people-done"
	maxPeoplePages = 5000
)

// A person is an account at GitLab.
type person struct {
	ID          int64   `json:"id"`
	State       string  `json:"state"`
	Email       *string `json:"email"` // for administrators
	PublicEmail string  `json:"public_email"`
	Confirmed   *string `json:"confirmed_at"`
	External    *bool   `json:"external"`
	Bot         bool    `json:"bot"`
	IsAdmin     bool    `json:"is_admin"`
}

// addresses returns the principals of the addresses that GitLab has verified.
func (p person) addresses() []string {
	if p.State != "" && p.State != "active" || p.Bot {
		return nil
	}
	var found []string
	if p.Email != nil && p.Confirmed != nil && *p.Confirmed != "" {
		found = append(found, *p.Email)
	}
	return principals(append(found, p.PublicEmail)...)
}

func principals(addresses ...string) (found []string) {
	for _, text := range addresses {
		text = strings.ToLower(strings.TrimSpace(text))
		if name, domain, ok := strings.Cut(text, "@"); ok && name != "" && strings.Contains(domain, ".") && !strings.ContainsAny(text, " <>,") {
			found = append(found, "user:"+text)
		}
	}
	slices.Sort(found)
	return slices.Compact(found)
}

// A directory has the addresses of people during one listing of groups.
type directory struct {
	source   *source
	complete bool // all people are listed
	known    map[int64][]string
	inside   map[int64]bool // those who are known not to be external
	members  map[int64]bool // whether the address of a member is known
}

// people returns the directory of a listing of groups, a new one for its first page.
// GitLab lists addresses to administrators. Other accounts see the public one of each
// person by a request of its own; those are kept until the listing ends, so that a
// listing that was interrupted by a rate limit goes on.
func (s *source) people(ctx context.Context, first bool) (*directory, error) {
	s.mutex.Lock()
	d := s.directory
	s.mutex.Unlock()
	if d != nil && !first {
		return d, nil
	}
	d = &directory{source: s, known: map[int64][]string{}, inside: map[int64]bool{}, members: map[int64]bool{}}
	if first && s.settings.State != nil {
		var done bool
		if found, err := connectors.GetJSON(ctx, s.settings.State, peopleDoneKey, &done); err != nil {
			return nil, err
		} else if found && done {
			if err := s.settings.State.DeletePrefix(ctx, "people"); err != nil {
				return nil, fmt.Errorf("forget the addresses of people: %w", err)
			}
		}
	}
	var me person
	if _, err := s.get(ctx, "user", nil, &me, "id"); err != nil && !isHidden(err) {
		return nil, fmt.Errorf("read the account: %w", err)
	}
	if me.IsAdmin {
		if err := d.listAll(ctx); err != nil {
			return nil, err
		}
	} else if me.ID > 0 {
		d.known[me.ID] = me.addresses()
	}
	s.mutex.Lock()
	s.directory = d
	s.mutex.Unlock()
	return d, nil
}

// listAll lists all people. Without addresses in the list, the token has fewer rights
// than the account.
func (d *directory) listAll(ctx context.Context) error {
	query := keyset("active", "true")
	for range maxPeoplePages {
		list, next, err := page[person](ctx, d.source, "users", query)
		if err != nil {
			return fmt.Errorf("list the people of GitLab: %w", err)
		}
		for _, p := range list {
			switch {
			case p.ID <= 0:
				return errInvalid("a person")
			case p.Email == nil:
				clear(d.known)
				clear(d.inside)
				return nil
			}
			d.known[p.ID] = p.addresses()
			d.inside[p.ID] = p.External != nil && !*p.External && !p.Bot
		}
		if next == "" {
			d.complete = true
			return nil
		}
		query, _ = url.ParseQuery(next) // NextLink has parsed it
	}
	return connectors.Fatal(fmt.Errorf("GitLab has more than %d people; leave permissions out", maxPeoplePages*100))
}

// addMember adds the addresses of a member.
func (d *directory) addMember(ctx context.Context, m member) error {
	if found := principals(m.Email); len(found) > 0 {
		d.known[m.ID] = append(slices.Clone(d.known[m.ID]), found...)
		slices.Sort(d.known[m.ID])
		d.known[m.ID] = slices.Compact(d.known[m.ID])
	} else if _, known := d.known[m.ID]; !known && m.PublicEmail != nil {
		d.known[m.ID] = principals(*m.PublicEmail)
	}
	if err := d.lookUp(ctx, m.ID); err != nil {
		return err
	}
	d.members[m.ID] = len(d.known[m.ID]) > 0
	return nil
}

// lookUp reads the public address of a person.
func (d *directory) lookUp(ctx context.Context, id int64) error {
	if _, known := d.known[id]; known || d.complete {
		return nil
	}
	key := peoplePrefix + strconv.FormatInt(id, 10)
	var saved []string
	if found, err := connectors.GetJSON(ctx, d.source.settings.State, key, &saved); err != nil {
		return err
	} else if found {
		d.known[id] = saved
		return nil
	}
	var p person
	if _, err := d.source.get(ctx, "users/"+strconv.FormatInt(id, 10), nil, &p, "id"); err != nil && !isHidden(err) {
		return fmt.Errorf("read the address of a person: %w", err)
	}
	d.known[id] = p.addresses()
	return connectors.PutJSON(ctx, d.source.settings.State, key, d.known[id])
}

// of returns the principals of a person.
func (d *directory) of(id int64) []string { return d.known[id] }

func (d *directory) isInsider(id int64) bool { return d.complete && d.inside[id] }

// insiders returns all people who are not external.
func (d *directory) insiders() (all []string) {
	for _, id := range slices.Sorted(maps.Keys(d.inside)) {
		if d.inside[id] {
			all = append(all, d.known[id]...)
		}
	}
	return all
}

// unknown returns how many members have no known address, of how many.
func (d *directory) unknown() (without, all int) {
	for _, known := range d.members {
		if all++; !known {
			without++
		}
	}
	return without, all
}

// finish says that the listing is complete.
func (d *directory) finish(ctx context.Context) error {
	if d.source.settings.State == nil {
		return nil
	}
	return connectors.PutJSON(ctx, d.source.settings.State, peopleDoneKey, true)
}
