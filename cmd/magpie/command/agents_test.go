package command_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestAgents(t *testing.T) {
	t.Parallel()
	s := newShell(t)
	if out := s.ok("agents"); !strings.Contains(out, "There is no agent yet") && out != "" {
		t.Errorf("%q", out)
	}
	var templates []struct {
		ID, Name, Category string
		BuiltIn            bool
	}
	s.read(&templates, "agents", "templates")
	if len(templates) < 10 || !templates[0].BuiltIn {
		t.Fatalf("%+v", templates)
	}
	if s.read(&templates, "agents", "templates", "--category", "operations"); len(templates) != 1 || templates[0].Name != "Incident responder" {
		t.Errorf("%+v", templates)
	}
	if out := s.ok("agents", "templates", "Data analyst"); !strings.Contains(out, "query_database") || !strings.Contains(out, "You answer questions with data") {
		t.Errorf("%s", out)
	}
	s.ok("collections", "create", "Docs")
	id := strings.TrimSpace(s.ok("agents", "create", "Runbooks", "--template", "Incident responder", "--collection", "Docs", "--greeting", "What is up?"))
	var agent struct {
		ID, Name, SystemPrompt, StartMessage string
		Tools, Collections                   []string
		AllCollections                       bool
	}
	s.read(&agent, "agents", "show", "Runbooks")
	if agent.ID != id || agent.AllCollections || len(agent.Collections) != 1 || agent.StartMessage != "What is up?" || !strings.Contains(agent.SystemPrompt, "runbook") {
		t.Errorf("%+v", agent)
	}
	file := filepath.Join(t.TempDir(), "prompt.txt")
	if err := os.WriteFile(file, []byte("You add numbers.\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	s.ok("agents", "create", "Sums", "--prompt-file", file, "--tool", "calculate", "--description", "Adds")
	if out := s.ok("agents", "show", "Sums"); !strings.Contains(out, "You add numbers.") || !strings.Contains(out, "all collections") {
		t.Errorf("%s", out)
	}
	if out := s.ok("agents"); !strings.Contains(out, id) || !strings.Contains(out, "Sums") || !strings.Contains(out, "1 collections") {
		t.Errorf("%s", out)
	}
	s.fails("--prompt", "agents", "create", "Nothing")
	s.fails("not both", "agents", "create", "Nothing", "--prompt", "x", "--prompt-file", file)
	s.fails("no such file", "agents", "create", "Nothing", "--prompt-file", file+"x")
	s.fails("tools[1]", "agents", "create", "Nothing", "--prompt", "x", "--tool", "calculate", "--tool", "fly")
	s.fails("there is no template", "agents", "create", "Nothing", "--template", "Nobody")
	s.fails("there is no agent", "agents", "show", "Nobody")

	memory := strings.TrimSpace(s.ok("agents", "memories", "add", "Runbooks", "The pager is in the drawer.", "--kind", "procedure", "--importance", "0.9"))
	s.ok("agents", "memories", "add", id, "Deployments are on Tuesdays.")
	var memories []struct {
		ID, Kind string
		Score    *float64
	}
	if s.read(&memories, "agents", "memories", "Runbooks"); len(memories) != 2 || memories[0].ID != memory || memories[0].Kind != "PROCEDURE" || memories[0].Score != nil {
		t.Errorf("%+v", memories)
	}
	if s.read(&memories, "agents", "memories", "list", "Runbooks", "--search", "where is the pager?", "--limit", "1"); len(memories) != 1 || memories[0].ID != memory || memories[0].Score == nil {
		t.Errorf("%+v", memories)
	}
	if s.read(&memories, "agents", "memories", "Runbooks", "--kind", "insight"); len(memories) != 0 {
		t.Errorf("%+v", memories)
	}
	s.fails("importance", "agents", "memories", "add", "Runbooks", "x", "--importance", "2")
	s.ok("agents", "memories", "delete", memory)
	s.fails("not found", "agents", "memories", "delete", memory)
	s.fails("--yes", "agents", "delete", "Runbooks")
	s.ok("agents", "delete", "Runbooks", "--yes")
	s.fails("not found", "agents", "memories", id)
}
