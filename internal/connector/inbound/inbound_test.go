package inbound_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/magpie-search/magpie/connectors"
	"github.com/magpie-search/magpie/ent"
	entjob "github.com/magpie-search/magpie/ent/syncjob"
	"github.com/magpie-search/magpie/internal/apierr"
	"github.com/magpie-search/magpie/internal/secret"
	"github.com/magpie-search/magpie/internal/syncjob"
	"github.com/magpie-search/magpie/internal/viewer"
)

func TestADeliveryBecomesASyncOfJustWhatChanged(t *testing.T) {
	t.Parallel()
	h := newFixture(t)
	row := h.connector("word", "blue")
	h.accept("word", row.ID, notification{ID: "1", Items: []string{"a.md", "b.md"}})
	h.accept("word", uuid.Nil, notification{ID: "2", Room: "Blue", Items: []string{"b.md", "c.md"}})
	h.accept("word", row.ID, notification{ID: "2", Room: "blue", Items: []string{"not again"}})
	h.accept("word", row.ID, notification{ID: "3"})
	if answer, code := h.send("word", row.ID, notification{ID: "4", Answer: "pong"}); answer != "pong" || code != "" {
		t.Errorf("the challenge was answered %q %s", answer, code)
	}
	if n, err := h.work.Dispatch(t.Context()); n != 0 || err != nil {
		t.Errorf("%d syncs at once, %v", n, err)
	}
	if n := h.dispatch(); n != 1 {
		t.Fatalf("%d syncs", n)
	}
	jobs := h.jobsOf(row)
	if len(jobs) != 1 || jobs[0].Mode != entjob.ModeIncremental || jobs[0].Cause != entjob.CauseWebhook || names(jobs[0]) != "a.md b.md c.md" {
		t.Errorf("the jobs are %v", jobs)
	}
}

func TestManyDeliveriesBecomeFewSyncs(t *testing.T) {
	t.Parallel()
	h := newFixture(t)
	row := h.connector("word")
	var senders sync.WaitGroup
	for s := range 4 {
		senders.Go(func() {
			for i := range 250 {
				h.accept("word", row.ID, notification{ID: fmt.Sprint(s, "/", i), Items: []string{fmt.Sprintf("%d.md", i%50)}})
			}
		})
	}
	senders.Wait()
	if n := h.dispatch(); n != 1 {
		t.Fatalf("%d syncs", n)
	}
	h.accept("word", row.ID, notification{ID: "later", Items: []string{"new.md"}})
	if n := h.dispatch(); n != 0 {
		t.Errorf("%d syncs beside the open one", n)
	}
	jobs := h.jobsOf(row)
	if len(jobs[0].FileFilter) != 50 {
		t.Errorf("the sync looks at %d items", len(jobs[0].FileFilter))
	}
	h.finish(jobs[0], entjob.StatusCompleted)
	if n := h.dispatch(); n != 1 {
		t.Errorf("%d syncs of what came meanwhile", n)
	}
	if jobs = h.jobsOf(row); names(jobs[1]) != "new.md" {
		t.Errorf("the next sync looks at %s", names(jobs[1]))
	}
	if n := h.count("done_at is not null"); n != 1000 {
		t.Errorf("%d deliveries are done", n)
	}
}

