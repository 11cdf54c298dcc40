package people

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/google/uuid"

	"github.com/magpie-search/magpie/ent"
	"github.com/magpie-search/magpie/ent/membership"
	"github.com/magpie-search/magpie/internal/apierr"
	"github.com/magpie-search/magpie/internal/audit"
)

// Limits of groups.
const (
	maxDirectoryGroups  = 5000   // of a workspace
	maxDirectoryMembers = 20_000 // of a group
)

// DirectoryGroup is a group of people of a workspace that a directory manages.
type DirectoryGroup struct {
	ID                   uuid.UUID
	Name, ExternalID     string
	Members              []DirectoryMember
	CreatedAt, UpdatedAt time.Time
}

// DirectoryMember is a member of a group.
type DirectoryMember struct {
	ID   uuid.UUID // of the membership in the workspace
	Name string
}

// DirectoryGroupDraft is what a directory says of a group.
type DirectoryGroupDraft struct {
	Name, ExternalID string
	Members          []uuid.UUID // the IDs of people
}

// DirectoryGroupFilter selects groups. Empty fields select all.
type DirectoryGroupFilter struct {
	ID               *uuid.UUID
	Name, ExternalID string     // equal; names in any case
	Member           *uuid.UUID // the ID of a person in the group
}

// Group returns a group with its members.
func (d *Directory) Group(ctx context.Context, id uuid.UUID) (DirectoryGroup, error) {
	workspace, err := directoryOf(ctx)
	if err != nil {
		return DirectoryGroup{}, err
	}
	return d.group(ctx, d.people.ent, workspace, id)
}

func (d *Directory) group(ctx context.Context, client *ent.Client, workspace, id uuid.UUID) (DirectoryGroup, error) {
	rows, _, err := selectGroups(ctx, client, workspace, DirectoryGroupFilter{ID: &id}, 0, 1)
	if err != nil {
		return DirectoryGroup{}, apierr.Wrap("read the group", err)
	}
	if len(rows) == 0 {
		return DirectoryGroup{}, apierr.NotFound("Group")
	}
	g := rows[0]
	g.Members, err = selectMembers(ctx, client, workspace, id)
	return g, apierr.Wrap("read the group", err)
}

// Groups returns the groups that a filter selects, without the first ones, at most
// limit, and the number of all. They have their members if withMembers is true.
func (d *Directory) Groups(ctx context.Context, f DirectoryGroupFilter, skip, limit int, withMembers bool) ([]DirectoryGroup, int, error) {
	workspace, err := directoryOf(ctx)
	if err != nil {
		return nil, 0, err
	}
	rows, total, err := selectGroups(ctx, d.people.ent, workspace, f, skip, limit)
	if err != nil {
		return nil, 0, apierr.Wrap("list the groups", err)
	}
	for i := range rows {
		if !withMembers {
			break
		}
		if rows[i].Members, err = selectMembers(ctx, d.people.ent, workspace, rows[i].ID); err != nil {
			return nil, 0, apierr.Wrap("list the groups", err)
		}
	}
	return rows, total, nil
}

// CreateGroup creates a group. The error wraps ErrTaken if there is one with the name.
func (d *Directory) CreateGroup(ctx context.Context, in DirectoryGroupDraft) (DirectoryGroup, error) {
	if err := in.clean(); err != nil {
		return DirectoryGroup{}, err
	}
	var out DirectoryGroup
	err := d.change(ctx, "create the group", func(ctx context.Context, client *ent.Client, workspace uuid.UUID) error {
		if err := d.checkGroupName(ctx, client, workspace, uuid.Nil, in.Name); err != nil {
			return err
		}
		n, err := scanCount(ctx, client, "select count(*) from directory_groups where workspace_id = $1", workspace)
		if err != nil {
			return err
		}
		if n >= maxDirectoryGroups {
			return apierr.New(apierr.Conflict, fmt.Sprintf("The workspace has %d groups already, which is the most", n))
		}
		id, now := uuid.New(), d.people.timestamp()
		if _, err := client.ExecContext(ctx, `insert into directory_groups (id, workspace_id, name, name_key, external_id, created_at, updated_at)
			values ($1, $2, $3, $4, nullif($5, ''), $6, $6)`, id, workspace, in.Name, strings.ToLower(in.Name), in.ExternalID, now); err != nil {
			return fmt.Errorf("store a group: %w", err)
		}
		if err := d.record(ctx, client, "directory_group.create", id, in.Name); err != nil {
			return err
		}
		out, err = d.setMembers(ctx, client, workspace, id, nil, in.Members)
		return err
	})
	return out, err
}

