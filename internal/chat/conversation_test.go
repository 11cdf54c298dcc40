package chat_test

import (
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/google/uuid"

	"github.com/magpie-search/magpie/ent/gid"
	"github.com/magpie-search/magpie/internal/apierr"
	"github.com/magpie-search/magpie/internal/chat"
	"github.com/magpie-search/magpie/internal/viewer"
)

func TestFollowUpsAreRewrittenByTheModel(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	p := newProvider(t,
		textReply("Eight times [1]."),
		textReply("\n\"How long do dead letters stay?\"", "\nI can also tell more."),
		textReply("Thirty days [2]."),
	)
	lib := &fakeSearcher{hits: retryPassages()}
	c := w.chat(t, lib, models(t, p, "small"), chat.Options{})
	v := w.key()
	first := ask(t, c, v, chat.Request{Message: "How often is a job tried?"})
	second := ask(t, c, v, chat.Request{Message: "And how long do they stay?", Conversation: first.conversation})

	if second.conversation != first.conversation || second.text != "Thirty days [1]." {
		t.Errorf("second = %+v", second)
	}
	if want := []string{"How often is a job tried?", "How long do dead letters stay?"}; !slices.Equal(lib.answerQueries(), want) {
		t.Errorf("searched for %q", lib.answerQueries())
	}
	requests := p.requests()
	if len(requests) != 3 {
		t.Fatalf("%d requests", len(requests))
	}
	rewrite := requests[1].last()
	if !strings.Contains(rewrite, "How often is a job tried?") || !strings.HasSuffix(rewrite, "And how long do they stay?") {
		t.Errorf("rewrite = %q", rewrite)
	}
	answer := requests[2]
	if len(answer.Messages) != 4 || answer.Messages[1].Content != "How often is a job tried?" || answer.Messages[2].Content != "Eight times." {
		t.Errorf("history = %+v", answer.Messages)
	}
	if !strings.Contains(answer.last(), "How long do dead letters stay?") {
		t.Errorf("the prompt lacks the standalone question: %s", answer.last())
	}
	if got := second.done.Usage; got != (chat.Usage{PromptTokens: 200, CompletionTokens: 3}) {
		t.Errorf("usage = %+v", got)
	}
	if got := w.messages(t, first.conversation); len(got) != 4 {
		t.Errorf("stored = %v", got)
	}
}

func TestAFailedRewriteDoesNotFailTheAnswer(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	broken := func(p *replyWriter) { http.Error(p.w, `{"error":{"message":"no such thing"}}`, http.StatusBadRequest) }
	endless := func(p *replyWriter) {
		for range 400 {
			p.text(strings.Repeat("and so on ", 20))
		}
		p.end(1, 1)
	}
	p := newProvider(t, textReply("A [1]."), broken, textReply("B [2]."), endless, textReply("C [2]."))
	lib := &fakeSearcher{hits: retryPassages()}
	c := w.chat(t, lib, models(t, p, "small"), chat.Options{})
	v := w.key()
	first := ask(t, c, v, chat.Request{Message: "How often is a failed job tried?"})
	for _, want := range []string{"B [1].", "C [1]."} {
		l := ask(t, c, v, chat.Request{Message: "And by hand?", Conversation: first.conversation})
		if l.order != "scSfd" || l.text != want {
			t.Errorf("%q %.200q", l.order, l.text)
		}
		queries := lib.answerQueries()
		if last := queries[len(queries)-1]; !strings.HasPrefix(last, "And by hand?") || !strings.Contains(last, "failed job") {
			t.Errorf("searched for %q", last)
		}
	}
}

func TestConversationsOfOthersAreNotFound(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	p := newProvider(t)
	c := w.chat(t, &fakeSearcher{hits: retryPassages()}, nil, chat.Options{})
	owner := w.key()
	first := ask(t, c, owner, chat.Request{Message: "How often is a failed job tried?"}).conversation
	elsewhere := w.key()
	elsewhere.Workspace = w.other
	sameSubjectElsewhere := owner
	sameSubjectElsewhere.Workspace = w.other
	for name, test := range map[string]struct {
		viewer       viewer.Viewer
		conversation uuid.UUID
	}{
		"another key":            {w.key(), first},
		"a session":              {w.session(), first},
		"another workspace":      {elsewhere, first},
		"subject of the same id": {sameSubjectElsewhere, first},
		"the system":             {viewer.System(w.mine), first},
		"made up":                {owner, gid.New(gid.Conversation)},
		"of another kind":        {owner, w.docs},
		"another version":        {owner, uuid.New()},
	} {
		_, err := c.Stream(viewer.With(t.Context(), test.viewer), chat.Request{Message: "And now?", Conversation: test.conversation})
		if e := apierr.From(err); err == nil || e.Code != apierr.CodeNotFound || e.Message != "Conversation not found" {
			t.Errorf("%s: %v", name, err)
		}
	}
	if got := w.messages(t, first); len(got) != 2 {
		t.Errorf("a foreign question was stored: %v", got)
	}
	if len(p.requests()) != 0 {
		t.Error("the model was called")
	}
}

