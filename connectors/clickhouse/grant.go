package clickhouse

import (
	"context"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/magpie-search/magpie/connectors"
)

// readPrivileges returns the privileges of a user that can only read.
func readPrivileges() []string {
	return []string{"SELECT", "SHOW", "SHOW DATABASES", "SHOW TABLES", "SHOW COLUMNS", "SHOW DICTIONARIES", "SHOW ROW POLICIES", "DICTGET", "USAGE", "NONE"}
}

var (
	columnList     = regexp.MustCompile(`\([^)]*\)`)
	privilegeGrant = regexp.MustCompile(`(?is)^GRANT\s+(.*?)\s+ON\s+`)
	roleGrant      = regexp.MustCompile(`(?is)^GRANT\s+(.*?)\s+TO\s+`)
)

// ExtraPrivileges parses the lines of SHOW GRANTS. It returns the privileges that
// allow more than reading tables, in order, and the granted roles.
func ExtraPrivileges(lines []string) (more, roles []string) {
	add := func(list *[]string, name string) {
		if !slices.Contains(*list, name) {
			*list = append(*list, name)
		}
	}
	for _, line := range lines {
		if strings.HasPrefix(strings.ToUpper(line), "REVOKE ") {
			continue // takes away a part of a grant
		}
		found := privilegeGrant.FindStringSubmatch(line)
		if found == nil {
			if found = roleGrant.FindStringSubmatch(line); found == nil {
				add(&more, "grants that cannot be read")
				continue
			}
			for role := range strings.SplitSeq(found[1], ",") {
				add(&roles, strings.Trim(strings.TrimSpace(role), "`"))
			}
			continue
		}
		for privilege := range strings.SplitSeq(columnList.ReplaceAllString(found[1], ""), ",") {
			if privilege = strings.ToUpper(strings.TrimSpace(privilege)); !slices.Contains(readPrivileges(), privilege) {
				add(&more, privilege)
			}
		}
		if strings.Contains(strings.ToUpper(line), "WITH GRANT OPTION") {
			add(&more, "GRANT OPTION")
		}
	}
	return more, roles
}

// checkGrants refuses a user that may do more than read. A profile with readonly =
// 2 takes away what grants give.
func (d *database) checkGrants(ctx context.Context) error {
	if d.profileIsReadonly.Load() {
		return nil
	}
	got, err := d.send(ctx, "show grants", serverLimits{timeout: checkTimeout})
	if failure, ok := errors.AsType[*serverError](err); ok && failure.code == codeSyntax {
		// Before 20.4 there were no grants, and only a profile takes rights away.
		return connectors.NeedsAuth(errors.New("the user may do more than read, since its settings profile has readonly = 0; give it a profile with readonly = 2, or accept this one with config.allowWriteAccess"))
	}
	if err != nil {
		return d.connectError(err)
	}
	more, err := d.extraPrivileges(ctx, got)
	switch {
	case err != nil:
		return d.connectError(err)
	case len(more) > 0:
		const shown = 20
		return connectors.NeedsAuth(fmt.Errorf("the user may do more than read (%s); give one that has SELECT on the database alone, or accept this one with config.allowWriteAccess",
			strings.Join(more[:min(len(more), shown)], ", ")))
	}
	return nil
}

// extraPrivileges returns the privileges of the user and of its roles that allow
// more than reading. got is the result of SHOW GRANTS.
func (d *database) extraPrivileges(ctx context.Context, got *result) ([]string, error) {
	more, roles := ExtraPrivileges(got.lines())
	const maxRoles = 100
	for i := 0; i < len(roles); i++ {
		if i >= maxRoles {
			return append(more, "more than 100 roles"), nil
		}
		granted, err := d.send(ctx, "show grants for `"+strings.ReplaceAll(roles[i], "`", "\\`")+"`", serverLimits{timeout: checkTimeout})
		if failure, ok := errors.AsType[*serverError](err); ok && failure.code != codeTimeout {
			more = append(more, "the role "+roles[i]+", whose grants the user cannot see")
			continue
		}
		if err != nil {
			return nil, err
		}
		extra, further := ExtraPrivileges(granted.lines())
		for _, privilege := range extra {
			more = append(more, privilege+" by the role "+roles[i])
		}
		for _, role := range further {
			if !slices.Contains(roles, role) {
				roles = append(roles, role)
			}
		}
	}
	return more, nil
}

// lines returns the texts of the first column.
func (r *result) lines() []string {
	lines := make([]string, len(r.Data))
	for i := range r.Data {
		if len(r.Data[i]) > 0 {
			lines[i] = r.text(i, 0)
		}
	}
	return lines
}