func TestNothingIsLostWhenASyncFails(t *testing.T) {
	t.Parallel()
	h := newFixture(t)
	row := h.connector("word")
	h.accept("word", row.ID, notification{ID: "1", Items: []string{"a.md"}})
	for try := range 3 {
		if n := h.dispatch(); n != 1 {
			t.Fatalf("try %d: %d syncs", try, n)
		}
		jobs := h.jobsOf(row)
		if names(jobs[try]) != "a.md" {
			t.Errorf("try %d looks at %s", try, names(jobs[try]))
		}
		h.finish(jobs[try], entjob.StatusFailed)
		if n := h.dispatch(); n != 0 {
			t.Errorf("%d syncs at once after a failure", n)
		}
		h.clock.advance(time.Hour)
	}
	if n := h.dispatch(); n != 1 {
		t.Fatalf("%d syncs", n)
	}
	h.finish(h.jobsOf(row)[3], entjob.StatusPartial)
	h.dispatch()
	if n := h.count("done_at is null"); n != 0 {
		t.Errorf("%d deliveries are not done", n)
	}
	// Duplicates are recognized for a week.
	h.accept("word", row.ID, notification{ID: "1", Items: []string{"a.md"}})
	if n := h.dispatch(); n != 0 {
		t.Errorf("%d syncs of a delivery that came again", n)
	}
	h.clock.advance(8 * 24 * time.Hour)
	h.dispatch()
	if n := h.count("true"); n != 0 {
		t.Errorf("%d old deliveries are kept", n)
	}
}

func TestDeliveriesOfWholeSourcesAndPermissions(t *testing.T) {
	t.Parallel()
	h := newFixture(t)
	row := h.connector("word")
	many := make([]string, 2001)
	for i := range many {
		many[i] = fmt.Sprint(i)
	}
	for i, tell := range []notification{
		{All: true}, {Items: []string{"a", strings.Repeat("x", connectors.MaxIDBytes+1)}}, {Items: []string{""}}, {Items: many}, {All: true, Items: []string{"a"}},
	} {
		tell.ID = fmt.Sprint("whole", i)
		h.accept("word", row.ID, tell)
		if n := h.dispatch(); n != 1 {
			t.Fatalf("%d: %d syncs", i, n)
		}
		jobs := h.jobsOf(row)
		if job := jobs[len(jobs)-1]; job.Mode != entjob.ModeAuto || len(job.FileFilter) != 0 {
			t.Errorf("%d: the job is %v", i, job)
		}
		h.finish(jobs[len(jobs)-1], entjob.StatusCompleted)
	}
	h.accept("word", row.ID, notification{ID: "both", Items: []string{"a"}, Permissions: true})
	for _, mode := range []entjob.Mode{entjob.ModeIncremental, entjob.ModePermissions} {
		if n := h.dispatch(); n != 1 {
			t.Fatalf("%d syncs", n)
		}
		jobs := h.jobsOf(row)
		if job := jobs[len(jobs)-1]; job.Mode != mode {
			t.Errorf("the mode is %s, not %s", job.Mode, mode)
		}
		h.finish(jobs[len(jobs)-1], entjob.StatusCompleted)
	}
}

func TestOnlySignedDeliveriesAreAccepted(t *testing.T) {
	t.Parallel()
	h := newFixture(t)
	first, second, silent := h.connector("one", "shared"), h.connector("two", "shared", "own"), h.connector("", "shared")
	for _, c := range []struct {
		name, word string
		to         uuid.UUID
		tell       notification
		code       apierr.Code
		rows       string
		want       int
	}{
		{"a wrong secret", "none", first.ID, notification{ID: "a", All: true}, apierr.InvalidSignature, "true", 0},
		{"another connector's secret", "two", first.ID, notification{ID: "a", All: true}, apierr.InvalidSignature, "true", 0},
		{"a connector without a secret", "", silent.ID, notification{ID: "a", All: true}, apierr.InvalidSignature, "true", 0},
		{"an unknown connector", "one", uuid.New(), notification{ID: "a", All: true}, apierr.CodeNotFound, "true", 0},
		{"nobody's room", "one", uuid.Nil, notification{ID: "a", Room: "red", All: true}, apierr.InvalidSignature, "true", 0},
		{"one of those that share a room", "two", uuid.Nil, notification{ID: "b", Room: "shared", All: true}, "", "connector_id = '" + second.ID.String() + "'", 1},
		{"the other of them", "one", uuid.Nil, notification{ID: "b", Room: "shared", All: true}, "", "connector_id = '" + first.ID.String() + "'", 1},
	} {
		_, code := h.send(c.word, c.to, c.tell)
		if n := h.count(c.rows); code != c.code || n != c.want {
			t.Errorf("%s: %q and %d rows, not %q and %d", c.name, code, n, c.code, c.want)
		}
	}
	for name, kind := range map[string]string{"an unknown kind": "wizard", "no kind": ""} {
		if _, err := h.inbox.Deliver(t.Context(), kind, uuid.Nil, http.Header{}, nil); apierr.From(err).Code != apierr.CodeNotFound {
			t.Errorf("%s: %v", name, err)
		}
	}
	if _, err := h.inbox.Deliver(t.Context(), "teller", uuid.Nil, http.Header{}, []byte("{")); apierr.From(err).Code != apierr.InvalidRequest {
		t.Errorf("a broken body: %v", err)
	}
}