func TestCollectionsFollowTheViewersScope(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	lib := &fakeSearcher{hits: retryPassages()}
	c := w.chat(t, lib, nil, chat.Options{})
	withDefault := w.key()
	withDefault.DefaultCollection = w.wiki
	lost := w.key(w.docs)
	lost.DefaultCollection = w.wiki
	nowhere := w.key(w.docs)
	nowhere.Collections = nil
	for name, test := range map[string]struct {
		viewer    viewer.Viewer
		requested uuid.UUID
		code      apierr.Code
		searched  []uuid.UUID
	}{
		"pinned":                        {w.key(w.docs, w.wiki), w.wiki, "", []uuid.UUID{w.wiki}},
		"out of reach":                  {w.key(w.docs), w.wiki, apierr.Forbidden, nil},
		"unknown for a key":             {w.key(), gid.New(gid.Collection), apierr.Forbidden, nil},
		"another workspace for a key":   {w.key(), w.foreign, apierr.Forbidden, nil},
		"default of a key":              {withDefault, uuid.Nil, "", []uuid.UUID{w.wiki}},
		"default out of reach":          {lost, uuid.Nil, "", []uuid.UUID{w.docs}},
		"oldest of a key":               {w.key(), uuid.Nil, "", []uuid.UUID{w.docs}},
		"oldest of what it reaches":     {w.key(w.wiki), uuid.Nil, "", []uuid.UUID{w.wiki}},
		"a key that reaches none":       {nowhere, uuid.Nil, apierr.Forbidden, nil},
		"everything of a session":       {w.session(), uuid.Nil, "", nil},
		"pinned by a session":           {w.session(), w.docs, "", []uuid.UUID{w.docs}},
		"unknown for a session":         {w.session(), gid.New(gid.Collection), apierr.CodeNotFound, nil},
		"another workspace for session": {w.session(), w.foreign, apierr.CodeNotFound, nil},
		"everything of the system":      {viewer.System(w.mine), uuid.Nil, "", nil},
	} {
		if test.code != "" {
			_, err := c.Stream(viewer.With(t.Context(), test.viewer), chat.Request{Message: "How often is a job tried?", Collection: test.requested})
			e := apierr.From(err)
			if err == nil || e.Code != test.code || test.code == apierr.Forbidden && e.Message != "Collection access denied" {
				t.Errorf("%s: %v", name, err)
			}
			continue
		}
		l := ask(t, c, test.viewer, chat.Request{Message: "How often is a job tried?", Collection: test.requested})
		if got := lib.scopes[len(lib.scopes)-1]; (got == nil) != (test.searched == nil) || !slices.Equal(got, test.searched) {
			t.Errorf("%s: searched %v, want %v", name, got, test.searched)
		}
		if l.done == nil {
			t.Errorf("%s: %+v", name, l.failed)
		}
	}
}

func TestFollowUpsCarryEarlierWordsWithoutAModel(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		question string
		earlier  []string
		want     string
	}{
		{"How do I rotate the signing key?", nil, "How do I rotate the signing key?"},
		{"How do I rotate the signing key?", []string{"How do I install Tidewater?"}, "How do I rotate the signing key?"},
		{"And on Windows?", []string{"How do I install Tidewater?"}, "And on Windows? install Tidewater"},
		{"Why?", []string{"Is the store locked during a backup?"}, "Why? store locked backup"},
		{"What about dead letters and quotas?", []string{"How long are results kept?"}, "What about dead letters and quotas? long results kept"},
		{"Can I restore them later?", []string{"How long are results kept?"}, "Can I restore them later? long results kept"},
		{"for teams", []string{"How do I install Tidewater?"}, "for teams install Tidewater"},
		{"In which file is the port of the server set?", []string{"How do I install Tidewater?"}, "In which file is the port of the server set?"},
		{"Und unter Windows?", []string{"Wie installiere ich Tidewater?"}, "Und unter Windows? installiere Tidewater"},
		{"Was ist mit den Warteschlangen?", []string{"Wie sichere ich den Speicher?"}, "Was ist mit den Warteschlangen? sichere Speicher"},
		{"Gibt es eine Grenze für Nutzdaten?", []string{"Wie sichere ich den Speicher?"}, "Gibt es eine Grenze für Nutzdaten?"},
		{"And then?", []string{"How do I install Tidewater?", "And on Windows?"}, "And then? Windows install Tidewater"},
	} {
		if got := chat.CarryOver(test.question, test.earlier...); got != test.want {
			t.Errorf("%q after %q = %q, want %q", test.question, test.earlier, got, test.want)
		}
	}
}
