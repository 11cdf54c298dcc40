package conformance_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/google/uuid"
)

func engineCases() map[string]check {
	return map[string]check{
		"design sync requests: sync_mode, file_filter and force_full_sync": syncRequestsHold,
		"design sync plans, quarantine and restoration":                    plansHold,
	}
}

// started is what the start of a job answers.
type started struct {
	JobID             uuid.UUID
	Status, StartedAt string
}

// syncRequestsHold goes through the table of the sync body. Nobody works here:
// jobs stay queued until they are canceled.
func syncRequestsHold(t *testing.T, s *site) {
	in := s.collection(t, "Sync requests")
	connector := "/api/v1/connectors/" + in.connector
	names := func(n int) string {
		list := make([]string, n)
		for i := range list {
			list[i] = fmt.Sprintf("doc-%d.md", i)
		}
		text, err := json.Marshal(list)
		must(t, err)
		return string(text)
	}
	for _, c := range []struct {
		what, body string
		refused    string // the field
		mode       string
		filter     int
	}{
		{what: "no body", mode: "auto"},
		{what: "an empty body", body: `{}`, mode: "auto"},
		{what: "auto", body: `{"sync_mode":"auto"}`, mode: "auto"},
		{what: "auto of names", body: `{"sync_mode":"auto","file_filter":["a.md","/b.md","a.md"]}`, mode: "auto", filter: 2},
		{what: "names alone", body: `{"file_filter":["a.md"]}`, mode: "auto", filter: 1},
		{what: "no names", body: `{"file_filter":[]}`, mode: "auto"},
		{what: "full", body: `{"sync_mode":"full"}`, mode: "full"},
		{what: "full ignores names", body: `{"sync_mode":"full","file_filter":["a.md"]}`, mode: "full"},
		{what: "incremental", body: `{"sync_mode":"incremental","file_filter":["a.md"]}`, mode: "incremental", filter: 1},
		{what: "as many names as allowed", body: `{"sync_mode":"incremental","file_filter":` + names(10_000) + `}`, mode: "incremental", filter: 10_000},
		{what: "force", body: `{"force_full_sync":true}`, mode: "full"},
		{what: "no force", body: `{"force_full_sync":false}`, mode: "auto"},
		{what: "force wins over incremental", body: `{"force_full_sync":true,"sync_mode":"incremental"}`, mode: "full"},
		{what: "no force and incremental", body: `{"force_full_sync":false,"sync_mode":"incremental","file_filter":["a.md"]}`, mode: "incremental", filter: 1},
		{what: "incremental without names", body: `{"sync_mode":"incremental"}`, refused: "file_filter"},
		{what: "incremental with no names", body: `{"sync_mode":"incremental","file_filter":[]}`, refused: "file_filter"},
		{what: "too many names", body: `{"sync_mode":"incremental","file_filter":` + names(10_001) + `}`, refused: "file_filter"},
		{what: "an empty name", body: `{"file_filter":[""]}`, refused: "file_filter"},
		{what: "a long name", body: `{"file_filter":["` + strings.Repeat("a", 1025) + `"]}`, refused: "file_filter"},
		{what: "a name that is none", body: `{"file_filter":[7]}`, refused: "file_filter"},
		{what: "names that are no list", body: `{"file_filter":"a.md"}`, refused: "file_filter"},
		{what: "another mode", body: `{"sync_mode":"all"}`, refused: "sync_mode"},
		{what: "a mode of other jobs", body: `{"sync_mode":"plan"}`, refused: "sync_mode"},
		{what: "a force that is none", body: `{"force_full_sync":"yes"}`, refused: "force_full_sync"},
	} {
		for _, path := range []string{"/sync", "/plan"} {
			got := s.dashboard(t, http.MethodPost, connector+path, c.body)
			if c.refused != "" {
				denied(t, path+", "+c.what, got, 400, "invalid_request")
				if !strings.Contains(got.body, c.refused) {
					t.Errorf("%s, %s: %s", path, c.what, got.body)
				}
				continue
			}
			job := read[started](t, path+", "+c.what, got, 202)
			var answer struct {
				Job struct {
					Mode, PlannedMode string
					FileFilter        []string
				}
			}
			s.graphql(t, &answer, `query($i: ID!) { job: syncJob(id: $i) { mode plannedMode fileFilter } }`, map[string]any{"i": job.JobID})
			mode := answer.Job.Mode
			if path == "/plan" {
				if mode != "PLAN" {
					t.Errorf("%s: the plan is a job of the mode %s", c.what, mode)
				}
				mode = answer.Job.PlannedMode
			}
			if job.Status != "queued" || job.StartedAt == "" || !strings.EqualFold(mode, c.mode) || len(answer.Job.FileFilter) != c.filter {
				t.Errorf("%s, %s: %+v, mode %s, %d names", path, c.what, job, mode, len(answer.Job.FileFilter))
			}
			read[map[string]any](t, "cancel", s.dashboard(t, http.MethodPost, connector+"/sync/"+job.JobID.String()+"/cancel", ""), 200)
		}
	}
}

