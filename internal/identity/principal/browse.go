package principal

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"github.com/magpie-search/magpie/internal/apierr"
	"github.com/magpie-search/magpie/internal/apierr/check"
	"github.com/magpie-search/magpie/internal/viewer"
)

// maxShownMembers bounds the members that a detail has.
const maxShownMembers = 5000

// A SourceGroup is a group at a connector's source.
type SourceGroup struct {
	ID          string // the source's
	Name        string // the id without a name
	MemberCount int    // direct members: people, groups and domains
}

// A SourceGroupDetail is a group with its direct members, at most 5,000.
type SourceGroupDetail struct {
	SourceGroup
	Emails, Groups, Domains []string // never nil
}

// A GroupQuery selects groups of a connector in the order of their ids.
type GroupQuery struct {
	Matching string // contained in the id or the name, ignoring case; "" selects all
	After    string // the id of the last group of the previous page
	Limit    int
}

// A GroupPage is a part of the groups that a GroupQuery selects.
type GroupPage struct {
	Groups  []*SourceGroup
	Total   int // of all parts
	HasMore bool
}

// memberCount is the number of direct members of a group g.
const memberCount = `(select count(*) from principal_members m
	where m.connector_id = g.connector_id and m.generation = g.generation and m.principal = g.principal)`

// browsed selects the groups in use of a connector that match.
const browsed = ` from principal_groups g join connectors c on c.id = g.connector_id and c.groups_generation = g.generation
	where c.workspace_id = $1 and g.workspace_id = $1 and c.id = $2 and c.deleting_at is null
		and ($3 = '' or position(lower($3) in lower(substr(g.principal, 7))) > 0 or position(lower($3) in lower(g.name)) > 0)`

// Groups returns the next groups that q selects of a connector of the scope's
// workspace. A connector of another one has none. The error is invalid_request for text
// that PostgreSQL cannot store.
func (s *Store) Groups(ctx context.Context, scope viewer.Scope, connector uuid.UUID, q GroupQuery) (*GroupPage, error) {
	workspace, err := scope.Workspace()
	if err != nil {
		return nil, fmt.Errorf("list groups: %w", err)
	}
	for field, text := range map[string]string{"matching": q.Matching, "after": q.After} {
		if err := check.Storable(field, text); err != nil {
			return nil, err
		}
	}
	page := &GroupPage{}
	if err := s.pool.QueryRow(ctx, "select count(*)"+browsed, workspace, connector, q.Matching).Scan(&page.Total); err != nil {
		return nil, fmt.Errorf("count groups: %w", err)
	}
	rows, err := s.pool.Query(ctx, "select g.principal, g.name, "+memberCount+browsed+`
		and g.principal > $4 order by g.principal limit $5`, workspace, connector, q.Matching, groupPrefix+q.After, q.Limit+1)
	if err != nil {
		return nil, fmt.Errorf("list groups: %w", err)
	}
	page.Groups, err = pgx.CollectRows(rows, scanGroup)
	if err != nil {
		return nil, fmt.Errorf("list groups: %w", err)
	}
	if page.HasMore = len(page.Groups) > q.Limit; page.HasMore {
		page.Groups = page.Groups[:q.Limit]
	}
	return page, nil
}

func scanGroup(row pgx.CollectableRow) (*SourceGroup, error) {
	g := &SourceGroup{}
	err := row.Scan(&g.ID, &g.Name, &g.MemberCount)
	g.ID = strings.TrimPrefix(g.ID, groupPrefix)
	if g.Name == "" {
		g.Name = g.ID
	}
	return g, err
}

// Group returns a group by the source's id, with its direct members. An unknown one is
// not_found.
func (s *Store) Group(ctx context.Context, scope viewer.Scope, connector uuid.UUID, id string) (*SourceGroupDetail, error) {
	workspace, err := scope.Workspace()
	if err != nil {
		return nil, fmt.Errorf("read a group: %w", err)
	}
	principal := clean(groupPrefix + id)
	if principal == "" {
		return nil, apierr.NotFound("Group")
	}
	rows, err := s.pool.Query(ctx, "select g.principal, g.name, "+memberCount+browsed+`
		and g.principal = $4`, workspace, connector, "", principal)
	if err != nil {
		return nil, fmt.Errorf("read a group: %w", err)
	}
	g, err := pgx.CollectExactlyOneRow(rows, scanGroup)
	if errors.Is(err, pgx.ErrNoRows) {
		return nil, apierr.NotFound("Group")
	}
	if err != nil {
		return nil, fmt.Errorf("read a group: %w", err)
	}
	out := &SourceGroupDetail{SourceGroup: *g, Emails: []string{}, Groups: []string{}, Domains: []string{}}
	rows, err = s.pool.Query(ctx, `select m.member from principal_members m join connectors c on c.id = m.connector_id and c.groups_generation = m.generation
		where m.workspace_id = $1 and m.connector_id = $2 and m.principal = $3 order by m.member desc limit $4`, workspace, connector, principal, maxShownMembers)
	if err != nil {
		return nil, fmt.Errorf("read the members of a group: %w", err)
	}
	members, err := pgx.CollectRows(rows, pgx.RowTo[string])
	if err != nil {
		return nil, fmt.Errorf("read the members of a group: %w", err)
	}
	for i := len(members) - 1; i >= 0; i-- {
		out.add(members[i])
	}
	return out, nil
}

func (d *SourceGroupDetail) add(member string) {
	for prefix, list := range map[string]*[]string{userPrefix: &d.Emails, groupPrefix: &d.Groups, domainPrefix: &d.Domains} {
		if own, ok := strings.CutPrefix(member, prefix); ok {
			*list = append(*list, own)
		}
	}
}
