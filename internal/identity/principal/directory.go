package principal

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"github.com/magpie-search/magpie/internal/apierr"
	"github.com/magpie-search/magpie/internal/apierr/check"
	"github.com/magpie-search/magpie/internal/viewer"
)

// A DirectoryGroup is a group of people that the directory of a workspace manages. Its
// id is the only thing that identifies it: a group of a source with the same name is
// another group.
type DirectoryGroup struct {
	ID          uuid.UUID
	Name        string
	MemberCount int
}

// A DirectoryGroupQuery selects groups of the directory in the order of their names.
type DirectoryGroupQuery struct {
	Matching string // contained in the name, ignoring case; "" selects all
	After    string // the name of the last group of the previous page
	Limit    int
}

// A DirectoryGroupPage is a part of the groups that a DirectoryGroupQuery selects.
type DirectoryGroupPage struct {
	Groups  []*DirectoryGroup
	Total   int // of all parts
	HasMore bool
}

// directoryMembers are the places m of people u in groups of directories that count: those
// of members who are not suspended, and whose address a sign-in provider has verified or
// whom the directory itself manages. Of anybody else with the address the directory does
// not know who made the account.
const directoryMembers = `directory_group_members m
	join memberships w on w.workspace_id = m.workspace_id and w.user_id = m.user_id and w.suspended_at is null
	join users u on u.id = m.user_id and (u.email_verified
		or exists (select from directory_users d where d.workspace_id = m.workspace_id and d.user_id = m.user_id))`

// directoryCount is the number of members of a group g who count.
const directoryCount = "(select count(*) from " + directoryMembers + " where m.group_id = g.id)"

// browsedDirectory selects the groups of a workspace's directory that match.
const browsedDirectory = " from directory_groups g where g.workspace_id = $1 and ($2 = '' or position($2 in g.name_key) > 0)"

// DirectoryGroups returns the next groups that q selects of the scope's workspace. The error
// is invalid_request for text that PostgreSQL cannot store.
func (s *Store) DirectoryGroups(ctx context.Context, scope viewer.Scope, q DirectoryGroupQuery) (*DirectoryGroupPage, error) {
	const what = "list the groups of the directory"
	workspace, err := scope.Workspace()
	if err != nil {
		return nil, fmt.Errorf("%s: %w", what, err)
	}
	for field, text := range map[string]string{"matching": q.Matching, "after": q.After} {
		if err := check.Storable(field, text); err != nil {
			return nil, err
		}
	}
	page, matching := &DirectoryGroupPage{}, strings.ToLower(q.Matching)
	if err := s.pool.QueryRow(ctx, "select count(*)"+browsedDirectory, workspace, matching).Scan(&page.Total); err != nil {
		return nil, fmt.Errorf("%s: %w", what, err)
	}
	rows, err := s.pool.Query(ctx, "select g.id, g.name, "+directoryCount+browsedDirectory+" and g.name_key > $3 order by g.name_key limit $4",
		workspace, matching, strings.ToLower(q.After), q.Limit+1)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", what, err)
	}
	if page.Groups, err = pgx.CollectRows(rows, pgx.RowToAddrOfStructByPos[DirectoryGroup]); err != nil {
		return nil, fmt.Errorf("%s: %w", what, err)
	}
	if page.HasMore = len(page.Groups) > q.Limit; page.HasMore {
		page.Groups = page.Groups[:q.Limit]
	}
	return page, nil
}

// describeDirectory sets the names of readers that are groups of the directory, and the
// numbers of their members. A group that is gone keeps its id and has no members.
func (s *Store) describeDirectory(ctx context.Context, workspace uuid.UUID, groups []uuid.UUID, readers map[string][]*Reader) error {
	found, err := s.directoryGroups(ctx, workspace, groups)
	for _, g := range found {
		for _, r := range readers[directoryPrefix+g.ID.String()] {
			r.Name, *r.Members = g.Name, g.MemberCount
		}
	}
	return err
}

// restrictToDirectory returns the principals of groups of the directory of the scope's
// workspace. The error is invalid_request for a group that is not one.
func (s *Store) restrictToDirectory(ctx context.Context, scope viewer.Scope, groups []uuid.UUID) ([]string, error) {
	workspace, err := scope.Workspace()
	if err != nil {
		return nil, fmt.Errorf("look groups of the directory up: %w", err)
	}
	known, err := s.directoryGroups(ctx, workspace, groups)
	if err != nil {
		return nil, err
	}
	principals := make([]string, len(groups))
	for i, id := range groups {
		if !slices.ContainsFunc(known, func(g DirectoryGroup) bool { return g.ID == id }) {
			return nil, apierr.Invalid(fmt.Sprintf("directoryGroups[%d]", i), "the directory of the workspace has no group with this id")
		}
		principals[i] = directoryPrefix + id.String()
	}
	return principals, nil
}

func (s *Store) directoryGroups(ctx context.Context, workspace uuid.UUID, ids []uuid.UUID) ([]DirectoryGroup, error) {
	if len(ids) == 0 {
		return nil, nil
	}
	rows, err := s.pool.Query(ctx, "select g.id, g.name, "+directoryCount+" from directory_groups g where g.workspace_id = $1 and g.id = any($2)", workspace, ids)
	if err != nil {
		return nil, fmt.Errorf("read groups of the directory: %w", err)
	}
	found, err := pgx.CollectRows(rows, pgx.RowToStructByPos[DirectoryGroup])
	if err != nil {
		return nil, fmt.Errorf("read groups of the directory: %w", err)
	}
	return found, nil
}

// isInDirectoryGroup reports whether the member of a workspace with an address is in a
// group of the directory that is among readers.
func (s *Store) isInDirectoryGroup(ctx context.Context, workspace uuid.UUID, readers []string, email string) (bool, error) {
	if !slices.ContainsFunc(readers, func(r string) bool { return strings.HasPrefix(r, directoryPrefix) }) {
		return false, nil
	}
	principals, err := s.Of(ctx, workspace, email)
	return slices.ContainsFunc(principals, func(p string) bool {
		return strings.HasPrefix(p, directoryPrefix) && slices.Contains(readers, p)
	}), err
}
