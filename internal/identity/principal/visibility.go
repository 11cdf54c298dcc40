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

// Rule is the reason why a person can or cannot read a document.
type Rule string

// The rules. Those up to RuleNamed show the document.
const (
	RuleOpen       Rule = "OPEN"       // the connector imports no permissions
	RulePermissive Rule = "PERMISSIVE" // the connector does not enforce them
	RuleEveryone   Rule = "EVERYONE"   // everyone at the source may read it
	RuleListed     Rule = "LISTED"     // the person may read it
	RuleMember     Rule = "MEMBER"     // a group of the person may read it
	RuleNamed      Rule = "NAMED"      // the restriction names the person, and the source shows it to them
	RuleRestricted Rule = "RESTRICTED" // the restriction does not name the person
	RuleNotListed  Rule = "NOT_LISTED" // neither the person nor a group may read it
	RuleUnknown    Rule = "UNKNOWN"    // the readers are unknown
	RuleStale      Rule = "STALE"      // a group may read it, but the person's membership is outdated
)

// Visibility says whether a person can read a document, and why.
type Visibility struct {
	Document    uuid.UUID
	Email       string
	Visible     bool
	Rule        Rule
	Explanation string
	// Groups is the path, with RuleMember, RuleNamed and RuleStale, from a group of the person
	// to a group that may read the document.
	Groups []Group
	// ReadersAt and GroupsAt are when they were read from the source; nil for
	// never.
	ReadersAt, GroupsAt *time.Time
}

// documentState is the state of a document that decides.
type documentState struct {
	connector              uuid.UUID
	readers, restriction   []string
	imports, keeps, closed bool
	readersAt, groupsAt    *time.Time
	generation             int64
	stale                  bool
	failure                string
}

const documentStateQuery = `select d.connector_id, d.readers, d.restricted_to, coalesce(k.config->>'include_permissions' = 'true', false), ` +
	`coalesce(k.config->>'permission_mode', 'strict') <> 'permissive', k.closed,
		case when d.readers_at is not null then greatest(d.readers_at, k.readers_at) end, k.groups_at, k.groups_generation,
		coalesce(k.groups_at <= now() - $5::interval, true), coalesce(k.groups_failure, '')
	from documents d join connectors k on k.id = d.connector_id join collections c on c.id = d.collection_id
	where d.id = $1 and d.workspace_id = $2 and ($3 or d.collection_id = any($4)) and d.deleted_at is null and d.status <> 'DELETED'
		and k.deleting_at is null and c.deleting_at is null`

// Hidden returns the number of a connector's documents that nobody finds because
// their readers are not known.
func (s *Store) Hidden(ctx context.Context, scope viewer.Scope, connector uuid.UUID) (n int, err error) {
	workspace, err := scope.Workspace()
	if err != nil {
		return 0, fmt.Errorf("count hidden documents: %w", err)
	}
	err = s.pool.QueryRow(ctx, `select count(*) from documents d join connectors k on k.id = d.connector_id
		where d.workspace_id = $1 and d.connector_id = $2 and d.status = 'INDEXED' and d.deleted_at is null
			and (k.closed or d.readers = '{}' and d.readers_at is null)`, workspace, connector).Scan(&n)
	if err != nil {
		return 0, fmt.Errorf("count hidden documents: %w", err)
	}
	return n, nil
}

// Explain says whether the person with an email address, in lower case, can read a
// document within scope, and why. The error is not_found for a document that does
// not exist or is out of scope. The caller must be allowed to know of documents
// that the person cannot read.
func (s *Store) Explain(ctx context.Context, scope viewer.Scope, document uuid.UUID, email string) (Visibility, error) {
	workspace, err := scope.Workspace()
	if err != nil {
		return Visibility{}, fmt.Errorf("explain the visibility: %w", err)
	}
	state, err := s.documentState(ctx, scope, document)
	if err != nil {
		return Visibility{}, err
	}
	a := Visibility{Document: document, Email: email, ReadersAt: state.readersAt, GroupsAt: state.groupsAt, Groups: []Group{}}
	if state.restriction != nil {
		if among, err := s.isNamed(ctx, workspace, state, email); err != nil || !among {
			a.set(false, RuleRestricted, "An administrator restricted the document to people, domains and groups, and the person is not among them.")
			return a, err
		}
	}
	if !a.decide(state) {
		if a.Groups, err = s.groupPath(ctx, workspace, state, state.readers, email); err != nil {
			return Visibility{}, err
		}
		a.decideGroups(state)
	}
	if state.restriction != nil && a.Visible {
		a.set(true, RuleNamed, "An administrator restricted the document, and the person is among those who were named. "+a.Explanation)
	}
	return a, nil
}

// documentState reads the state of a document within scope. The error is not_found for
// a document that does not exist or is out of scope.
func (s *Store) documentState(ctx context.Context, scope viewer.Scope, document uuid.UUID) (*documentState, error) {
	workspace, err := scope.Workspace()
	if err != nil {
		return nil, fmt.Errorf("read who may see a document: %w", err)
	}
	collections, all := scope.Collections()
	state := &documentState{}
	err = s.pool.QueryRow(ctx, documentStateQuery, document, workspace, all, collections, s.opt.MaxAge).Scan(&state.connector, &state.readers, &state.restriction, &state.imports, &state.keeps,
		&state.closed, &state.readersAt, &state.groupsAt, &state.generation, &state.stale, &state.failure)
	if errors.Is(err, pgx.ErrNoRows) {
		return nil, apierr.NotFound("Document")
	}
	if err != nil {
		return nil, fmt.Errorf("read who may see a document: %w", err)
	}
	return state, nil
}