// UpdateGroup changes a group as change says.
func (d *Directory) UpdateGroup(ctx context.Context, id uuid.UUID, change func(*DirectoryGroupDraft) error) (DirectoryGroup, error) {
	var out DirectoryGroup
	err := d.change(ctx, "change the group", func(ctx context.Context, client *ent.Client, workspace uuid.UUID) error {
		before, err := d.group(ctx, client, workspace, id)
		if err != nil {
			return err
		}
		draft := DirectoryGroupDraft{Name: before.Name, ExternalID: before.ExternalID}
		for _, m := range before.Members {
			draft.Members = append(draft.Members, m.ID)
		}
		old := slices.Clone(draft.Members)
		if err := change(&draft); err != nil {
			return err
		}
		if err := draft.clean(); err != nil {
			return err
		}
		if draft.Name != before.Name || draft.ExternalID != before.ExternalID {
			if err := d.checkGroupName(ctx, client, workspace, id, draft.Name); err != nil {
				return err
			}
			if _, err := client.ExecContext(ctx, `update directory_groups set name = $3, name_key = $4, external_id = nullif($5, ''), updated_at = $6
				where workspace_id = $1 and id = $2`, workspace, id, draft.Name, strings.ToLower(draft.Name), draft.ExternalID, d.people.timestamp()); err != nil {
				return fmt.Errorf("store a group: %w", err)
			}
			if err := d.record(ctx, client, "directory_group.update", id, draft.Name, audit.Change{Field: "name", Old: before.Name, New: draft.Name}); err != nil {
				return err
			}
		}
		if out, err = d.setMembers(ctx, client, workspace, id, old, draft.Members); err != nil || strings.EqualFold(draft.Name, before.Name) {
			return err
		}
		return d.applyRolesOf(ctx, client, workspace, out.Members)
	})
	return out, err
}

// DeleteGroup deletes a group. Its people stay.
func (d *Directory) DeleteGroup(ctx context.Context, id uuid.UUID) error {
	return d.change(ctx, "delete the group", func(ctx context.Context, client *ent.Client, workspace uuid.UUID) error {
		before, err := d.group(ctx, client, workspace, id)
		if err != nil {
			return err
		}
		if _, err := client.ExecContext(ctx, "delete from directory_groups where workspace_id = $1 and id = $2", workspace, id); err != nil {
			return fmt.Errorf("delete a group: %w", err)
		}
		if err := d.record(ctx, client, "directory_group.delete", id, before.Name); err != nil {
			return err
		}
		return d.applyRolesOf(ctx, client, workspace, before.Members)
	})
}

