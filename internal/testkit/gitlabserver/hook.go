package gitlabserver

import (
	"encoding/json"
	"net/http"
	"strconv"
	"time"

	"github.com/magpie-search/magpie/internal/testkit/gitserver"
)

// IssueHook returns the delivery of a webhook after an issue of a project was changed.
func (s *Server) IssueHook(id int64, iid int, secret string) (http.Header, []byte) {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	event, title, project := "Issue Hook", "issue", map[string]any{"id": id}
	object := map[string]any{"iid": iid, "project_id": id, "action": "update", "type": "Issue"}
	for _, p := range s.projects {
		if p.ID != id || iid > len(p.Issues) {
			continue
		}
		issue := p.Issues[iid-1]
		if issue.Confidential {
			event, title = "Confidential Issue Hook", "confidential_issue"
		}
		project["path_with_namespace"], project["default_branch"] = p.Path, "main"
		object["title"], object["confidential"], object["updated_at"] = issue.Title, issue.Confidential, issue.Updated.Format("2006-01-02 15:04:05 MST")
	}
	return s.delivery(event, secret, map[string]any{"object_kind": "issue", "event_type": title, "project": project, "object_attributes": object})
}

// PushHook returns the delivery of a webhook after a push of one commit to the branch.
func (s *Server) PushHook(id int64, secret string, added, modified, removed []string) (http.Header, []byte) {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	project, head := map[string]any{"id": id}, ""
	for _, p := range s.projects {
		if p.ID == id {
			head = p.head()
			project["path_with_namespace"], project["default_branch"] = p.Path, "main"
		}
	}
	commit := map[string]any{"id": head, "timestamp": s.clock.Format(time.RFC3339), "added": added, "modified": modified, "removed": removed}
	return s.delivery("Push Hook", secret, map[string]any{
		"object_kind": "push", "event_name": "push", "before": gitserver.Hash("commit", []byte(head)), "after": head, "ref": "refs/heads/main", "project_id": id, "project": project,
		"commits": []any{commit}, "total_commits_count": 1,
	})
}

func (s *Server) delivery(event, secret string, body map[string]any) (http.Header, []byte) {
	s.deliveries++
	text, err := json.Marshal(body)
	if err != nil {
		text = nil // not for such values
	}
	header := http.Header{}
	header.Set("Content-Type", "application/json")
	header.Set("Idempotency-Key", "delivery-"+strconv.Itoa(s.deliveries))
	header.Set("X-Gitlab-Event", event)
	header.Set("X-Gitlab-Instance", s.URL)
	if secret != "" {
		header.Set("X-Gitlab-Token", secret)
	}
	return header, text
}