func TestAChallengeWithoutAConnectorIsVerifiedWithAllSecrets(t *testing.T) {
	t.Parallel()
	h := newFixture(t)
	for _, word := range []string{"one", "two", "two", ""} {
		h.connector(word)
	}
	if answer, code := h.send("two", uuid.Nil, notification{Answer: "yes"}); code != "" || answer != "yes" {
		t.Errorf("a challenge: %q %q", answer, code)
	}
	// A connector that was just created is known: platforms ask at that moment.
	h.connector("three")
	if answer, code := h.send("three", uuid.Nil, notification{Answer: "yes"}); code != "" || answer != "yes" {
		t.Errorf("a challenge for a new connector: %q %q", answer, code)
	}
	for name, c := range map[string]struct {
		word string
		tell notification
	}{
		"a stranger's":          {"four", notification{Answer: "yes"}},
		"no secret":             {"", notification{Answer: "yes"}},
		"no challenge":          {"one", notification{ID: "1", All: true}},
		"a long one":            {"one", notification{ID: strings.Repeat("x", 5000), Answer: "yes"}},
		"one that names a room": {"one", notification{Room: "red", Answer: "yes"}},
	} {
		if _, code := h.send(c.word, uuid.Nil, c.tell); code != apierr.InvalidSignature {
			t.Errorf("%s: %q", name, code)
		}
	}
	if n := h.count("true"); n != 0 {
		t.Errorf("%d deliveries were kept", n)
	}
}

func TestANewConnectorReceivesDeliveriesAtOnce(t *testing.T) {
	t.Parallel()
	h := newFixture(t)
	row := h.connector("old", "red")
	h.accept("old", row.ID, notification{ID: "1", All: true})
	h.accept("second", h.connector("second", "blue").ID, notification{ID: "1", All: true})
	third := h.connector("third", "red")
	h.accept("third", uuid.Nil, notification{ID: "2", Room: "red", All: true})
	if n := h.count("connector_id = '" + third.ID.String() + "'"); n != 1 {
		t.Errorf("%d deliveries of the newest connector", n)
	}
	sealed, err := h.box.Seal([]byte(`{"hook":"new"}`), secret.AAD("connectors", row.ID.String()))
	h.must(err)
	h.must(h.db.Ent.Connector.UpdateOne(row).SetCredentials(sealed).Exec(viewer.With(t.Context(), viewer.System(row.WorkspaceID))))
	h.accept("new", row.ID, notification{ID: "3", All: true})
	if _, code := h.send("old", row.ID, notification{ID: "4", All: true}); code != apierr.InvalidSignature {
		t.Errorf("the old secret: %q", code)
	}
	h.must(h.db.Ent.Connector.DeleteOne(row).Exec(viewer.With(t.Context(), viewer.System(row.WorkspaceID))))
	h.clock.advance(6 * time.Second)
	if _, code := h.send("new", row.ID, notification{ID: "5", All: true}); code != apierr.CodeNotFound {
		t.Errorf("a connector that is gone: %q", code)
	}
}

