package mysql

import (
	"context"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/magpie-search/magpie/connectors"
)

// reading are the privileges of an account that can only read.
func reading() []string { return []string{"USAGE", "SELECT", "SHOW VIEW", "SHOW DATABASES"} }

var (
	columnsOf = regexp.MustCompile(`\([^)]*\)`)
	roleOnly  = regexp.MustCompile("(?i)^GRANT\\s+[`'\"]")
	granted   = regexp.MustCompile(`(?is)^GRANT\s+(.*?)\s+ON\s+`)
)

// Powers reads the lines of SHOW GRANTS and returns the privileges that do more
// than read, in order, and whether one of them reaches files, which no
// transaction keeps from being written.
func Powers(lines []string) (more []string, files bool) {
	for _, line := range lines {
		if roleOnly.MatchString(line) || strings.HasPrefix(strings.ToUpper(line), "SET DEFAULT ROLE") {
			continue // what a role gives has lines of its own
		}
		found := granted.FindStringSubmatch(line)
		if found == nil {
			more = append(more, "grants that cannot be read")
			continue
		}
		for privilege := range strings.SplitSeq(columnsOf.ReplaceAllString(found[1], ""), ",") {
			privilege = strings.ToUpper(strings.TrimSpace(privilege))
			if slices.Contains(reading(), privilege) {
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
	defer func() { _ = rows.Close() }() // Err tells of everything that matters
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
	more, files := Powers(lines)
	switch list := strings.Join(more[:min(len(more), 20)], ", "); {
	case files:
		return connectors.NeedsAuth(fmt.Errorf("the account may read and write files of the server (%s), which is never accepted; give one that has SELECT on the database alone", list))
	case len(more) > 0 && !d.writes:
		return connectors.NeedsAuth(fmt.Errorf("the account may do more than read (%s); give one that has SELECT on the database alone, or accept this one with config.allowWriteAccess", list))
	}
	return nil
}
