package principal

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"github.com/magpie-search/magpie/internal/apierr"
	"github.com/magpie-search/magpie/internal/viewer"
)

// Rule is what decides whether a person finds a document.
type Rule string

// The rules; those up to Member show the document.
const (
	RuleOpen       Rule = "OPEN"       // the connector imports no permissions
	RulePermissive Rule = "PERMISSIVE" // it does not keep to them
	RuleEveryone   Rule = "EVERYONE"   // everyone at the source may see it
	RuleListed     Rule = "LISTED"     // the person may
	RuleMember     Rule = "MEMBER"     // a group of theirs may
	RuleNotListed  Rule = "NOT_LISTED" // neither may
	RuleUnknown    Rule = "UNKNOWN"    // it is not known who may
	RuleStale      Rule = "STALE"      // a group may that they belonged to, too long ago
)

// Answer says whether somebody finds a document, and why.
type Answer struct {
	Document    uuid.UUID
	Mail        string
	Visible     bool
	Rule        Rule
	Explanation string
	// Groups lead, with RuleMember and RuleStale, from one whose member the person
	// is to one that may see the document.
	Groups []Group
	// ReadersAt and GroupsAt are when the source was asked; nil for never.
	ReadersAt, GroupsAt *time.Time
}

// standing is what decides, as the database has it.
type standing struct {
	connector              uuid.UUID
	readers                []string
	imports, keeps, closed bool
	readersAt, groupsAt    *time.Time
	generation             int64
	stale                  bool
	failure                string
}

const standingOf = `select d.connector_id, d.readers, coalesce(k.config->>'include_permissions' = 'true', false), ` +
	`coalesce(k.config->>'permission_mode', 'strict') <> 'permissive', k.closed,
		case when d.readers_at is not null then greatest(d.readers_at, k.readers_at) end, k.groups_at, k.groups_generation,
		coalesce(k.groups_at <= now() - $5::interval, true), coalesce(k.groups_failure, '')
	from documents d join connectors k on k.id = d.connector_id join collections c on c.id = d.collection_id
	where d.id = $1 and d.workspace_id = $2 and ($3 or d.collection_id = any($4)) and d.deleted_at is null and d.status <> 'DELETED'
		and k.deleting_at is null and c.deleting_at is null`

// Why says whether the person of an address finds a document within scope, and
// why. The address must be one in lower case. A document that is not there, or out
// of reach, is not found; one of which somebody may find nothing is answered for all
// the same: whoever asks must be allowed to know of it.
func (s *Store) Why(ctx context.Context, scope viewer.Scope, document uuid.UUID, mail string) (Answer, error) {
	workspace, err := scope.Workspace()
	if err != nil {
		return Answer{}, fmt.Errorf("why: %w", err)
	}
	collections, all := scope.Collections()
	var at standing
	err = s.pool.QueryRow(ctx, standingOf, document, workspace, all, collections, s.opt.MaxAge).Scan(&at.connector, &at.readers, &at.imports, &at.keeps,
		&at.closed, &at.readersAt, &at.groupsAt, &at.generation, &at.stale, &at.failure)
	if errors.Is(err, pgx.ErrNoRows) {
		return Answer{}, apierr.NotFound("Document")
	}
	if err != nil {
		return Answer{}, fmt.Errorf("why: %w", err)
	}
	a := Answer{Document: document, Mail: mail, ReadersAt: at.readersAt, GroupsAt: at.groupsAt, Groups: []Group{}}
	if a.decide(&at) {
		return a, nil
	}
	if a.Groups, err = s.chain(ctx, workspace, &at, mail); err != nil {
		return Answer{}, err
	}
	a.decideGroups(&at)
	return a, nil
}

func (a *Answer) say(visible bool, rule Rule, explanation string) bool {
	a.Visible, a.Rule, a.Explanation = visible, rule, explanation
	return true
}

