package chat_test

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/magpie-search/magpie/ent/conversation"
	"github.com/magpie-search/magpie/ent/gid"
	"github.com/magpie-search/magpie/ent/message"
	"github.com/magpie-search/magpie/internal/apierr"
	"github.com/magpie-search/magpie/internal/chat"
	"github.com/magpie-search/magpie/internal/request/requestid"
	"github.com/magpie-search/magpie/internal/viewer"
)

func TestAConversationDeletedDuringItsAnswerStaysDeleted(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	written, deleted := make(chan struct{}), make(chan struct{})
	p := newProvider(t, func(p *replyWriter) {
		p.text("Eight ")
		close(written)
		<-deleted
		p.text("times [1].")
		p.end(10, 2)
	})
	c := w.chat(t, &fakeSearcher{hits: retryPassages()}, models(t, p, "small"), chat.Options{})
	v := w.session()
	go func() {
		defer close(deleted)
		<-written
		if _, err := w.client.Conversation.Delete().Exec(viewer.With(context.WithoutCancel(t.Context()), v)); err != nil {
			t.Error(err)
		}
	}()
	got := ask(t, c, v, chat.Request{Message: "How often is a job tried?"})
	if got.done == nil || got.text != "Eight times [1]." {
		t.Errorf("transcript = %+v", got)
	}
	if log := w.log.String(); strings.Contains(log, "level=ERROR") {
		t.Errorf("%s", log)
	}
	all := viewer.With(t.Context(), viewer.System(w.mine))
	if n := w.client.Message.Query().CountX(all) + w.client.Conversation.Query().CountX(all); n != 0 {
		t.Errorf("%d rows exist", n)
	}
	_, err := c.Stream(viewer.With(t.Context(), v), chat.Request{Message: "Go on", Conversation: got.conversation})
	if apierr.From(err).Code != apierr.CodeNotFound {
		t.Errorf("a further question: %v", err)
	}
}

func TestMessagesStoreTheirRequest(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	c := w.chat(t, &fakeSearcher{hits: retryPassages()}, nil, chat.Options{})
	v := w.session()
	got, err := stream(requestid.With(t.Context(), "the-request"), c, v, chat.Request{Message: "How often is a job tried?"})
	if err != nil {
		t.Fatal(err)
	}
	for _, m := range w.messages(t, got.conversation) {
		if m.RequestID != "the-request" {
			t.Errorf("the %s's request is %q", m.Role, m.RequestID)
		}
	}
}

func TestForgetDeletesOldConversations(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	now := time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC)
	c := w.chat(t, &fakeSearcher{}, nil, chat.Options{Now: func() time.Time { return now }})
	ctx := viewer.With(t.Context(), viewer.System(w.mine))
	add := func(age time.Duration) uuid.UUID {
		at := now.Add(-age)
		row := w.client.Conversation.Create().SetSubjectID(gid.New(gid.User)).SetCreatedAt(now.Add(-1000 * time.Hour)).SetUpdatedAt(at).SaveX(ctx)
		m := w.client.Message.Create().SetConversationID(row.ID).SetSubjectID(row.SubjectID).SetRole(message.RoleAssistant).SetContent("x").SaveX(ctx)
		w.client.Feedback.Create().SetMessageID(m.ID).SetSubjectID(row.SubjectID).SetRating("POSITIVE").ExecX(ctx)
		return row.ID
	}
	add(100 * time.Hour)
	old, young := add(50*time.Hour), add(48*time.Hour)
	if n, err := c.Forget(t.Context(), 0); n != 0 || err != nil {
		t.Errorf("Forget(0) = %d, %v", n, err)
	}
	// A conversation that is being written to is skipped.
	tx, err := w.client.Tx(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	tx.Conversation.Query().Where(conversation.ID(old)).ForUpdate().OnlyX(ctx)
	if n, err := c.Forget(t.Context(), 48*time.Hour); n != 1 || err != nil {
		t.Errorf("deleted %d, %v", n, err)
	}
	if err := tx.Rollback(); err != nil {
		t.Fatal(err)
	}
	for _, want := range []int{1, 0} {
		if n, err := c.Forget(t.Context(), 48*time.Hour); n != want || err != nil {
			t.Errorf("deleted %d, %v, want %d", n, err, want)
		}
	}
	if left := w.client.Conversation.Query().IDsX(ctx); len(left) != 1 || left[0] != young {
		t.Errorf("%v remain", left)
	}
	if m, f := w.client.Message.Query().CountX(ctx), w.client.Feedback.Query().CountX(ctx); m != 1 || f != 1 {
		t.Errorf("%d messages and %d ratings remain", m, f)
	}
}