func TestAnOldDeliveryIsRefused(t *testing.T) {
	t.Parallel()
	h := newFixture(t)
	row := h.connector("word")
	body, err := json.Marshal(notification{ID: "1", All: true})
	h.must(err)
	at := h.clock.now().Unix()
	header := http.Header{"X-At": {fmt.Sprint(at)}, "X-Signature": {sign("word", at, body)}}
	h.clock.advance(6 * time.Minute)
	if _, err := h.inbox.Deliver(t.Context(), "teller", row.ID, header, body); apierr.From(err).Code != apierr.InvalidSignature {
		t.Error(err)
	}
}

func TestADisabledConnectorWaits(t *testing.T) {
	t.Parallel()
	h := newFixture(t)
	row := h.connector("word")
	inside := viewer.With(t.Context(), viewer.System(row.WorkspaceID))
	h.must(h.db.Ent.Connector.UpdateOne(row).SetEnabled(false).Exec(inside))
	h.accept("word", row.ID, notification{ID: "1", Items: []string{"a"}})
	if n := h.dispatch(); n != 0 {
		t.Errorf("%d syncs of a disabled connector", n)
	}
	h.must(h.db.Ent.Connector.UpdateOne(row).SetEnabled(true).Exec(inside))
	if n := h.dispatch(); n != 1 {
		t.Errorf("%d syncs", n)
	}
}

func TestARunningJobProcessesNewDeliveries(t *testing.T) {
	t.Parallel()
	h := newFixture(t)
	row := h.connector("word")
	job, err := h.jobs.Start(viewer.With(t.Context(), viewer.System(row.WorkspaceID)), row.ID, syncjob.StartOptions{})
	h.must(err)
	h.accept("word", row.ID, notification{ID: "1", Items: []string{"a", "b"}})
	h.accept("word", row.ID, notification{ID: "2", All: true})
	h.clock.advance(2 * time.Second)
	scope, err := viewer.System(row.WorkspaceID).Scope()
	h.must(err)
	broken := errors.New("broken")
	if err := h.work.ProcessPending(t.Context(), scope, row.ID, job.ID, func([]string) error { return broken }); !errors.Is(err, broken) {
		t.Errorf("the failure is %v", err)
	}
	var seen []string
	look := func(names []string) error { seen = append(seen, names...); return nil }
	for range 2 {
		h.must(h.work.ProcessPending(t.Context(), scope, row.ID, job.ID, look))
	}
	if fmt.Sprint(seen) != "[a b]" {
		t.Errorf("the job looked at %v", seen)
	}
	h.finish(job, entjob.StatusCompleted)
	if n := h.dispatch(); n != 1 {
		t.Fatalf("%d syncs", n)
	}
	if jobs := h.jobsOf(row); jobs[1].Mode != entjob.ModeAuto {
		t.Errorf("what asks for the whole source became %v", jobs[1])
	}
}

func TestADeliveryMayAskToRenewTheSubscription(t *testing.T) {
	t.Parallel()
	h := newFixture(t)
	row, other := h.connector("word"), h.connector("another")
	later := h.clock.now().Add(5 * time.Hour)
	subscribed := func(row *ent.Connector, failures int) {
		_, err := h.db.Pool.Exec(t.Context(), `insert into connector_subscriptions (workspace_id, connector_id, external_id, address, next_at, failures)
			values ($1, $2, 'x', 'y', $3, $4)`, row.WorkspaceID, row.ID, later, failures)
		h.must(err)
	}
	due := func(row *ent.Connector) bool {
		var at time.Time
		h.must(h.db.Pool.QueryRow(t.Context(), "select next_at from connector_subscriptions where connector_id = $1", row.ID).Scan(&at))
		return !at.After(h.clock.now())
	}
	subscribed(row, 0)
	subscribed(other, 1)
	h.accept("word", row.ID, notification{ID: "1", All: true})
	if due(row) {
		t.Error("an ordinary delivery made the subscription due")
	}
	h.accept("word", row.ID, notification{ID: "2", Renew: true})
	h.accept("another", other.ID, notification{ID: "3", Renew: true})
	if !due(row) || due(other) {
		t.Errorf("due are the one that works: %v, the one that fails: %v", due(row), due(other))
	}
}
