package inbox_test

import (
	"maps"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/uuid"

	"github.com/magpie-search/magpie/internal/event/inbox"
	"github.com/magpie-search/magpie/internal/secret/reseal"
)

// Received events are processed by processes with the old and the new key while SECRET_KEYS changes, and after the rotation
// by those that have the new key alone. Without its key, an event ends as failed, and is processed once the key is back.
func TestReceivedEventsOutliveARotationOfTheKeys(t *testing.T) {
	t.Parallel()
	h := newFixture(t)
	ctx := h.workspace()
	made := h.github(ctx, "s3cret")
	before, behind, first, after := h.inbox, h.with(h.box("k", "next")), h.with(h.box("next", "k")), h.with(h.box("next"))
	receive := func(by *inbox.Inbox, id string) {
		t.Helper()
		if _, err := by.Receive(t.Context(), "github", made.Integration.ID, signed("s3cret", id, opened)); err != nil {
			t.Fatalf("%s: %v", id, err)
		}
	}
	handler := &recorder{}
	// process lets a process work on everything that is queued, and returns the statuses of all events.
	process := func(by *inbox.Inbox) map[string]string {
		t.Helper()
		worker := inbox.NewProcessor(by, handler, nil)
		for _, task := range h.queue.take() {
			h.must(worker.Process(t.Context(), task))
		}
		statuses := map[string]string{}
		for _, e := range h.events(ctx) {
			statuses[e.ProviderEventID] = string(e.Status)
			if e.Reason != nil {
				statuses[e.ProviderEventID] += ": " + *e.Reason
			}
		}
		return statuses
	}
	want := map[string]string{}
	check := func(step string, got map[string]string, ids ...string) {
		t.Helper()
		for _, id := range ids {
			want[id] = "IGNORED: " + inbox.NoAutomation
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", step, diff)
		}
	}
	// The new key is behind the old one, then first: whoever receives, all can process.
	receive(before, "old")
	check("behind", process(behind), "old")
	receive(first, "new")
	check("side by side", process(behind), "new")
	receive(before, "older")
	check("first", process(first), "older")
	// What waits while the values are sealed again is processed with the new key alone, as is what is sent again.
	receive(before, "waits")
	results, err := reseal.Rotate(t.Context(), h.db.Pool, h.box("next", "k"), nil)
	h.must(err)
	sealed := map[string]int64{}
	for _, r := range results {
		if r.Sealed > 0 {
			sealed[r.Column.What] = r.Sealed
		}
		if len(r.Lost) > 0 || r.Left > 0 {
			t.Errorf("rotated: %+v", r)
		}
	}
	if !maps.Equal(sealed, map[string]int64{"credentials of inbound integrations": 1, "received events": 3}) {
		t.Errorf("sealed again: %v", sealed)
	}
	check("after the rotation", process(after), "waits")
	ids := map[string]uuid.UUID{}
	for _, e := range h.events(ctx) {
		ids[e.ProviderEventID] = e.ID
	}
	if _, err := after.Resend(ctx, ids["old"]); err != nil {
		t.Fatal(err)
	}
	check("sent again", process(after), "old")
	receive(after, "last")
	check("without the old key", process(after), "last")
	if len(handler.got) != 6 {
		t.Errorf("%d events were handled, want 5 and a repetition", len(handler.got))
	}
	for _, e := range handler.got {
		if e.Content.Object == nil || e.Content.Object.Parent != "Acme/Hooks" {
			t.Errorf("an event was handled with %+v", e.Content)
		}
	}
	// With the new key lost, an event fails; it is processed when the key is back.
	receive(after, "lost")
	got := process(before)
	want["lost"] = "FAILED: its payload does not open with the configured keys"
	check("with a lost key", got)
	for _, e := range h.events(ctx) {
		if e.ProviderEventID == "lost" {
			if _, err := first.Resend(ctx, e.ID); err != nil {
				t.Fatal(err)
			}
		}
	}
	check("with the key back", process(first), "lost")
}
