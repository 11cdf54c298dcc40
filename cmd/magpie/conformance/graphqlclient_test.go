package conformance_test

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/magpie-search/magpie/internal/queue"
	"github.com/magpie-search/magpie/internal/syncjob"
)

// node is a script of the folder node, whose packages setup.sh installs.
func node(t *testing.T, script string, arguments ...string) *exec.Cmd {
	t.Helper()
	program, err := exec.LookPath("node")
	if err != nil {
		t.Fatal("Node.js 18 or newer is missing, which other people's GraphQL clients need; `scripts/setup.sh --tests` installs it")
	}
	if _, err := os.Stat(filepath.Join("node", "node_modules", "graphql-ws")); err != nil {
		t.Fatal("the packages of cmd/magpie/conformance/node are missing; `scripts/setup.sh --tests` installs them (or: npm ci, in that folder)")
	}
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	t.Cleanup(cancel)
	return exec.CommandContext(ctx, program, append([]string{filepath.Join("node", script)}, arguments...)...)
}

// The audits of graphql-http that are not met, and why.
func auditExceptions() map[string]string {
	return map[string]string{}
}

func TestTheGraphQLOverHTTPAudits(t *testing.T) {
	t.Parallel()
	s := start(t, nil)
	out, err := node(t, "audit.mjs", s.url+"/graphql", s.token).Output()
	if err != nil {
		t.Fatalf("%v\n%s", err, stderrOf(err))
	}
	type audit struct{ ID, Name, Status, Reason string }
	counts := map[string]int{}
	exceptions := auditExceptions()
	for line := range bytes.Lines(out) {
		var a audit
		must(t, json.Unmarshal(line, &a))
		counts[a.Status]++
		t.Logf("%-6s %s %s %s", a.Status, a.ID, a.Name, a.Reason)
		why, excepted := exceptions[a.ID]
		switch met := a.Status == "ok" || a.Status == "notice"; { // a notice is about a MAY
		case !met && !excepted:
			t.Errorf("%s %s: %s", a.ID, a.Name, a.Reason)
		case met && excepted:
			t.Errorf("%s is met, but is listed as an exception: %s", a.ID, why)
		}
	}
	t.Logf("%v", counts)
	if counts["ok"] < 50 {
		t.Errorf("only %d audits were met: did they run?", counts["ok"])
	}
}

func stderrOf(err error) string {
	if failed, ok := err.(*exec.ExitError); ok { //nolint:errorlint // as exec gives it
		return string(failed.Stderr)
	}
	return ""
}

// seen is a line that client.mjs prints.
type seen struct {
	What, Name, Reason string
	Code               int
	Received           bool
	Message            struct{ Type, ID string }
	List               []struct {
		Message    string
		Extensions struct{ Code string }
	}
	Result struct {
		Data   map[string]json.RawMessage
		Errors []struct{ Extensions struct{ Code string } }
	}
}

// speak runs a scenario and gives what it saw, line by line; react is called
// with each line.
func (s *site) speak(t *testing.T, scenario string, given map[string]any, react func(seen)) (all []seen) {
	t.Helper()
	if _, ok := given["token"]; !ok {
		given["token"] = s.token
	}
	text, err := json.Marshal(given)
	must(t, err)
	command := node(t, "client.mjs", scenario, "ws"+strings.TrimPrefix(s.url, "http")+"/graphql", string(text))
	var problems bytes.Buffer
	command.Stderr = &problems
	out, err := command.StdoutPipe()
	must(t, err)
	must(t, command.Start())
	for lines := bufio.NewScanner(out); lines.Scan(); {
		var line seen
		if err := json.Unmarshal(lines.Bytes(), &line); err != nil {
			t.Errorf("%s: %s", scenario, lines.Bytes())
			continue
		}
		all = append(all, line)
		if react != nil {
			react(line)
		}
	}
	if err := command.Wait(); err != nil {
		t.Fatalf("%s: %v\n%s", scenario, err, problems.String())
	}
	return all
}

// whats are the kinds of lines in their order, those that repeat once.
func whats(all []seen) (list []string) {
	for _, line := range all {
		list = append(list, line.What)
	}
	return slices.Compact(list)
}

