package widget_test

import (
	"testing"

	"github.com/google/uuid"
)

// TestClient runs the tests of testdata/client.mjs in the browser.
func TestClient(t *testing.T) {
	t.Parallel()
	b := visit(t, newSite(t).put("127.0.0.1", "/", page{bare: true}))
	var names []string
	b.Eval(`import("/testdata/client.mjs").then((tests) => Object.keys(tests))`, &names)
	if len(names) < 10 {
		t.Errorf("%d tests", len(names))
	}
	for _, name := range names {
		t.Run(name, func(t *testing.T) {
			if failure := b.Text(`await import("/testdata/client.mjs").then(async (tests) => { try { await tests.` + name + `(); return ""; } catch (error) { return error.stack; } })`); failure != "" {
				t.Error(failure)
			}
		})
	}
	b.Clean()
}

func TestClientWithASecretKeyAndSignatures(t *testing.T) {
	t.Parallel()
	m := start(t, handbook())
	_, secret := m.key(home, map[string]any{"requireSignature": true})
	b := visit(t, newSite(t).put("127.0.0.1", "/", page{bare: true}))
	var got struct {
		Titles, Events                []string
		Conversation, Unsigned, Error string
	}
	b.Eval(`new Promise((done, fail) => { const w = new Worker("/testdata/worker.mjs", {type: "module"}); w.onerror = (e) => done({error: e.message}); w.onmessage = (e) => done(e.data); w.postMessage({baseUrl: "`+
		m.URL+`", key: "`+secret+`"}); })`, &got)
	if got.Error != "" || len(got.Titles) != 3 || got.Titles[0] != "Rotate the signing key" || got.Unsigned != "401 invalid_signature" {
		t.Errorf("%+v", got)
	}
	if len(got.Events) != 4 || got.Events[0] != "content" || got.Events[3] != "done" || uuid.Validate(got.Conversation) != nil {
		t.Errorf("%+v", got)
	}
}
