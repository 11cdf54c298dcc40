package chat_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/magpie-search/magpie/internal/chat"
	"github.com/magpie-search/magpie/internal/testkit/collector"
	"github.com/magpie-search/magpie/internal/tracing"
	"github.com/magpie-search/magpie/internal/viewer"
)

func TestAnAnswerIsTracedWithoutTexts(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	p := newProvider(t, textReply("Eight times", " [1]."))
	c := w.chat(t, &fakeSearcher{hits: retryPassages()}, models(t, p, "small"), chat.Options{})
	tracer, spans := collector.Record(t)
	ctx, request := tracer.Begin(viewer.With(t.Context(), w.key(w.docs)), "request", tracing.Root{})
	events, err := c.Stream(ctx, chat.Request{Message: "How often is a job tried?"})
	if err != nil {
		t.Fatal(err)
	}
	for range events { // until the end
	}
	c.Close() // the span ends after the last event
	request.End(nil)
	all := spans()
	answer := collector.Find(t, all, "chat answer")
	if retrieval := collector.Find(t, all, "chat retrieval"); answer.Parent != collector.Find(t, all, "request").ID || retrieval.Parent != answer.ID || answer.Failed {
		t.Errorf("%+v, %+v", answer, retrieval)
	}
	if answer.Attributes["magpie.chat.sources"] != int64(1) || answer.Attributes["magpie.workspace_id"] != w.mine.String() || answer.Attributes["gen_ai.conversation.id"] == nil {
		t.Errorf("%v", answer.Attributes)
	}
	text := fmt.Sprintf("%+v", all)
	for _, secret := range []string{"often", "tried", "Eight", "Retries", "docs.example"} {
		if strings.Contains(text, secret) {
			t.Errorf("the traces have %q: %s", secret, text)
		}
	}
}
