package gitlab

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/magpie-search/magpie/connectors"
)

const (
	projectsOfGroups = 20 // whose members are on a page of groups
	// Before this version the listing of members had roles that the people do not have.
	minMembersMajor, minMembersMinor = 13, 11
)

// A member is a member of a project by any way: direct, of a group above, or of an
// invited group. GitLab lists the effective role.
type member struct {
	ID          int64   `json:"id"`
	State       string  `json:"state"`
	Membership  string  `json:"membership_state"`
	Level       int     `json:"access_level"`
	Expires     string  `json:"expires_at"`
	Email       string  `json:"email"` // for owners of a group that manages its people
	PublicEmail *string `json:"public_email"`
}

// isActive reports whether the membership counts at a time.
func (m member) isActive(now time.Time) bool {
	if m.ID <= 0 || m.Level < levelGuest || m.State != "" && m.State != "active" || m.Membership == "awaiting" {
		return false
	}
	if m.Expires == "" {
		return true
	}
	day, err := time.Parse(time.DateOnly, m.Expires[:min(len(m.Expires), len(time.DateOnly))])
	return err == nil && now.Before(day)
}

// A groupCursor is a place in the listing of groups.
type groupCursor struct {
	Project int64 `json:"p,omitempty"` // the last one whose groups were listed
}

// Groups implements [connectors.GroupLister]. The groups of a project are its members
// by role, and the participants that Readers named.
func (s *source) Groups(ctx context.Context, cursor string) (connectors.GroupPage, error) {
	var out connectors.GroupPage
	var at groupCursor
	if err := ctx.Err(); err != nil {
		return out, err
	}
	if cursor != "" {
		if err := connectors.ParseCursor(cursor, &at); err != nil || at.Project <= 0 {
			return out, connectors.ErrCursor
		}
	}
	list, err := s.projects(ctx)
	if err != nil {
		return out, err
	}
	people, err := s.people(ctx, cursor == "")
	if err != nil {
		return out, err
	}
	if cursor == "" {
		out.Groups = append(out.Groups, connectors.Group{Principal: internalGroup, Name: "everyone at GitLab", Members: people.insiders()})
		if !people.complete && slices.ContainsFunc(list, func(p project) bool { return p.Visibility == visibilityInternal }) {
			out.Warnings = append(out.Warnings, "GitLab tells administrators only who may see internal projects; here their members find them. Use the token of an administrator.")
		}
	}
	i, _ := slices.BinarySearchFunc(list, at.Project+1, func(p project, id int64) int { return cmp.Compare(p.ID, id) })
	for n := 0; i < len(list) && n < projectsOfGroups; i, n = i+1, n+1 {
		groups, warning, err := s.projectGroups(ctx, list[i], people)
		if err != nil {
			return connectors.GroupPage{}, err
		}
		if out.Groups = append(out.Groups, groups...); warning != "" {
			out.Warnings = append(out.Warnings, warning)
		}
		at.Project = list[i].ID
	}
	if i < len(list) {
		out.Next = connectors.FormatCursor(at)
		return out, nil
	}
	out.Done = true
	if unknown, total := people.unknown(); unknown > 0 {
		out.Warnings = append(out.Warnings, fmt.Sprintf("GitLab does not show the email address of %d of %d members; they do not find what is not public. "+
			"Use the token of an administrator, or let people set a public email in their profile.", unknown, total))
	}
	return out, people.finish(ctx)
}

