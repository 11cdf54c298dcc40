package accesslog_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/uuid"

	"github.com/magpie-search/magpie/internal/request/accesslog"
	"github.com/magpie-search/magpie/internal/viewer"
)

func TestALineWaitsForTheLastHold(t *testing.T) {
	t.Parallel()
	_, e := accesslog.With(t.Context())
	written := 0
	write := func() { written++ }
	first, second := e.Hold(), e.Hold()
	first()
	e.End(write)
	if written != 0 {
		t.Error("written while it was held")
	}
	second()
	if written != 1 {
		t.Errorf("written %d times", written)
	}
	_, early := accesslog.With(t.Context())
	early.Hold()() // the connection ended before its handler
	early.End(write)
	if written != 2 {
		t.Errorf("written %d times", written)
	}
}

func TestARequestWithoutAnEntryIsLeftAlone(t *testing.T) {
	t.Parallel()
	e := accesslog.From(t.Context())
	e.SetRoute("/x")
	e.AddOperation("A", "query")
	e.Hold()()
	if e != nil || e.Attributes() != nil {
		t.Errorf("%v", e)
	}
}

func TestAnEntryTellsWhatItKnows(t *testing.T) {
	t.Parallel()
	_, e := accesslog.With(t.Context())
	if e.Route() != "" || e.Caller().Kind != "" {
		t.Errorf("at first: %q %+v", e.Route(), e.Caller())
	}
	caller := viewer.Viewer{Kind: viewer.KindKey, Subject: uuid.New(), Workspace: uuid.New()}
	e.SetRoute("/v1/*")
	e.SetRoute("/v1/collections/{id}")
	e.SetCaller(caller)
	if e.Route() != "/v1/collections/{id}" || e.Caller().Workspace != caller.Workspace || e.Caller().Subject != caller.Subject {
		t.Errorf("%q %+v", e.Route(), e.Caller())
	}
	none := accesslog.From(t.Context())
	if none.Route() != "" || none.Caller().Kind != "" {
		t.Errorf("without an entry: %q %+v", none.Route(), none.Caller())
	}
}

func TestACallerHasTheIDsThatBelongToIt(t *testing.T) {
	t.Parallel()
	ids := make([]uuid.UUID, 4)
	for i := range ids {
		ids[i] = uuid.New()
	}
	workspace, subject, session, token := ids[0], ids[1], ids[2], ids[3]
	for _, c := range []struct {
		caller viewer.Viewer
		want   string
	}{
		{viewer.Viewer{Kind: viewer.KindAnonymous}, "caller=anonymous"},
		{viewer.Viewer{Kind: viewer.KindKey, Subject: subject, Workspace: workspace}, fmt.Sprintf("caller=key key_id=%s workspace_id=%s", subject, workspace)},
		{viewer.Viewer{Kind: viewer.KindSession, Subject: subject, Session: session, Workspace: workspace},
			fmt.Sprintf("caller=session user_id=%s session_id=%s workspace_id=%s", subject, session, workspace)},
		{viewer.Viewer{Kind: viewer.KindSession, Subject: subject, Token: token, Workspace: workspace},
			fmt.Sprintf("caller=session user_id=%s token_id=%s workspace_id=%s", subject, token, workspace)},
		{viewer.Viewer{Kind: viewer.KindService, Subject: token, Token: token, Workspace: workspace}, fmt.Sprintf("caller=service token_id=%s workspace_id=%s", token, workspace)},
	} {
		_, e := accesslog.With(t.Context())
		e.SetCaller(c.caller)
		var got []string
		for _, a := range e.Attributes()[1:] {
			got = append(got, a.String())
		}
		if strings.Join(got, " ") != c.want {
			t.Errorf("got %s, want %s", got, c.want)
		}
	}
}