// decide answers where no group matters.
func (a *Answer) decide(at *standing) bool {
	switch {
	case at.closed:
		return a.say(false, RuleUnknown, "The connector was told to keep to the permissions of its source, and has not read them yet: until then nobody finds its documents.")
	case at.readers == nil && !at.imports:
		return a.say(true, RuleOpen, "The connector imports no permissions: whoever reaches the collection finds the document.")
	case at.readers == nil && !at.keeps:
		return a.say(true, RulePermissive, "The connector is permissive: whoever reaches the collection finds the document.")
	case at.readers == nil:
		return a.say(true, RuleEveryone, "Everyone at the source may see the document.")
	case len(at.readers) == 0 && at.readersAt == nil:
		return a.say(false, RuleUnknown, "The source did not say who may see the document: until it does nobody finds it.")
	case slices.Contains(at.readers, User(a.Mail)):
		return a.say(true, RuleListed, "The person may see the document at the source.")
	}
	return false
}

func (a *Answer) decideGroups(at *standing) {
	names := make([]string, len(a.Groups))
	for i, g := range a.Groups {
		names[i] = fmt.Sprintf("%q", g.Name)
	}
	through := strings.Join(names, ", which is in ")
	failed := ""
	if at.failure != "" {
		failed = " The last attempt failed: " + at.failure
	}
	switch groups := slices.ContainsFunc(at.readers, func(r string) bool { return strings.HasPrefix(r, groupPrefix) }); {
	case len(a.Groups) > 0 && !at.stale:
		a.say(true, RuleMember, "The person belongs to "+through+", which may see the document.")
	case len(a.Groups) > 0:
		a.say(false, RuleStale, "The person belonged to "+through+", which may see the document; the groups were read too long ago to count."+failed)
	case groups && at.generation == 0:
		a.say(false, RuleUnknown, "Groups may see the document, and who belongs to them was never read."+failed)
	default:
		a.say(false, RuleNotListed, "Neither the person nor a group that they belong to may see the document at the source.")
	}
}

// chain leads from a group of the person's to one that may see the document, by
// the fewest groups; empty when there is no such way.
func (s *Store) chain(ctx context.Context, workspace uuid.UUID, at *standing, mail string) ([]Group, error) {
	from := map[string]string{} // the group or person through whom it was found
	person := User(mail)
	for edge := []string{person}; len(edge) > 0 && at.generation > 0 && len(from) < mostGroups; {
		rows, err := s.pool.Query(ctx, `select principal, member from principal_members
			where workspace_id = $1 and connector_id = $2 and generation = $3 and member = any($4) order by principal, member`, workspace, at.connector, at.generation, edge)
		if err != nil {
			return nil, fmt.Errorf("why: follow the groups: %w", err)
		}
		edge = nil
		var principal, member string
		if _, err := pgx.ForEachRow(rows, []any{&principal, &member}, func() error {
			if _, known := from[principal]; !known {
				from[principal] = member
				edge = append(edge, principal)
			}
			return nil
		}); err != nil {
			return nil, fmt.Errorf("why: follow the groups: %w", err)
		}
		for _, found := range edge {
			if slices.Contains(at.readers, group(at.connector, found)) {
				return s.names(ctx, workspace, at, back(from, found, person))
			}
		}
	}
	return []Group{}, nil
}

// back is the way from the person to a group.
func back(from map[string]string, to, person string) []string {
	var way []string
	for p := to; p != person; p = from[p] {
		way = append(way, p)
	}
	slices.Reverse(way)
	return way
}

func (s *Store) names(ctx context.Context, workspace uuid.UUID, at *standing, way []string) ([]Group, error) {
	rows, err := s.pool.Query(ctx, `select principal, name from principal_groups
		where workspace_id = $1 and connector_id = $2 and generation = $3 and principal = any($4)`, workspace, at.connector, at.generation, way)
	if err != nil {
		return nil, fmt.Errorf("why: name the groups: %w", err)
	}
	names := map[string]string{}
	var principal, name string
	if _, err := pgx.ForEachRow(rows, []any{&principal, &name}, func() error { names[principal] = name; return nil }); err != nil {
		return nil, fmt.Errorf("why: name the groups: %w", err)
	}
	groups := make([]Group, len(way))
	for i, p := range way {
		groups[i] = Group{Principal: p, Name: names[p]}
		if groups[i].Name == "" {
			groups[i].Name = strings.TrimPrefix(p, groupPrefix)
		}
	}
	return groups, nil
}
