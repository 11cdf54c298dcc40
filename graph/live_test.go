package graph_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/uuid"

	"github.com/magpie-search/magpie/ent/membership"
	"github.com/magpie-search/magpie/internal/apierr"
	"github.com/magpie-search/magpie/internal/testkit"
	"github.com/magpie-search/magpie/internal/viewer"
)

// chatEvent is an event of an answer.
type chatEvent struct {
	Typename string `json:"__typename"`
	Seq      int
	AnswerID uuid.UUID `json:"answerId"`
	Delta    string
	Code     string
}

const chatFields = `__typename ... on ChatStart { seq answerId } ... on ChatContent { seq delta } ... on ChatSources { seq }
	... on ChatFollowUp { seq } ... on ChatDone { seq } ... on StreamError { code }`

// chatEvents returns the events of a stream of a root field.
func chatEvents(t *testing.T, a answer, field string) (list []chatEvent) {
	t.Helper()
	for line := range strings.Lines(a.body) {
		data, ok := strings.CutPrefix(strings.TrimSpace(line), "data: ")
		if !ok {
			continue
		}
		var event struct{ Data map[string]chatEvent }
		if err := json.Unmarshal([]byte(data), &event); err != nil {
			t.Fatalf("%s: %v", data, err)
		}
		if e, ok := event.Data[field]; ok {
			list = append(list, e)
		}
	}
	return list
}

func TestAnAnswerIsResumedByItsReaderOnly(t *testing.T) {
	t.Parallel()
	h := newFixture(t)
	ada, eve := h.tenant(t, "ada"), h.tenant(t, "eve")
	whole := chatEvents(t, h.ask(t, ada.viewer, `subscription { chat(input: {message: "What is the secret word?"}) { `+chatFields+` } }`, nil), "chat")
	if len(whole) < 5 || whole[0].Typename != "ChatStart" || whole[0].AnswerID == uuid.Nil || whole[len(whole)-1].Typename != "ChatDone" {
		t.Fatalf("%+v", whole)
	}
	id := whole[0].AnswerID
	const resume = `subscription($i: ID!, $n: Int!) { chatResume(answerId: $i, after: $n) { ` + chatFields + ` } }`
	for after := range len(whole) + 2 {
		got := chatEvents(t, h.ask(t, ada.viewer, resume, map[string]any{"i": id, "n": after}), "chatResume")
		want := whole[min(after, len(whole)):]
		if len(got) != len(want) {
			t.Fatalf("after %d: %d events, want %d", after, len(got), len(want))
		}
		for i := range want {
			if got[i] != want[i] || got[i].Seq != after+i+1 {
				t.Errorf("after %d: %+v, not %+v", after, got[i], want[i])
			}
		}
	}
	// The reader resumes it in another session. Another person cannot.
	if got := chatEvents(t, h.ask(t, h.signIn(t, ada.email), resume, map[string]any{"i": id, "n": 0}), "chatResume"); len(got) != len(whole) {
		t.Errorf("the same person in another session got %d events", len(got))
	}
	member := h.member(t, ada, "mate@example.com", membership.RoleOwner)
	for name, a := range map[string]answer{
		"a member":          h.ask(t, member, resume, map[string]any{"i": id, "n": 0}),
		"another workspace": h.ask(t, eve.viewer, resume, map[string]any{"i": id, "n": 0}),
		"an unknown answer": h.ask(t, ada.viewer, resume, map[string]any{"i": uuid.New(), "n": 0}),
	} {
		if a.code() != string(apierr.CodeNotFound) {
			t.Errorf("%s: %s", name, a.body)
		}
	}
	if a := h.ask(t, ada.viewer, resume, map[string]any{"i": id, "n": -1}); a.code() != string(apierr.InvalidRequest) {
		t.Errorf("a negative number: %s", a.body)
	}
}

func TestAnAnswerIsStoppedByItsReaderOnly(t *testing.T) {
	t.Parallel()
	h := newFixture(t)
	ada := h.tenant(t, "ada")
	own := viewer.With(t.Context(), ada.viewer)
	id := openAnswer(own, t, h, ada)
	const stop = "mutation($i: ID!) { stopChat(answerId: $i) }"
	mate := h.member(t, ada, "mate@example.com", membership.RoleOwner)
	if a := h.ask(t, mate, stop, map[string]any{"i": id}); a.code() != string(apierr.CodeNotFound) {
		t.Errorf("a member: %s", a.body)
	}
	// The stream of a reader ends with the answer; without the stop this would wait for the grace.
	done := make(chan answer, 1)
	go func() {
		done <- h.ask(t, ada.viewer, `subscription($i: ID!) { chatResume(answerId: $i) { __typename } }`, map[string]any{"i": id})
	}()
	if a := h.ask(t, ada.viewer, stop, map[string]any{"i": id}); a.at("stopChat") != true {
		t.Errorf("its reader: %s", a.body)
	}
	testkit.Receive(t, "the end of the stream", done)
	if a := h.ask(t, ada.viewer, stop, map[string]any{"i": id}); a.at("stopChat") != false {
		t.Errorf("a second time: %s", a.body)
	}
}

func TestDocumentsAreWatchedByOneOfThreeNames(t *testing.T) {
	t.Parallel()
	h := newFixture(t)
	ada := h.tenant(t, "ada")
	for query, variables := range map[string]map[string]any{
		"subscription { documentStatus { cursor } }":                                                nil,
		"subscription($i: ID!) { documentStatus(collectionId: $i, connectorId: $i) { cursor } }":    {"i": ada.collection},
		`subscription($i: ID!) { documentStatus(collectionId: $i, after: "no cursor") { cursor } }`: {"i": ada.collection},
		`subscription($i: ID!) { documentStatus(collectionId: $i, after: "") { cursor } }`:          {"i": ada.collection},
	} {
		if a := h.ask(t, ada.viewer, query, variables); a.code() != string(apierr.InvalidRequest) {
			t.Errorf("%s: %s", query, a.body)
		}
	}
	for _, query := range []string{
		"subscription($i: ID!) { documentStatus(connectorId: $i) { cursor } }", "subscription($i: ID!) { documentStatus(documentId: $i) { cursor } }",
	} {
		if a := h.ask(t, ada.viewer, query, map[string]any{"i": uuid.New()}); a.code() != string(apierr.CodeNotFound) {
			t.Errorf("%s: %s", query, a.body)
		}
	}
}
