package mysql

import (
	"context"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/magpie-search/magpie/connectors"
)

// readPrivileges returns the privileges of an account that can only read.
func readPrivileges() []string { return []string{"USAGE", "SELECT", "SHOW VIEW", "SHOW DATABASES"} }

var (
	columnList     = regexp.MustCompile(`\([^)]*\)`)
	roleGrant      = regexp.MustCompile("(?i)^GRANT\\s+[`'\"]")
	privilegeGrant = regexp.MustCompile(`(?is)^GRANT\s+(.*?)\s+ON\s+`)
)

// ExtraPrivileges parses the lines of SHOW GRANTS. It returns the privileges
// that allow more than reading, in order, and whether one of them allows access
// to files, from which no transaction protects.
func ExtraPrivileges(lines []string) (more []string, files bool) {
	for _, line := range lines {
		if roleGrant.MatchString(line) || strings.HasPrefix(strings.ToUpper(line), "SET DEFAULT ROLE") {
			continue // what a role gives has lines of its own
		}
		found := privilegeGrant.FindStringSubmatch(line)
		if found == nil {
			more = append(more, "grants that cannot be read")
			continue
		}
		for privilege := range strings.SplitSeq(columnList.ReplaceAllString(found[1], ""), ",") {
			privilege = strings.ToUpper(strings.TrimSpace(privilege))
			if slices.Contains(readPrivileges(), privilege) {
				continue
			}
			everywhere := strings.Contains(line, " ON *.* ")
			files = files || privilege == "FILE" || everywhere && strings.HasPrefix(privilege, "ALL")
			if !slices.Contains(more, privilege) {
				more = append(more, privilege)
			}
		}
		if strings.Contains(strings.ToUpper(line), "WITH GRANT OPTION") && !slices.Contains(more, "GRANT OPTION") {
			more = append(more, "GRANT OPTION")
		}
	}
	return more, files
}

// checkGrants refuses an account that may do more than read.
func (d *database) checkGrants(ctx context.Context, s *session) error {
	rows, err := s.conn.QueryContext(ctx, "show grants")
	if err != nil {
		return d.connectError(err)
	}
	defer func() { _ = rows.Close() }() // Err reports what matters
	var lines []string
	for rows.Next() {
		var line string
		if err := rows.Scan(&line); err != nil {
			return d.connectError(err)
		}
		lines = append(lines, line)
	}
	if err := rows.Err(); err != nil {
		return d.connectError(err)
	}
	more, files := ExtraPrivileges(lines)
	switch list := strings.Join(more[:min(len(more), 20)], ", "); {
	case files:
		return connectors.NeedsAuth(fmt.Errorf("the account may read and write files of the server (%s), which is never accepted; give one that has SELECT on the database alone", list))
	case len(more) > 0 && !d.AllowWrites:
		return connectors.NeedsAuth(fmt.Errorf("the account may do more than read (%s); give one that has SELECT on the database alone, or accept this one with config.allowWriteAccess", list))
	}
	return nil
}