// setMembers makes the members of a group those with the IDs, and returns the group.
func (d *Directory) setMembers(ctx context.Context, client *ent.Client, workspace, id uuid.UUID, before, after []uuid.UUID) (DirectoryGroup, error) {
	added := slices.DeleteFunc(slices.Clone(after), func(m uuid.UUID) bool { return slices.Contains(before, m) })
	removed := slices.DeleteFunc(slices.Clone(before), func(m uuid.UUID) bool { return slices.Contains(after, m) })
	rows, err := client.Membership.Query().Where(membership.WorkspaceID(workspace), membership.IDIn(append(slices.Clone(added), removed...)...)).All(ctx)
	if err != nil {
		return DirectoryGroup{}, err
	}
	people := map[uuid.UUID]uuid.UUID{}
	changed := make([]uuid.UUID, 0, len(rows))
	for _, row := range rows {
		people[row.ID] = row.UserID
		changed = append(changed, row.UserID)
	}
	for _, m := range added {
		if people[m] == uuid.Nil {
			return DirectoryGroup{}, apierr.Invalid("members", "has a value that is the id of no user: "+m.String())
		}
	}
	if _, err := client.ExecContext(ctx, `insert into directory_group_members (workspace_id, group_id, user_id)
		select $1, $2, unnest($3::text[]::uuid[]) on conflict do nothing`, workspace, id, textsOf(added, people)); err != nil {
		return DirectoryGroup{}, fmt.Errorf("store members of a group: %w", err)
	}
	if _, err := client.ExecContext(ctx, "delete from directory_group_members where workspace_id = $1 and group_id = $2 and user_id = any($3::text[]::uuid[])",
		workspace, id, textsOf(removed, people)); err != nil {
		return DirectoryGroup{}, fmt.Errorf("delete members of a group: %w", err)
	}
	if len(changed) > 0 {
		if _, err := client.ExecContext(ctx, "update directory_groups set updated_at = $3 where workspace_id = $1 and id = $2", workspace, id, d.people.timestamp()); err != nil {
			return DirectoryGroup{}, fmt.Errorf("store a group: %w", err)
		}
	}
	out, err := d.group(ctx, client, workspace, id)
	if err != nil {
		return DirectoryGroup{}, err
	}
	if len(changed) > 0 {
		if err := d.record(ctx, client, "directory_group.members", id, out.Name, audit.Change{Field: "added", New: len(added)}, audit.Change{Field: "removed", New: len(removed)}); err != nil {
			return DirectoryGroup{}, err
		}
	}
	return out, d.applyRoles(ctx, client, workspace, changed...)
}

func textsOf(ids []uuid.UUID, people map[uuid.UUID]uuid.UUID) []string {
	out := make([]string, len(ids))
	for i, id := range ids {
		out[i] = people[id].String()
	}
	return out
}

func (d *Directory) applyRolesOf(ctx context.Context, client *ent.Client, workspace uuid.UUID, members []DirectoryMember) error {
	if len(d.o.GroupRoles) == 0 || len(members) == 0 {
		return nil
	}
	ids := make([]uuid.UUID, len(members))
	for i, m := range members {
		ids[i] = m.ID
	}
	rows, err := client.Membership.Query().Where(membership.WorkspaceID(workspace), membership.IDIn(ids...)).All(ctx)
	if err != nil {
		return err
	}
	people := make([]uuid.UUID, len(rows))
	for i, row := range rows {
		people[i] = row.UserID
	}
	return d.applyRoles(ctx, client, workspace, people...)
}

// applyRoles gives people the roles of their groups, if groups have roles. It leaves out
// owners, and people whom the directory does not manage.
func (d *Directory) applyRoles(ctx context.Context, client *ent.Client, workspace uuid.UUID, people ...uuid.UUID) error {
	if len(d.o.GroupRoles) == 0 || len(people) == 0 {
		return nil
	}
	rows, err := client.Membership.Query().Where(membership.WorkspaceID(workspace), membership.UserIDIn(people...), membership.RoleNEQ(membership.RoleOwner)).All(ctx)
	if err != nil {
		return err
	}
	for _, row := range rows {
		u, err := d.user(ctx, client, workspace, row.ID)
		if err != nil {
			return err
		}
		role := d.o.Role
		for _, rule := range slices.Backward(d.o.GroupRoles) {
			if slices.ContainsFunc(u.Groups, func(g DirectoryGroupName) bool { return strings.EqualFold(g.Name, rule.Group) }) {
				role = rule.Role
			}
		}
		if !u.managed || role == row.Role {
			continue
		}
		if err := client.Membership.UpdateOne(row).SetRole(role).Exec(ctx); err != nil {
			return err
		}
		d.people.invalidateSessions(ctx, row.UserID)
	}
	return nil
}

func (d *Directory) checkGroupName(ctx context.Context, client *ent.Client, workspace, id uuid.UUID, name string) error {
	n, err := scanCount(ctx, client, "select count(*) from directory_groups where workspace_id = $1 and name_key = $2 and id <> $3", workspace, strings.ToLower(name), id)
	if err == nil && n > 0 {
		err = taken("A group with this displayName exists already")
	}
	return err
}