// isNamed reports whether the restriction of a document names a person: their address,
// its domain, or a group at the source or of the directory that they belong to.
func (s *Store) isNamed(ctx context.Context, workspace uuid.UUID, state *documentState, email string) (bool, error) {
	for _, p := range append(own(email), viewer.Named(email)) {
		if slices.Contains(state.restriction, p) {
			return true, nil
		}
	}
	if among, err := s.isInDirectoryGroup(ctx, workspace, state.restriction, email); err != nil || among {
		return among, err
	}
	if state.stale {
		return false, nil
	}
	path, err := s.groupPath(ctx, workspace, state, state.restriction, email)
	return len(path) > 0, err
}

func (a *Visibility) set(visible bool, rule Rule, explanation string) bool {
	a.Visible, a.Rule, a.Explanation = visible, rule, explanation
	return true
}

// decide sets the result if no group matters, and reports whether it did.
func (a *Visibility) decide(state *documentState) bool {
	switch {
	case state.closed:
		return a.set(false, RuleUnknown, "The connector was told to keep to the permissions of its source, and has not read them yet: until then nobody finds its documents.")
	case state.readers == nil && !state.imports:
		return a.set(true, RuleOpen, "The connector imports no permissions: whoever reaches the collection finds the document.")
	case state.readers == nil && !state.keeps:
		return a.set(true, RulePermissive, "The connector is permissive: whoever reaches the collection finds the document.")
	case state.readers == nil:
		return a.set(true, RuleEveryone, "Everyone at the source may see the document.")
	case len(state.readers) == 0 && state.readersAt == nil:
		return a.set(false, RuleUnknown, "The source did not say who may see the document: until it does nobody finds it.")
	case slices.Contains(state.readers, User(a.Email)):
		return a.set(true, RuleListed, "The person may see the document at the source.")
	}
	for _, p := range own(a.Email)[1:] {
		if slices.Contains(state.readers, p) {
			return a.set(true, RuleListed, fmt.Sprintf("Everybody with a verified address at %s may see the document at the source.", strings.TrimPrefix(p, domainPrefix)))
		}
	}
	return false
}

func (a *Visibility) decideGroups(state *documentState) {
	names := make([]string, len(a.Groups))
	for i, g := range a.Groups {
		names[i] = fmt.Sprintf("%q", g.Name)
	}
	through := strings.Join(names, ", which is in ")
	failed := ""
	if state.failure != "" {
		failed = " The last attempt failed: " + state.failure
	}
	switch groups := slices.ContainsFunc(state.readers, func(r string) bool { return strings.HasPrefix(r, groupPrefix) }); {
	case len(a.Groups) > 0 && !state.stale:
		a.set(true, RuleMember, "The person belongs to "+through+", which may see the document.")
	case len(a.Groups) > 0:
		a.set(false, RuleStale, "The person belonged to "+through+", which may see the document; the groups were read too long ago to count."+failed)
	case groups && state.generation == 0:
		a.set(false, RuleUnknown, "Groups may see the document, and who belongs to them was never read."+failed)
	default:
		a.set(false, RuleNotListed, "Neither the person nor a group that they belong to may see the document at the source.")
	}
}

// groupPath returns the shortest path from a group of the person to a group that
// is among readers. It is empty if there is none.
func (s *Store) groupPath(ctx context.Context, workspace uuid.UUID, state *documentState, readers []string, email string) ([]Group, error) {
	parent := map[string]string{} // the member through which a group was found
	roots := own(email)
	for frontier := roots; len(frontier) > 0 && state.generation > 0 && len(parent) < maxGroups; {
		rows, err := s.pool.Query(ctx, `select principal, member from principal_members
			where workspace_id = $1 and connector_id = $2 and generation = $3 and member = any($4) order by principal, member`, workspace, state.connector, state.generation, frontier)
		if err != nil {
			return nil, fmt.Errorf("follow the groups: %w", err)
		}
		frontier = nil
		var principal, member string
		if _, err := pgx.ForEachRow(rows, []any{&principal, &member}, func() error {
			if _, known := parent[principal]; !known {
				parent[principal] = member
				frontier = append(frontier, principal)
			}
			return nil
		}); err != nil {
			return nil, fmt.Errorf("follow the groups: %w", err)
		}
		for _, found := range frontier {
			if slices.Contains(readers, group(state.connector, found)) {
				return s.namedGroups(ctx, workspace, state, pathTo(parent, found, roots))
			}
		}
	}
	return []Group{}, nil
}

// pathTo returns the path from a person to a group.
func pathTo(parent map[string]string, to string, roots []string) []string {
	var path []string
	for p := to; !slices.Contains(roots, p); p = parent[p] {
		path = append(path, p)
	}
	slices.Reverse(path)
	return path
}

func (s *Store) namedGroups(ctx context.Context, workspace uuid.UUID, state *documentState, path []string) ([]Group, error) {
	rows, err := s.pool.Query(ctx, `select principal, name from principal_groups
		where workspace_id = $1 and connector_id = $2 and generation = $3 and principal = any($4)`, workspace, state.connector, state.generation, path)
	if err != nil {
		return nil, fmt.Errorf("read the names of groups: %w", err)
	}
	names := map[string]string{}
	var principal, name string
	if _, err := pgx.ForEachRow(rows, []any{&principal, &name}, func() error { names[principal] = name; return nil }); err != nil {
		return nil, fmt.Errorf("read the names of groups: %w", err)
	}
	groups := make([]Group, len(path))
	for i, p := range path {
		groups[i] = Group{Principal: p, Name: names[p]}
		if groups[i].Name == "" {
			groups[i].Name = strings.TrimPrefix(p, groupPrefix)
		}
	}
	return groups, nil
}
