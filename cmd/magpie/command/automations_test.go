package command_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestAutomations(t *testing.T) {
	t.Parallel()
	s := newShell(t)
	s.ok("collections", "create", "Docs")
	agent := strings.TrimSpace(s.ok("agents", "create", "Notes", "--template", "Incident responder", "--collection", "Docs"))
	s.fails("give a file or --template", "automations", "create")
	s.fails("there is no template", "automations", "create", "--template", "nothing", "--agent", "Notes")
	s.fails("give --collection", "automations", "create", "--template", "meeting_notes", "--agent", "Notes")
	id := strings.TrimSpace(s.ok("automations", "create", "--template", "meeting_notes", "--agent", "Notes", "--collection", "Docs", "--service"))
	var shown struct {
		ID, Name, Kind, RunAs, AgentID string
		Enabled                        bool
		Delivery                       []map[string]any
	}
	s.read(&shown, "automations", "show", "Meeting notes")
	if shown.ID != id || shown.Kind != "MEETING" || shown.RunAs != "SERVICE" || shown.AgentID != agent || !shown.Enabled || len(shown.Delivery) != 1 {
		t.Errorf("%+v", shown)
	}
	file := filepath.Join(t.TempDir(), "automation.json")
	if err := os.WriteFile(file, []byte(`{"name":"Daily","kind":"schedule","instructions":"Report on {{event.date}}","trigger":{"cron":"0 9 * * 1-5"}}`), 0o600); err != nil {
		t.Fatal(err)
	}
	s.fails("give the agent", "automations", "create", file)
	s.ok("automations", "create", file, "--agent", "Notes")
	if out := s.ok("automations"); !strings.Contains(out, id) || !strings.Contains(out, "Daily") || !strings.Contains(out, "schedule") {
		t.Errorf("%s", out)
	}
	s.ok("automations", "disable", "Daily")
	if s.read(&shown, "automations", "show", "Daily"); shown.Enabled {
		t.Errorf("%+v", shown)
	}
	s.ok("automations", "enable", "Daily")
	run := strings.TrimSpace(s.ok("automations", "run", "Daily", "--payload", `{"date":"today"}`))
	if out := s.ok("automations", "runs", "Daily"); !strings.Contains(out, run) || !strings.Contains(out, "queued") {
		t.Errorf("%s", out)
	}
	if out := s.ok("automations", "runs", "--status", "failed"); strings.Contains(out, run) {
		t.Errorf("%s", out)
	}
	s.fails("has not ended", "automations", "replay", run)
	s.fails("no JSON object", "automations", "run", "Daily", "--payload", "7")
	s.fails("--yes", "automations", "delete", "Daily")
	s.ok("automations", "delete", "Daily", "--yes")
	s.fails("automation", "automations", "show", "Daily")
}
