package main_test

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// A mail leads to a cited draft, an approval in Slack and the reply. Though the worker is
// killed at each step, everything happens once.
func TestAMailIsAnsweredOnceThoughTheWorkerIsKilledAtEachStep(t *testing.T) {
	t.Parallel()
	path, err := program()
	if err != nil {
		t.Fatal(err)
	}
	data := filepath.Join(t.TempDir(), "data")
	docs := t.TempDir()
	if err := os.WriteFile(filepath.Join(docs, "keys.md"), []byte("# Signing keys\n\nRotate the signing key once a year, with the command `rotate`.\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	command := programCommand(path, "--json", "--data", data, "demo", "automations", "--demo-docs", docs)
	var out, said bytes.Buffer
	command.Stdout, command.Stderr = &out, &said
	if err := command.Run(); err != nil {
		log, _ := os.ReadFile(filepath.Join(data, "automations", "magpie.log"))
		t.Fatalf("%v\n%s\n%s", err, said.String(), log)
	}
	type round struct {
		Kills                                                             []string
		Replies                                                           []struct{ To, Subject, Text string }
		Status                                                            string
		Outcomes                                                          []string
		Questions, Messages, Events, Runs, AgentRuns, ModelCalls, Seconds json.Number
	}
	var rounds struct{ Plain, Killed round }
	if err := json.Unmarshal(out.Bytes(), &rounds); err != nil {
		t.Fatalf("%v\n%s", err, out.String())
	}
	for _, c := range []struct {
		name             string
		round            round
		kills            int
		questions, calls json.Number
		outcomes         []string
	}{
		{"in peace", rounds.Plain, 0, "1", "2", []string{"Approved by"}},
		// The model is asked again by each worker that had no answer.
		{"killed", rounds.Killed, 8, "3", "4", []string{"Approved by", "Approved by", "Rejected by"}},
	} {
		r := c.round
		if len(r.Kills) != c.kills || r.Status != "completed" || r.Events != "1" || r.Runs != "1" || r.AgentRuns != "1" || r.Questions != c.questions || r.ModelCalls != c.calls {
			t.Errorf("%s: %+v", c.name, r)
		}
		if len(r.Replies) != 1 || r.Replies[0].To != "cleo@customer.example" || r.Replies[0].Subject != "Re: A question" ||
			!strings.Contains(r.Replies[0].Text, "once a year") || !strings.Contains(r.Replies[0].Text, "[1] Signing keys") {
			t.Errorf("%s: the replies are %+v", c.name, r.Replies)
		}
		for i, want := range c.outcomes {
			if len(r.Outcomes) != len(c.outcomes) || !strings.HasPrefix(r.Outcomes[i], want) {
				t.Errorf("%s: the outcomes are %q", c.name, r.Outcomes)
				break
			}
		}
	}
	t.Logf("%s s with %d workers killed", rounds.Killed.Seconds, len(rounds.Killed.Kills))
}
