package client_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/iotest"
	"time"

	"github.com/magpie-search/magpie/internal/apierr"
	"github.com/magpie-search/magpie/internal/client"
)

const token = "mgp_pat_secret"

// remote returns an executor that asks a server of the test.
func remote(t *testing.T, serve http.HandlerFunc) *client.Remote {
	t.Helper()
	server := httptest.NewServer(serve)
	t.Cleanup(server.Close)
	r, err := client.NewRemote(client.RemoteOptions{URL: server.URL, Token: token, UserAgent: "test", Silence: 300 * time.Millisecond})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(r.Close)
	return r
}

func respond(kind string, status int, body string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", kind)
		w.WriteHeader(status)
		_, _ = io.WriteString(w, body)
	}
}

func TestAnOperationIsSentWithItsFragmentsOnly(t *testing.T) {
	t.Parallel()
	r := remote(t, func(w http.ResponseWriter, request *http.Request) {
		var sent struct {
			Query, OperationName string
			Variables            map[string]any
		}
		if err := json.NewDecoder(request.Body).Decode(&sent); err != nil {
			t.Error(err)
		}
		if request.URL.Path != "/graphql" || request.Header.Get("Authorization") != "Bearer "+token || sent.OperationName != "GetCollection" || sent.Variables["id"] != "1" ||
			!strings.Contains(sent.Query, "query GetCollection") || strings.Count(sent.Query, "query ")+strings.Count(sent.Query, "mutation ") != 1 || !strings.Contains(sent.Query, "fragment CollectionRow") {
			t.Errorf("%s %+v", request.URL, sent)
		}
		respond("application/json; charset=utf-8", 200, `{"data": {"collection": {"name": "Docs"}}}`)(w, request)
	})
	var got struct{ Collection struct{ Name string } }
	if err := r.Do(t.Context(), "GetCollection", client.Variables{"id": "1"}, &got); err != nil || got.Collection.Name != "Docs" {
		t.Errorf("%+v %v", got, err)
	}
}

func TestAnswersThatAreNone(t *testing.T) {
	t.Parallel()
	const kind = "application/json"
	for name, c := range map[string]struct {
		serve http.HandlerFunc
		want  string
		code  apierr.Code
	}{
		"an error":               {respond(kind, 200, `{"errors": [{"message": "collection not found", "extensions": {"code": "not_found"}}], "data": null}`), "collection not found", apierr.CodeNotFound},
		"an error of the guard":  {respond(kind, 401, `{"errors": [{"message": "Invalid token", "extensions": {"code": "unauthorized"}}]}`), "Invalid token", apierr.Unauthorized},
		"an error of the server": {respond(kind, 400, `{"error": {"code": "invalid_request", "message": "Bad Request"}}`), "Bad Request", apierr.InvalidRequest},
		"an invalid operation":   {respond(kind, 200, `{"errors": [{"message": "operation has complexity 9000"}]}`), "complexity", apierr.InvalidRequest},
		"partial data":           {respond(kind, 200, `{"errors": [{"message": "no", "extensions": {"code": "forbidden"}}], "data": {"collection": null}}`), "no", apierr.Forbidden},
		"a page":                 {respond("text/html", 200, `<h1>Hello</h1>`), "there is no Magpie at this address", ""},
		"a bad gateway":          {respond("text/html", 502, `<h1>Bad Gateway</h1>`), "502 Bad Gateway", ""},
		"no JSON":                {respond(kind, 200, "<h1>"), `but "<h1>"`, ""},
		"no data":                {respond(kind, 200, `{}`), "no result", ""},
		"nothing":                {func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) }, "was cut off", ""},
		"half of it": {func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", kind)
			w.Header().Set("Content-Length", "100")
			_, _ = io.WriteString(w, `{"data": {"coll`)
		}, "was cut off", ""},
	} {
		err := remote(t, c.serve).Do(t.Context(), "GetCollection", client.Variables{"id": "1"}, &struct{}{})
		if err == nil || !strings.Contains(client.Message(err), c.want) {
			t.Errorf("%s: %v", name, err)
		}
		if edge, ok := errors.AsType[*apierr.Error](err); ok != (c.code != "") || ok && edge.Code != c.code {
			t.Errorf("%s: %#v", name, err)
		}
	}
}

func TestNoTokenFollowsARedirect(t *testing.T) {
	t.Parallel()
	for _, status := range []int{301, 302, 303, 307, 308} {
		other := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
			t.Errorf("%d: the other host got %s %v", status, r.URL, r.Header)
		}))
		r := remote(t, func(w http.ResponseWriter, r *http.Request) { http.Redirect(w, r, other.URL+"/graphql?a=b", status) })
		err := r.Do(t.Context(), "ListCollections", nil, nil)
		if err == nil || !strings.Contains(err.Error(), "redirects to "+other.URL+",") {
			t.Errorf("%d: %v", status, err)
		}
		if err := r.Subscribe(t.Context(), "WatchSync", client.Variables{"job": "1"}, nil); err == nil || !strings.Contains(err.Error(), "redirects to") {
			t.Errorf("%d: %v", status, err)
		}
		other.Close()
	}
}

// stream sends lines of an event stream and then lets after decide how it ends.
func stream(lines string, after func(*http.Request)) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body) // only then the server notices the end of the connection
		w.Header().Set("Content-Type", "text/event-stream")
		_, _ = io.WriteString(w, lines)
		_ = http.NewResponseController(w).Flush()
		after(r)
	}
}