// projectGroups returns the groups of a project. If its members cannot be read, they are
// empty, and the warning says so.
func (s *source) projectGroups(ctx context.Context, p project, people *directory) (groups []connectors.Group, warning string, err error) {
	members, err := s.members(ctx, p)
	if err != nil && isHidden(err) && !errors.Is(err, errScope) || errors.Is(err, errOldVersion) {
		warning = fmt.Sprintf("The members of %s cannot be read, and nobody finds what is not public in it: %s.", p.Path, strings.TrimSuffix(err.Error(), "."))
		members, err = nil, nil
	}
	if err != nil {
		return nil, "", fmt.Errorf("read the members of %s: %w", p.Path, err)
	}
	levels := map[int64]int{}
	for _, m := range members {
		levels[m.ID] = m.Level
		if err := people.addMember(ctx, m); err != nil {
			return nil, "", err
		}
	}
	add := func(principal, name string, has func(id int64) bool) {
		var found []string
		for _, m := range members {
			if has(m.ID) {
				found = append(found, people.of(m.ID)...)
			}
		}
		groups = append(groups, connectors.Group{Principal: principal, Name: p.Path + ": " + name, Members: found})
	}
	for level, name := range map[int]string{levelGuest: "members", levelPlanner: "planners and above", levelReporter: "reporters and above"} {
		add(p.members(level), name, func(id int64) bool { return levels[id] >= level })
	}
	if p.Visibility == visibilityInternal {
		add(p.insiders(levelGuest), "members who are not external", func(id int64) bool { return people.isInsider(id) })
	}
	slices.SortFunc(groups, func(a, b connectors.Group) int { return cmp.Compare(a.Principal, b.Principal) })
	if s.settings.State == nil {
		return groups, warning, nil
	}
	keys, err := s.settings.State.Keys(ctx, participantsPrefix+p.key()+"/")
	if err != nil {
		return nil, "", fmt.Errorf("read the participants: %w", err)
	}
	for _, key := range keys {
		name := strings.ReplaceAll(strings.TrimPrefix(key, participantsPrefix), "/", ":")
		user, ok := parseParticipant(name)
		if !ok {
			continue
		}
		group := connectors.Group{Principal: groupPrefix + name, Name: p.Path + ": a participant"}
		stage := stageIssues
		if strings.Contains(name, ":"+kindSnippet+":") {
			stage = stageSnippets
		}
		all := p.audience(stage)
		if err := people.lookUp(ctx, user); err != nil {
			return nil, "", err
		}
		if all != (audience{}) && (levels[user] >= levelGuest || all.everyone || all.internal && people.isInsider(user)) {
			group.Members = people.of(user)
		}
		groups = append(groups, group)
	}
	return groups, warning, nil
}

var errOldVersion = connectors.NeedsAuth(fmt.Errorf("GitLab before version %d.%d does not tell the effective role of members; update it", minMembersMajor, minMembersMinor))

// members returns the people with a role in a project.
func (s *source) members(ctx context.Context, p project) ([]member, error) {
	if err := s.checkMembersVersion(ctx); err != nil {
		return nil, err
	}
	list, now, err := listWithTime[member](ctx, s, p.path("/members/all"), "the members of "+p.Path, url.Values{"per_page": {perPage}})
	if err != nil {
		return nil, err
	}
	if slices.ContainsFunc(list, func(m member) bool { return m.ID <= 0 || m.Level < 0 }) {
		return nil, errInvalid("a member")
	}
	return slices.DeleteFunc(list, func(m member) bool { return !m.isActive(now) }), nil
}

// checkMembersVersion returns errOldVersion for an old server. A server that hides its
// version is taken for a newer one.
func (s *source) checkMembersVersion(ctx context.Context) error {
	s.mutex.Lock()
	known := s.version
	s.mutex.Unlock()
	if known == "" {
		var answer struct{ Version string }
		if _, err := s.get(ctx, "version", nil, &answer, "version"); err != nil && !isHidden(err) {
			return fmt.Errorf("read the version of GitLab: %w", err)
		}
		known = cmp.Or(answer.Version, "unknown")
		s.mutex.Lock()
		s.version = known
		s.mutex.Unlock()
	}
	first, rest, _ := strings.Cut(known, ".")
	second, _, _ := strings.Cut(rest, ".")
	major, err := strconv.Atoi(first)
	minor, minorErr := strconv.Atoi(second)
	if err == nil && minorErr == nil && (major < minMembersMajor || major == minMembersMajor && minor < minMembersMinor) {
		return errOldVersion
	}
	return nil
}
