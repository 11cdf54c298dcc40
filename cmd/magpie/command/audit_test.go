package command_test

import (
	"slices"
	"strings"
	"testing"
)

func TestTheShellsDoingIsInTheAuditLog(t *testing.T) {
	t.Parallel()
	s := newShell(t)
	s.ok("collections", "create", "Docs")
	s.ok("connectors", "create", "--name", "Bucket", "--type", "s3", "--collection", "Docs", "--option", "bucket=docs",
		"--credential", "accessKeyId=12345", "--credential", "secretAccessKey=hunter2")
	s.ok("connectors", "update", "Bucket", "--name", "Pail", "--option", "prefix=handbook/")
	s.ok("users", "create", "new@example.com", "--role", "viewer")
	s.ok("quota", "set", "--limit", "5")
	s.ok("collections", "delete", "Docs", "--yes")
	var rows []struct {
		ActorKind, ActorName, Action, TargetName string
		IP                                       *string
		Changes                                  []struct {
			Field    string
			Old, New any
			Hidden   bool
		}
	}
	s.read(&rows, "audit", "--limit", "7")
	var actions []string
	for _, row := range rows {
		actions = append(actions, row.Action)
		if row.ActorKind != "COMMAND" || row.ActorName == "" || row.IP != nil {
			t.Errorf("%+v", row)
		}
	}
	want := []string{"connector.delete", "collection.delete", "quota.set", "member.add", "connector.update", "connector.create", "collection.create"}
	if !slices.Equal(actions, want) {
		t.Errorf("%v", actions)
	}
	if len(rows) == 7 && (rows[0].TargetName != "Pail" || rows[3].TargetName != "new@example.com" || rows[4].TargetName != "Pail" || len(rows[4].Changes) != 2) {
		t.Errorf("%+v\n%+v\n%+v", rows[0], rows[3], rows[4])
	}
	out := s.ok("audit", "--action", "connector.*", "--days", "1")
	if strings.Count(out, "connector.") != 3 || strings.Contains(out, "hunter2") || !strings.Contains(out, "credentials") || !strings.Contains(out, "WHO") {
		t.Errorf("%s", out)
	}
	if out := s.ok("audit", "--matching", "PAIL", "--target-kind", "connector"); !strings.Contains(out, "connector.update") || strings.Contains(out, "connector.create") {
		t.Errorf("%s", out)
	}
	s.read(&rows, "audit", "--actor", "nobody@example.com")
	if len(rows) != 0 {
		t.Errorf("%+v", rows)
	}
	s.fails("target", "audit", "--target", "zz")
}