func TestSubscriptionsEndAsTheServerSays(t *testing.T) {
	t.Parallel()
	const event = "event: next\ndata: {\"data\": {\"event\": {\"status\": \"RUNNING\"}}}\n\n"
	whole := func(*http.Request) {}
	for name, c := range map[string]struct {
		serve  http.HandlerFunc
		events int
		want   string
	}{
		"complete":        {stream(":\n\n"+event+":\n\n"+event+"event: complete\ndata:\n\n", whole), 2, ""},
		"closed":          {stream(event, whole), 1, "was cut off"},
		"cut off":         {stream(event+"event: next\ndata: {\"da", func(*http.Request) { panic(http.ErrAbortHandler) }), 1, "was cut off"},
		"silent":          {stream(event, func(r *http.Request) { <-r.Context().Done() }), 1, "has sent nothing"},
		"an error":        {stream(event+"event: next\ndata: {\"errors\": [{\"message\": \"Token ended\", \"extensions\": {\"code\": \"unauthorized\"}}]}\n\n", whole), 1, "Token ended"},
		"no event stream": {respond("application/json", 200, `{"errors": [{"message": "job not found", "extensions": {"code": "not_found"}}]}`), 0, "job not found"},
	} {
		events := 0
		err := remote(t, c.serve).Subscribe(t.Context(), "WatchSync", client.Variables{"job": "1"}, func(json.RawMessage) error { events++; return nil })
		if events != c.events || (err == nil) != (c.want == "") || err != nil && !strings.Contains(client.Message(err), c.want) {
			t.Errorf("%s: %d events, %v", name, events, err)
		}
	}
	stop := errors.New("enough")
	if err := remote(t, stream(event+event, whole)).Subscribe(t.Context(), "WatchSync", nil, func(json.RawMessage) error { return stop }); !errors.Is(err, stop) {
		t.Errorf("%v", err)
	}
}

func TestAnInterruptEndsARequest(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(t.Context())
	r := remote(t, func(_ http.ResponseWriter, request *http.Request) {
		_, _ = io.Copy(io.Discard, request.Body) // only then the server notices the end of the connection
		cancel()
		<-request.Context().Done()
	})
	if err := r.Do(ctx, "ListCollections", nil, nil); !errors.Is(err, context.Canceled) {
		t.Errorf("%v", err)
	}
}

func TestUploadsAreForms(t *testing.T) {
	t.Parallel()
	upload := func(content io.ReadSeeker) client.Variables {
		return client.Variables{"connector": "1", "paths": []string{"a.md"}, "files": []client.Upload{{Content: content, Name: "a.md", Size: 3, ContentType: "text/markdown"}}}
	}
	r := remote(t, func(w http.ResponseWriter, request *http.Request) {
		if err := request.ParseMultipartForm(1 << 20); err != nil {
			w.WriteHeader(http.StatusBadRequest) // the second upload, whose file breaks off
			return
		}
		file, header, err := request.FormFile("0")
		if err != nil {
			t.Error(err)
			return
		}
		content, err := io.ReadAll(file)
		if err != nil || string(content) != "# A" || header.Filename != "a.md" || header.Header.Get("Content-Type") != "text/markdown" ||
			request.FormValue("map") != `{"0":["variables.files.0"]}` || !strings.Contains(request.FormValue("operations"), `"files":[null]`) {
			t.Errorf("%q %v %+v %v", content, header, request.Form, err)
		}
		respond("application/json", 200, `{"data": {"files": []}}`)(w, request)
	})
	if err := r.Do(t.Context(), "UploadFiles", upload(strings.NewReader("# A")), nil); err != nil {
		t.Error(err)
	}
	broken := errors.New("the disk is broken")
	if err := r.Do(t.Context(), "UploadFiles", upload(seeker{iotest.ErrReader(broken)}), nil); !errors.Is(err, broken) {
		t.Errorf("%v", err)
	}
	refusing := remote(t, respond("application/json", 413, `{"errors": [{"message": "too large", "extensions": {"code": "too_large"}}]}`))
	err := refusing.Do(t.Context(), "UploadFiles", upload(strings.NewReader(strings.Repeat("x", 1<<20))), nil)
	if err == nil || !strings.Contains(client.Message(err), "too large") && !strings.Contains(fmt.Sprint(err), "reach") {
		t.Errorf("%v", err)
	}
}

// seeker is a reader that does not seek.
type seeker struct{ io.Reader }

func (seeker) Seek(int64, int) (int64, error) { return 0, nil }

func TestARunIsFollowedAgainAfterItsConnectionIsCutOff(t *testing.T) {
	t.Parallel()
	requests := 0
	r := remote(t, func(w http.ResponseWriter, request *http.Request) {
		var sent struct {
			OperationName string
			Variables     map[string]any
		}
		if err := json.NewDecoder(request.Body).Decode(&sent); err != nil {
			t.Error(err)
		}
		requests++
		event := func(text string) string { return "event: next\ndata: {\"data\": {\"event\": " + text + "}}\n\n" }
		if requests == 1 {
			stream(event(`{"type": "AgentRunStart", "seq": 1, "runId": "018f0000-0000-8000-8000-00000000c011"}`)+event(`{"type": "AgentContent", "seq": 2, "content": "It "}`),
				func(*http.Request) { panic(http.ErrAbortHandler) })(w, request)
		}
		if sent.OperationName != "FollowRun" || sent.Variables["run"] != "018f0000-0000-8000-8000-00000000c011" || sent.Variables["after"] != 2.0 {
			t.Errorf("%+v", sent)
		}
		stream(event(`{"type": "AgentContent", "seq": 3, "content": "works."}`)+"event: complete\ndata:\n\n", func(*http.Request) {})(w, request)
	})
	answer := ""
	err := client.New(r).RunAgent(t.Context(), client.Variables{}, func(e client.AgentEvent) error { answer += e.Content; return nil })
	if err != nil || answer != "It works." || requests != 2 {
		t.Errorf("%q after %d requests: %v", answer, requests, err)
	}
}
