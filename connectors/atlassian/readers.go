package atlassian

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"maps"
	"slices"
	"strings"
	"sync"

	"github.com/magpie-search/magpie/connectors"
)

// An AllowList is a list of people and groups, by the site's ids, each of which is
// allowed to read. An item can have several allow lists; its readers are on all of
// them.
type AllowList struct {
	Users  []string `json:"u,omitempty"`
	Groups []string `json:"g,omitempty"`
}

// UnknownEntry is an entry of an [AllowList] that cannot be identified. A list with
// such entries only is not empty.
const UnknownEntry = "?"

// Empty reports whether a list has no entries.
func (r AllowList) Empty() bool { return len(r.Users)+len(r.Groups) == 0 }

// Normalize sorts a list and removes repeated entries.
func (r *AllowList) Normalize() {
	slices.Sort(r.Users)
	slices.Sort(r.Groups)
	r.Users, r.Groups = slices.Compact(r.Users), slices.Compact(r.Groups)
}

// isSubset reports whether each entry is also an entry of another list.
func (r AllowList) isSubset(of AllowList) bool {
	for _, u := range r.Users {
		if !slices.Contains(of.Users, u) {
			return false
		}
	}
	for _, g := range r.Groups {
		if !slices.Contains(of.Groups, g) {
			return false
		}
	}
	return true
}

// A principal is allowed by itself, so several lists are represented by a derived
// group of those who are on all of them: derivedPrefix and a hash of the lists. The
// lists are in the state and DerivedGroups returns the members. A person who leaves
// one of the groups loses access with the next listing of groups, without a walk.
const (
	derivedPrefix        = "restriction:"
	derivedKeyPrefix     = "readers/"
	derivedGroupsPerPage = 100
)

// Readers makes principals of allow lists. It is safe for concurrent use.
type Readers struct {
	// State keeps the lists of derived groups. It is nil in a connection test.
	State connectors.State
	// Members returns the ids of the members of a group.
	Members func(ctx context.Context, group string) ([]string, error)
	// People returns the principals of those users whose mail addresses are visible,
	// sorted. It ignores [UnknownEntry].
	People func(ctx context.Context, ids []string) ([]string, error)

	mutex sync.Mutex
	saved map[string]bool // derived groups whose lists are in the state
}

// Intersect returns the readers who are on every list. Without lists, that is
// everyone.
func (r *Readers) Intersect(ctx context.Context, lists []AllowList) (connectors.Readers, error) {
	lists = minimalLists(lists)
	switch len(lists) {
	case 0:
		return connectors.Readers{Everyone: true}, nil
	case 1:
		var readers connectors.Readers
		for _, g := range lists[0].Groups {
			if g != UnknownEntry {
				readers.Principals = append(readers.Principals, "group:"+g)
			}
		}
		users, err := r.People(ctx, lists[0].Users)
		readers.Principals = append(readers.Principals, users...)
		return readers, err
	}
	text, err := json.Marshal(lists)
	if err != nil {
		return connectors.Readers{}, err
	}
	hash := sha256.Sum256(text)
	name := hex.EncodeToString(hash[:12])
	if r.State == nil {
		users, err := r.intersect(ctx, lists)
		return connectors.Readers{Principals: users}, err
	}
	r.mutex.Lock()
	saved := r.saved[name]
	r.mutex.Unlock()
	if !saved {
		if err := r.State.Put(ctx, derivedKeyPrefix+name, text); err != nil {
			return connectors.Readers{}, err
		}
		r.mutex.Lock()
		if r.saved == nil {
			r.saved = map[string]bool{}
		}
		r.saved[name] = true
		r.mutex.Unlock()
	}
	return connectors.Readers{Principals: []string{"group:" + derivedPrefix + name}}, nil
}

// minimalLists returns the lists without those that contain another list, in a
// stable order.
func minimalLists(lists []AllowList) []AllowList {
	var minimal []AllowList
	for i, list := range lists {
		if !slices.ContainsFunc(lists[:i], func(other AllowList) bool { return other.isSubset(list) }) &&
			!slices.ContainsFunc(lists[i+1:], func(other AllowList) bool { return other.isSubset(list) && !list.isSubset(other) }) {
			minimal = append(minimal, list)
		}
	}
	slices.SortFunc(minimal, func(a, b AllowList) int {
		if order := slices.Compare(a.Users, b.Users); order != 0 {
			return order
		}
		return slices.Compare(a.Groups, b.Groups)
	})
	return minimal
}

// intersect returns the principals of the people who are on every list.
func (r *Readers) intersect(ctx context.Context, lists []AllowList) ([]string, error) {
	var common map[string]bool
	for _, list := range lists {
		members := make(map[string]bool)
		for _, u := range list.Users {
			members[u] = u != UnknownEntry
		}
		for _, id := range list.Groups {
			if id == UnknownEntry {
				continue
			}
			ids, err := r.Members(ctx, id)
			if err != nil {
				return nil, err
			}
			for _, u := range ids {
				members[u] = true
			}
		}
		if common != nil {
			maps.DeleteFunc(members, func(u string, isMember bool) bool { return !isMember || !common[u] })
		}
		common = members
	}
	var ids []string
	for u, isCommon := range common {
		if isCommon {
			ids = append(ids, u)
		}
	}
	slices.Sort(ids)
	return r.People(ctx, ids)
}

// DerivedGroups returns the derived groups that follow one by its name in the
// state, "" at first. next is "" at the end.
func (r *Readers) DerivedGroups(ctx context.Context, after string) (groups []connectors.Group, next string, err error) {
	if r.State == nil {
		return nil, "", nil
	}
	names, err := r.State.Keys(ctx, derivedKeyPrefix)
	if err != nil {
		return nil, "", err
	}
	from, exact := slices.BinarySearch(names, after)
	if exact {
		from++
	}
	names = names[from:]
	more := len(names) > derivedGroupsPerPage
	for _, name := range names[:min(len(names), derivedGroupsPerPage)] {
		var lists []AllowList
		if _, err := connectors.GetJSON(ctx, r.State, name, &lists); err != nil {
			return nil, "", err
		}
		if len(lists) == 0 {
			continue
		}
		people, err := r.intersect(ctx, lists)
		if err != nil {
			return nil, "", err
		}
		groups = append(groups, connectors.Group{
			Principal: "group:" + derivedPrefix + strings.TrimPrefix(name, derivedKeyPrefix), Name: "Readers of restricted content", Members: people,
		})
		next = name
	}
	if !more {
		next = ""
	}
	return groups, next, nil
}
