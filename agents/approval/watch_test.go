package approval_test

import (
	"context"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/magpie-search/magpie/agents/approval"
	"github.com/magpie-search/magpie/ent"
	entapproval "github.com/magpie-search/magpie/ent/approval"
	"github.com/magpie-search/magpie/internal/apierr"
)

// next waits for the next change of a watch.
func next(t *testing.T, changes <-chan approval.Change) approval.Change {
	t.Helper()
	c, ok := <-changes
	if !ok {
		t.Fatal("the watch ended")
	}
	return c
}

// ends waits for the end of a watch and checks that no change comes before it.
func ends(t *testing.T, changes <-chan approval.Change) {
	t.Helper()
	if c, ok := <-changes; ok {
		t.Errorf("another change: %+v", c)
	}
}

func TestAWatchHasThePendingApprovalsFirstAndThenTheChanges(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.now = time.Now()
	t.Cleanup(f.store.Close)
	rows := f.ask(t, f.run, mail("1"), mail("2"))
	must[*ent.Approval](t)(f.decide("ada", rows[1], approval.Decision{Action: approval.Reject}))
	ctx, cancel := context.WithCancel(f.people["ada"])
	changes := must[<-chan approval.Change](t)(f.store.Watch(ctx, approval.Filter{}, uuid.Nil, ""))
	first := next(t, changes)
	if first.Approval.ID != rows[0].ID || first.Approval.Status != entapproval.StatusPending {
		t.Errorf("first: %+v", first.Approval)
	}
	must[*ent.Approval](t)(f.decide("ada", rows[0], approval.Decision{Action: approval.Approve}))
	var last approval.Change
	for last = next(t, changes); last.Approval.ID != rows[0].ID; last = next(t, changes) {
	}
	if last.Approval.Status != entapproval.StatusApproved {
		t.Errorf("then: %+v", last.Approval)
	}
	cancel()
	for range changes {
	}
	// What happens while the connection is lost comes after it.
	third := f.ask(t, f.newRun(t, "ada"), mail("3"))[0]
	again := must[<-chan approval.Change](t)(f.store.Watch(f.people["ada"], approval.Filter{Mine: true}, uuid.Nil, last.Cursor))
	seen := map[uuid.UUID]entapproval.Status{}
	for seen[third.ID] == "" {
		c := next(t, again)
		seen[c.Approval.ID] = c.Approval.Status
	}
	if seen[third.ID] != entapproval.StatusPending {
		t.Errorf("after the reconnect: %v", seen)
	}
	f.store.Close()
	ends(t, again)
	if _, err := f.store.Watch(f.people["ada"], approval.Filter{}, uuid.Nil, ""); codeOf(err) != apierr.Unavailable {
		t.Errorf("watched after the end: %v", err)
	}
}

func TestAWatchShowsOnlyWhatItsPersonMaySee(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	t.Cleanup(f.store.Close)
	named := mail("named")
	named.Approvers = []uuid.UUID{f.person("bob")}
	rows := f.ask(t, f.run, mail("private"), named)
	changes := must[<-chan approval.Change](t)(f.store.Watch(f.people["bob"], approval.Filter{}, uuid.Nil, ""))
	if c := next(t, changes); c.Approval.ID != rows[1].ID {
		t.Errorf("bob sees %+v", c.Approval)
	}
	must[*ent.Approval](t)(f.decide("ada", rows[0], approval.Decision{Action: approval.Reject}))
	must[*ent.Approval](t)(f.decide("ada", rows[1], approval.Decision{Action: approval.Reject}))
	if c := next(t, changes); c.Approval.ID != rows[1].ID || c.Approval.Status != entapproval.StatusRejected {
		t.Errorf("bob sees %+v", c.Approval)
	}
	f.store.Close()
	ends(t, changes)
}

func TestAWatchOfOneApprovalEndsWithItsDecision(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	t.Cleanup(f.store.Close)
	row := f.ask(t, f.run, mail("1"))[0]
	for _, name := range []string{"bob", "joe", "mallory"} {
		if _, err := f.store.Watch(f.people[name], approval.Filter{}, row.ID, ""); codeOf(err) != apierr.CodeNotFound {
			t.Errorf("%s: %v", name, err)
		}
	}
	if _, err := f.store.Watch(f.people["ada"], approval.Filter{}, uuid.Nil, "no cursor"); codeOf(err) != apierr.InvalidRequest {
		t.Errorf("a bad cursor: %v", err)
	}
	changes := must[<-chan approval.Change](t)(f.store.Watch(f.people["ada"], approval.Filter{}, row.ID, ""))
	if c := next(t, changes); c.Approval.Status != entapproval.StatusPending {
		t.Errorf("first: %+v", c.Approval)
	}
	must[*ent.Approval](t)(f.decide("ada", row, approval.Decision{Action: approval.Approve}))
	if c := next(t, changes); c.Approval.Status != entapproval.StatusApproved {
		t.Errorf("then: %+v", c.Approval)
	}
	ends(t, changes)
}
