package stack_test

import (
	"net/http"

	"github.com/magpie-search/magpie/internal/testkit"
)

// automate creates an automation and starts a run of it.
func (s *service) automate(name, agent string) (automation, run string) {
	s.t.Helper()
	made := s.call(http.MethodPost, "/api/v1/automations", map[string]any{
		"name": "Automation of " + name, "agent": agent, "kind": "manual", "instructions": "Say the " + canary + " of " + name + ".",
	})
	automation, _ = made.data["id"].(string)
	started := s.call(http.MethodPost, "/api/v1/automations/"+automation+"/run", map[string]any{"payload": map[string]any{"text": "The " + canary + " of " + name}})
	run, _ = started.data["id"].(string)
	if run == "" {
		s.t.Fatalf("created: %s\nstarted: %s", made.body, started.body)
	}
	testkit.WaitFor(s.t, "a worker has run the automation", func() bool {
		status, _ := s.call(http.MethodGet, "/api/v1/automation-runs/"+run, nil).data["status"].(string)
		if status == "failed" {
			s.t.Fatalf("the run failed: %s", s.call(http.MethodGet, "/api/v1/automation-runs/"+run, nil).body)
		}
		return status == "completed"
	})
	return automation, run
}

// automationIntrusions has one case for each route of automations.
func automationIntrusions(ada belongings) map[string]intrusion {
	const all, runs = "/api/v1/automations", "/api/v1/automation-runs"
	one, run := all+"/"+ada.automation, runs+"/"+ada.automated
	return map[string]intrusion{
		"GET " + all:                    {all, nil, 200},
		"GET " + all + "/templates":     {all + "/templates", nil, 200},
		"POST " + all:                   {all, map[string]any{"name": "Mine", "agent": ada.agent, "kind": "manual", "instructions": "Tell me."}, 404},
		"GET " + all + "/{id}":          {one, nil, 404},
		"PUT " + all + "/{id}":          {one, map[string]any{"name": "Mine"}, 404},
		"DELETE " + all + "/{id}":       {one, nil, 404},
		"POST " + all + "/{id}/run":     {one + "/run", map[string]any{}, 404},
		"GET " + all + "/{id}/runs":     {one + "/runs", nil, 404},
		"GET " + runs + "/{id}":         {run, nil, 404},
		"POST " + runs + "/{id}/replay": {run + "/replay", nil, 404},
		"POST " + runs + "/{id}/cancel": {run + "/cancel", nil, 404},
	}
}