func last(all []seen, what string) (found seen) {
	for _, line := range all {
		if line.What == what {
			found = line
		}
	}
	return found
}

// queued starts a sync, which nobody works on.
func (s *site) queued(t *testing.T, connector string) (job string) {
	t.Helper()
	var made struct{ StartSync struct{ ID string } }
	s.graphql(t, &made, `mutation($c: ID!) { startSync(connectorId: $c) { id } }`, map[string]any{"c": connector})
	return made.StartSync.ID
}

// finish does what a worker does with a job that has nothing to do.
func (s *site) finish(t *testing.T, job string) {
	t.Helper()
	run, err := s.app.Jobs.Claim(t.Context(), queue.Sync{JobID: uuid.MustParse(job)})
	must(t, err)
	run.Count(func(c *syncjob.Counters) { c.Collected, c.Unchanged = 3, 3 })
	must(t, run.Complete(t.Context()))
}

const progress = `subscription($job: ID!) { syncProgress(jobId: $job) { status revision progress { collected } } }`

func TestGraphQLWSFollowsASync(t *testing.T) {
	t.Parallel()
	s := start(t, nil)
	for _, scenario := range []string{"lazy", "eager"} {
		job := s.queued(t, s.docs.connector)
		var states []string
		all := s.speak(t, scenario, map[string]any{"query": progress, "variables": map[string]any{"job": job}}, func(line seen) {
			var e struct{ Status string }
			if raw, ok := line.Result.Data["syncProgress"]; ok {
				must(t, json.Unmarshal(raw, &e))
				states = append(states, e.Status)
				if e.Status == "QUEUED" {
					s.finish(t, job)
				}
			}
		})
		if got := slices.Compact(states); !slices.Equal(got, []string{"QUEUED", "RUNNING", "COMPLETED"}) {
			t.Errorf("%s: %v", scenario, got)
		}
		want := []string{"connected", "next", "complete"}
		if scenario == "eager" { // a query first, over the same connection
			want = []string{"connected", "next", "complete", "next", "complete"}
		}
		if got := whats(all); len(got) < len(want) || !slices.Equal(got[:len(want)], want) {
			t.Errorf("%s: %v", scenario, got)
		}
	}
}

func TestGraphQLWSReadsAnAnswer(t *testing.T) {
	t.Parallel()
	s := start(t, nil)
	var kinds []string
	seqs := 0
	all := s.speak(t, "lazy", map[string]any{
		"query": `subscription($m: String!) { chat(input: {message: $m}) { __typename
			... on ChatStart { conversationId answerId seq } ... on ChatContent { delta seq } ... on ChatSources { seq sources { title } }
			... on ChatFollowUp { seq questions } ... on ChatDone { seq usage { totalTokens } } } }`,
		"variables": map[string]any{"m": query},
	}, func(line seen) {
		if raw, ok := line.Result.Data["chat"]; ok {
			var e struct {
				Typename string `json:"__typename"`
				Seq      int
				AnswerID string `json:"answerId"`
			}
			must(t, json.Unmarshal(raw, &e))
			if seqs++; e.Seq != seqs || e.Typename == "ChatStart" && e.AnswerID == "" {
				t.Errorf("event %d: %s", seqs, raw)
			}
			kinds = append(kinds, e.Typename)
		}
	})
	if got := slices.Compact(kinds); !slices.Equal(got, []string{"ChatStart", "ChatContent", "ChatSources", "ChatFollowUp", "ChatDone"}) {
		t.Errorf("%v: %+v", got, all)
	}
	if last(all, "complete").What == "" {
		t.Errorf("the answer has no end: %v", whats(all))
	}
}

