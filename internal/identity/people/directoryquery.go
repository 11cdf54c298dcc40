package people

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/google/uuid"

	entsql "entgo.io/ent/dialect/sql"

	"github.com/magpie-search/magpie/ent"
	"github.com/magpie-search/magpie/ent/workspace"
	"github.com/magpie-search/magpie/internal/apierr"
	"github.com/magpie-search/magpie/internal/identity/authn"
	"github.com/magpie-search/magpie/internal/viewer"
)

// lockWorkspace locks the members of a workspace until the end of the transaction.
func lockWorkspace(ctx context.Context, client *ent.Client, id uuid.UUID) error {
	// FOR UPDATE would block all writes to the workspace.
	_, err := client.Workspace.Query().Where(workspace.ID(id)).ForUpdate(entsql.WithLockClause("FOR NO KEY UPDATE")).Only(ctx)
	if ent.IsNotFound(err) {
		return apierr.NotFound("Workspace")
	}
	return err
}

const directoryUsersFrom = ` from memberships m join users u on u.id = m.user_id
	left join directory_users d on d.workspace_id = m.workspace_id and d.user_id = m.user_id
	where m.workspace_id = $1 and ($2::uuid is null or m.id = $2) and ($3 = '' or coalesce(d.user_name_key, u.email) = $3)
		and ($4 = '' or d.external_id = $4) and ($5 = '' or u.email = $5)`

// selectUsers returns the members of a workspace that a filter selects, in the order
// in which they joined, and the number of all.
func selectUsers(ctx context.Context, client *ent.Client, workspace uuid.UUID, f DirectoryUserFilter, skip, limit int) ([]DirectoryUser, int, error) {
	email := f.Email
	if email != "" {
		cleaned, err := authn.CleanEmail(email)
		if err != nil {
			return nil, 0, nil // nobody has it
		}
		email = cleaned
	}
	arguments := []any{workspace, f.ID, strings.ToLower(f.UserName), f.ExternalID, email}
	total, err := scanCount(ctx, client, "select count(*)"+directoryUsersFrom, arguments...)
	if err != nil || total == 0 || limit == 0 {
		return nil, total, err
	}
	rows, err := client.QueryContext(ctx, `select m.id, m.user_id, u.email, m.role, m.suspended_at is null, m.created_at, greatest(m.updated_at, d.updated_at),
		d.user_id is not null, coalesce(d.user_name, u.email), coalesce(d.external_id, ''), coalesce(d.display_name, u.name), coalesce(d.given_name, ''), coalesce(d.family_name, '')`+
		directoryUsersFrom+" order by m.created_at, m.id offset $6 limit $7", append(arguments, skip, limit)...)
	if err != nil {
		return nil, 0, fmt.Errorf("select people: %w", err)
	}
	var found []DirectoryUser
	for rows.Next() {
		var u DirectoryUser
		var role string
		if err := rows.Scan(&u.ID, &u.person, &u.Email, &role, &u.Active, &u.CreatedAt, &u.UpdatedAt, &u.managed, &u.UserName, &u.ExternalID,
			&u.DisplayName, &u.GivenName, &u.FamilyName); err != nil {
			return nil, 0, errors.Join(fmt.Errorf("select people: %w", err), rows.Close())
		}
		u.Role = viewer.Role(strings.ToLower(role))
		found = append(found, u)
	}
	if err := errors.Join(rows.Err(), rows.Close()); err != nil {
		return nil, 0, fmt.Errorf("select people: %w", err)
	}
	return found, total, addGroups(ctx, client, workspace, found)
}

// addGroups adds the groups of people.
func addGroups(ctx context.Context, client *ent.Client, workspace uuid.UUID, people []DirectoryUser) error {
	of := make(map[uuid.UUID]*DirectoryUser, len(people))
	ids := make([]string, len(people))
	for i := range people {
		of[people[i].person] = &people[i]
		ids[i] = people[i].person.String()
	}
	rows, err := client.QueryContext(ctx, `select m.user_id, g.id, g.name from directory_group_members m join directory_groups g on g.id = m.group_id
		where m.workspace_id = $1 and m.user_id = any($2::text[]::uuid[]) order by g.name, g.id`, workspace, ids)
	if err != nil {
		return fmt.Errorf("select the groups of people: %w", err)
	}
	for rows.Next() {
		var person uuid.UUID
		var g DirectoryGroupName
		if err := rows.Scan(&person, &g.ID, &g.Name); err != nil {
			return errors.Join(fmt.Errorf("select the groups of people: %w", err), rows.Close())
		}
		of[person].Groups = append(of[person].Groups, g)
	}
	if err := errors.Join(rows.Err(), rows.Close()); err != nil {
		return fmt.Errorf("select the groups of people: %w", err)
	}
	return nil
}

func scanCount(ctx context.Context, client *ent.Client, query string, arguments ...any) (n int, err error) {
	rows, err := client.QueryContext(ctx, query, arguments...)
	if err != nil {
		return 0, fmt.Errorf("count: %w", err)
	}
	if rows.Next() {
		err = rows.Scan(&n)
	}
	if err := errors.Join(err, rows.Err(), rows.Close()); err != nil {
		return 0, fmt.Errorf("count: %w", err)
	}
	return n, nil
}