func (d *Directory) record(ctx context.Context, client *ent.Client, action string, id uuid.UUID, name string, changes ...audit.Change) error {
	return audit.Record(ctx, audit.ClientExec(client), audit.Event{Action: action, TargetKind: "directory_group", TargetID: id, TargetName: name, Changes: changes})
}

func (in *DirectoryGroupDraft) clean() error {
	in.Name = strings.TrimSpace(in.Name)
	if in.Name == "" {
		return apierr.Invalid("displayName", "is required")
	}
	if err := checkDirectoryText("displayName", in.Name); err != nil {
		return err
	}
	if err := checkDirectoryText("externalId", in.ExternalID); err != nil {
		return err
	}
	slices.SortFunc(in.Members, func(a, b uuid.UUID) int { return slices.Compare(a[:], b[:]) })
	in.Members = slices.Compact(in.Members)
	if len(in.Members) > maxDirectoryMembers {
		return apierr.Invalid("members", fmt.Sprintf("must be at most %d", maxDirectoryMembers))
	}
	return nil
}

const directoryGroupsFrom = ` from directory_groups g where g.workspace_id = $1 and ($2::uuid is null or g.id = $2) and ($3 = '' or g.name_key = $3)
	and ($4 = '' or g.external_id = $4) and ($5::uuid is null or exists (select from directory_group_members m
		join memberships w on w.workspace_id = m.workspace_id and w.user_id = m.user_id where m.group_id = g.id and w.id = $5))`

func selectGroups(ctx context.Context, client *ent.Client, workspace uuid.UUID, f DirectoryGroupFilter, skip, limit int) ([]DirectoryGroup, int, error) {
	arguments := []any{workspace, f.ID, strings.ToLower(f.Name), f.ExternalID, f.Member}
	total, err := scanCount(ctx, client, "select count(*)"+directoryGroupsFrom, arguments...)
	if err != nil || total == 0 || limit == 0 {
		return nil, total, err
	}
	rows, err := client.QueryContext(ctx, "select g.id, g.name, coalesce(g.external_id, ''), g.created_at, g.updated_at"+directoryGroupsFrom+
		" order by g.created_at, g.id offset $6 limit $7", append(arguments, skip, limit)...)
	if err != nil {
		return nil, 0, fmt.Errorf("select groups: %w", err)
	}
	var found []DirectoryGroup
	for rows.Next() {
		var g DirectoryGroup
		if err := rows.Scan(&g.ID, &g.Name, &g.ExternalID, &g.CreatedAt, &g.UpdatedAt); err != nil {
			return nil, 0, errors.Join(fmt.Errorf("select groups: %w", err), rows.Close())
		}
		found = append(found, g)
	}
	if err := errors.Join(rows.Err(), rows.Close()); err != nil {
		return nil, 0, fmt.Errorf("select groups: %w", err)
	}
	return found, total, nil
}

func selectMembers(ctx context.Context, client *ent.Client, workspace, group uuid.UUID) ([]DirectoryMember, error) {
	rows, err := client.QueryContext(ctx, `select w.id, coalesce(nullif(u.name, ''), u.email) from directory_group_members m
		join memberships w on w.workspace_id = m.workspace_id and w.user_id = m.user_id join users u on u.id = m.user_id
		where m.workspace_id = $1 and m.group_id = $2 order by w.id`, workspace, group)
	if err != nil {
		return nil, fmt.Errorf("select members of a group: %w", err)
	}
	var found []DirectoryMember
	for rows.Next() {
		var m DirectoryMember
		if err := rows.Scan(&m.ID, &m.Name); err != nil {
			return nil, errors.Join(fmt.Errorf("select members of a group: %w", err), rows.Close())
		}
		found = append(found, m)
	}
	if err := errors.Join(rows.Err(), rows.Close()); err != nil {
		return nil, fmt.Errorf("select members of a group: %w", err)
	}
	return found, nil
}