func TestGraphQLWSIsToldWhatIsWrong(t *testing.T) {
	t.Parallel()
	s := start(t, map[string]string{"SUBSCRIPTIONS_PER_CONNECTION": "3"})
	job := s.queued(t, s.docs.connector)
	given := func() map[string]any {
		return map[string]any{"endless": progress, "query": progress, "variables": map[string]any{"job": job}, "most": 3}
	}
	for scenario, code := range map[string]int{
		"subprotocol": 4406, "noSubprotocol": 4406,
		"badPayload": 4400, "badJSON": 4400, "badType": 4400, "badSubscribe": 4400, "noID": 4400,
		"beforeInit": 4401, "twiceInit": 4429, "twiceID": 4409,
	} {
		t.Run(scenario, func(t *testing.T) {
			t.Parallel()
			if end := last(s.speak(t, scenario, given(), nil), "closed"); end.Code != code || end.Reason == "" {
				t.Errorf("closed with %d %q, not %d", end.Code, end.Reason, code)
			}
		})
	}
	t.Run("a forged token", func(t *testing.T) {
		t.Parallel()
		if end := last(s.speak(t, "refused", given(), nil), "closed"); end.Code != 4403 || end.Reason != "Session required" {
			t.Errorf("%+v", end)
		}
	})
	t.Run("a wrong query", func(t *testing.T) {
		t.Parallel()
		all := s.speak(t, "wrongQuery", given(), nil)
		if end := last(all, "error"); len(end.List) != 1 || end.List[0].Extensions.Code != "invalid_request" {
			t.Errorf("%+v", all)
		}
	})
	t.Run("too many", func(t *testing.T) {
		t.Parallel()
		all := s.speak(t, "tooMany", given(), nil)
		end := seen{}
		for _, line := range all {
			if line.What == "error" && line.Name == "one more" {
				end = line
			}
		}
		if len(end.List) != 1 || end.List[0].Extensions.Code != "rate_limited" {
			t.Errorf("%+v", all)
		}
	})
	t.Run("ping", func(t *testing.T) {
		t.Parallel()
		if all := s.speak(t, "ping", given(), nil); !last(all, "pong").Received || last(all, "closed").Code != 1000 {
			t.Errorf("%+v", all)
		}
	})
}

func TestGraphQLWSEndsWithTheSession(t *testing.T) {
	t.Parallel()
	s := start(t, nil)
	job := s.queued(t, s.docs.connector)
	var left time.Time
	var took time.Duration
	all := s.speak(t, "held", map[string]any{"endless": progress, "variables": map[string]any{"job": job}, "retries": 5}, func(line seen) {
		switch line.What {
		case "next":
			s.graphql(t, &struct{}{}, `mutation { signOut }`, nil)
			left = time.Now()
		case "closed":
			took = time.Since(left)
		}
	})
	// 4401 is final to the client: it does not try again with a token that is worth nothing.
	if end := last(all, "error"); end.Code != 4401 || end.Reason != "Session ended" {
		t.Errorf("%+v", all)
	}
	if took > 30*time.Second { // a bound of sanity: it is logged, below
		t.Errorf("it took %s", took)
	}
	t.Logf("closed %s after the sign-out", fmt.Sprint(took))
}

func TestGraphQLWSComesBackWithoutAGap(t *testing.T) {
	t.Parallel()
	s := start(t, nil)
	const rounds = 4
	added := 0
	var seenTitles []string
	all := s.speak(t, "resume", map[string]any{
		"query": `subscription($c: ID!, $after: String) {
			documentStatus(collectionId: $c, after: $after) { cursor counts { indexed withFailure } documents { title status } } }`,
		"variables": map[string]any{"c": s.notes.id}, "rounds": rounds, "away": 300,
	}, func(line seen) {
		switch line.What {
		case "next":
			var e struct {
				Documents []struct{ Title, Status string }
			}
			must(t, json.Unmarshal(line.Result.Data["documentStatus"], &e))
			for _, d := range e.Documents {
				seenTitles = append(seenTitles, d.Title)
			}
		case "lost": // while nobody listens
			if added++; added < rounds {
				title := fmt.Sprintf("News %d", added)
				s.put(t, s.notes, document{path: title + ".md", title: title, texts: []string{"Something new."}})
			}
		}
	})
	for i := 1; i < rounds; i++ {
		if title := fmt.Sprintf("News %d", i); !slices.Contains(seenTitles, title) {
			t.Errorf("%s was missed: %v; %+v", title, seenTitles, all)
		}
	}
}
