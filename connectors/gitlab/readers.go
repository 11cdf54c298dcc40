package gitlab

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/magpie-search/magpie/connectors"
)

var _ connectors.GroupLister = (*source)(nil)

const (
	participantsPrefix = "participants/"
	maxThreadAccess    = 100_000
	issuesByID         = 50
)

// rememberAccess keeps what Readers needs of a listed issue or snippet.
func (s *source) rememberAccess(id string, a threadAccess) {
	if !s.imports {
		return
	}
	s.mutex.Lock()
	defer s.mutex.Unlock()
	if len(s.access) > maxThreadAccess {
		clear(s.access)
	}
	s.access[id] = a
}

func (t thread) access() threadAccess {
	people := []int64{t.Author.ID}
	for _, one := range t.Assignees {
		people = append(people, one.ID)
	}
	slices.Sort(people)
	return threadAccess{Confidential: t.Confidential, People: slices.Compact(people)}
}

func (one snippet) access() threadAccess {
	return threadAccess{Visibility: one.Visibility, People: []int64{one.Author.ID}}
}

// Readers implements [connectors.PermissionLister].
func (s *source) Readers(ctx context.Context, items []connectors.Item) (map[string]connectors.Readers, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	readers := make(map[string]connectors.Readers, len(items))
	if len(items) == 0 {
		return readers, nil
	}
	issues := map[int64][]string{} // the issues to look up, by project
	restricted := map[string]project{}
	for _, item := range items {
		p, kind, rest, err := s.parseID(ctx, item.ID)
		if errors.Is(err, connectors.ErrNotFound) {
			continue
		}
		if err != nil {
			return nil, err
		}
		if kind != kindIssue && kind != kindSnippet {
			readers[item.ID] = p.readers(p.audience(strings.Index(kinds, kind)))
			continue
		}
		restricted[item.ID] = p
		s.mutex.Lock()
		_, known := s.access[item.ID]
		s.mutex.Unlock()
		switch {
		case known:
		case kind == kindIssue:
			issues[p.ID] = append(issues[p.ID], rest)
		default:
			var one snippet
			if _, err := s.get(ctx, p.path("/snippets/"+rest), nil, &one, "id", "updated_at", "visibility"); err != nil && !isHidden(err) {
				return nil, fmt.Errorf("read who may see a snippet of %s: %w", p.Path, err)
			} else if err == nil {
				s.rememberAccess(item.ID, one.access())
			}
		}
	}
	if err := s.readIssueAccess(ctx, issues); err != nil {
		return nil, err
	}
	for id, p := range restricted {
		s.mutex.Lock()
		a, known := s.access[id]
		s.mutex.Unlock()
		if !known {
			continue // nobody
		}
		if strings.HasPrefix(id, p.key()+":"+kindIssue+":") {
			readers[id] = p.issueReaders(a)
		} else {
			readers[id] = p.snippetReaders(a)
		}
		if err := s.saveParticipants(ctx, readers[id]); err != nil {
			return nil, err
		}
	}
	return readers, nil
}

// readIssueAccess looks up issues whose restrictions are not known.
func (s *source) readIssueAccess(ctx context.Context, issues map[int64][]string) error {
	for id, numbers := range issues {
		p := project{ID: id}
		for part := range slices.Chunk(numbers, issuesByID) {
			query := url.Values{"scope": {"all"}, "state": {"all"}, "per_page": {perPage}, "iids[]": part}
			found, _, err := page[thread](ctx, s, p.path("/issues"), query)
			if err != nil && isHidden(err) && !errors.Is(err, errScope) {
				break // nobody reads them
			}
			if err != nil {
				return fmt.Errorf("read who may see issues of the project %d: %w", id, err)
			}
			for _, t := range found {
				if !t.isValid() {
					return errInvalid("an issue")
				}
				s.rememberAccess(p.key()+":"+kindIssue+":"+strconv.Itoa(t.IID), t.access())
			}
		}
	}
	return nil
}

// saveParticipants keeps the participants that readers name for the listing of groups.
func (s *source) saveParticipants(ctx context.Context, r connectors.Readers) error {
	for _, principal := range r.Principals {
		name := strings.TrimPrefix(principal, groupPrefix)
		if _, isParticipant := parseParticipant(name); !isParticipant || s.settings.State == nil {
			continue
		}
		s.mutex.Lock()
		saved := s.participants[name]
		s.mutex.Unlock()
		if saved {
			continue
		}
		if err := s.settings.State.Put(ctx, participantsPrefix+strings.ReplaceAll(name, ":", "/"), []byte("1")); err != nil {
			return fmt.Errorf("keep the participants of an issue: %w", err)
		}
		s.mutex.Lock()
		s.participants[name] = true
		s.mutex.Unlock()
	}
	return nil
}

// parseParticipant returns the person of the name of a participant, and false for
// other groups.
func parseParticipant(name string) (user int64, ok bool) {
	parts := strings.Split(name, ":")
	if len(parts) != 3 || parts[1] != kindIssue && parts[1] != kindSnippet {
		return 0, false
	}
	user, err := strconv.ParseInt(parts[2], 10, 64)
	return user, err == nil && user > 0
}