func plansHold(t *testing.T, s *site) {
	in := s.collection(t, "Plans")
	connector := "/api/v1/connectors/" + in.connector
	job := read[started](t, "plan", s.dashboard(t, http.MethodPost, connector+"/plan", ""), 202)
	if again := read[started](t, "the same plan", s.dashboard(t, http.MethodPost, connector+"/plan", `{}`), 202); again.JobID != job.JobID {
		t.Errorf("an equal plan is another job: %+v", again)
	}
	denied(t, "a sync beside a plan", s.dashboard(t, http.MethodPost, connector+"/sync", ""), 409, "conflict")
	plan := read[struct {
		Job    struct{ Mode, Status string }
		Counts map[string]int
		Guard  *struct{ Blocked bool }
	}](t, "read the plan", s.dashboard(t, http.MethodGet, connector+"/plan/"+job.JobID.String(), ""), 200)
	if plan.Job.Mode != "plan" || plan.Job.Status != "queued" || len(plan.Counts) != 9 || plan.Guard != nil {
		t.Errorf("the plan is %+v", plan)
	}
	items := read[[]any](t, "its items", s.dashboard(t, http.MethodGet, connector+"/plan/"+job.JobID.String()+"/items?action=delete", ""), 200)
	if len(items) != 0 {
		t.Errorf("items %v", items)
	}
	denied(t, "a plan of nobody", s.dashboard(t, http.MethodGet, connector+"/plan/"+uuid.NewString(), ""), 404, "not_found")
	denied(t, "an unknown action", s.dashboard(t, http.MethodGet, connector+"/plan/"+job.JobID.String()+"/items?action=rename", ""), 400, "invalid_request")
	denied(t, "restore what an open job deleted", s.dashboard(t, http.MethodPost, connector+"/sync/"+job.JobID.String()+"/restore", ""), 409, "conflict")
	read[map[string]any](t, "cancel", s.dashboard(t, http.MethodPost, connector+"/sync/"+job.JobID.String()+"/cancel", ""), 200)
	denied(t, "restore what no job deleted", s.dashboard(t, http.MethodPost, connector+"/sync/"+job.JobID.String()+"/restore", ""), 409, "conflict")

	if waiting := read[[]any](t, "quarantine", s.dashboard(t, http.MethodGet, connector+"/quarantine", ""), 200); len(waiting) != 0 {
		t.Errorf("in quarantine: %v", waiting)
	}
	for _, decision := range []string{"approve", "dismiss"} {
		denied(t, decision, s.dashboard(t, http.MethodPost, connector+"/quarantine/"+decision, ""), 409, "conflict")
		denied(t, decision, s.dashboard(t, http.MethodPost, "/api/v1/connectors/"+uuid.NewString()+"/quarantine/"+decision, ""), 404, "not_found")
	}
	s.put(t, in, document{path: "pangolin.md", title: "Pangolins", texts: []string{"A pangolin is covered in scales."}})
	listed := read[[]struct{ ID string }](t, "documents", s.dashboard(t, http.MethodGet, connector+"/documents", ""), 200)
	if len(listed) != 1 {
		t.Fatalf("documents %v", listed)
	}
	one := connector + "/documents/" + listed[0].ID
	denied(t, "restore what is there", s.dashboard(t, http.MethodPost, one+"/restore", ""), 409, "conflict")
	if got := s.dashboard(t, http.MethodDelete, one, ""); got.status != 204 {
		t.Fatalf("delete: %d %s", got.status, got.body)
	}
	denied(t, "read what is deleted", s.dashboard(t, http.MethodGet, one, ""), 404, "not_found")
	back := read[struct{ ID, Status string }](t, "restore", s.dashboard(t, http.MethodPost, one+"/restore", ""), 200)
	if back.ID != listed[0].ID || back.Status != "indexed" {
		t.Errorf("restored %+v", back)
	}
	read[map[string]any](t, "read what is back", s.dashboard(t, http.MethodGet, one, ""), 200)
	stats := read[map[string]any](t, "stats", s.dashboard(t, http.MethodGet, connector+"/stats", ""), 200)
	for _, field := range []string{"id", "documents", "pendingDeletion", "freshness", "history"} {
		if _, ok := stats[field]; !ok {
			t.Errorf("stats have no %s: %v", field, stats)
		}
	}
}
