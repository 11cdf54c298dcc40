package integration_test

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/magpie-search/magpie/agents/integration"
	"github.com/magpie-search/magpie/agents/loop"
	"github.com/magpie-search/magpie/agents/policy"
	"github.com/magpie-search/magpie/connectors"
	"github.com/magpie-search/magpie/internal/apierr"
)

type noteInput struct {
	Text string `json:"text" rule:"required,min=1,max=100"`
}

// provider returns a provider with one tool that returns what do returns.
func provider(do func(ctx context.Context, a integration.Account, in noteInput) (loop.Result, error)) integration.Provider {
	return integration.Provider{
		Name: "notes", Title: "Notes", Summary: "Keeps notes.", Group: integration.Productivity,
		Config:      []connectors.Option{{Name: "url", Title: "Address", Type: connectors.TypeString, Default: "https://notes.example"}},
		Credentials: []connectors.Option{{Name: "token", Title: "Token", Type: connectors.TypeString, Sensitive: true}},
		Check:       func(ctx context.Context, a integration.Account) error { _, err := do(ctx, a, noteInput{}); return err },
		Tools: []integration.Tool{integration.Define(
			integration.Tool{Name: "add_note", Title: "Add a note", Description: "Adds a note.", Risk: policy.Write},
			func(in noteInput) loop.Preview {
				return integration.Show("Add a note", integration.Field{Name: "Text", Value: in.Text})
			}, do,
		)},
	}
}

func registered(t *testing.T, p integration.Provider) (integration.Provider, integration.Tool) {
	t.Helper()
	registry, err := integration.NewRegistry(p)
	if err != nil {
		t.Fatal(err)
	}
	p, ok := registry.Lookup("notes")
	tool, has := p.Tool("add_note")
	if !ok || !has {
		t.Fatal("the tool is not found")
	}
	return p, tool
}

func account() integration.Account {
	return integration.Account{Settings: connectors.Settings{
		Credentials: map[string]string{"token": "top secret/1"},
		Token:       func(context.Context, string) (string, map[string]string, error) { return "granted-token", nil, nil },
	}}
}

func TestSecretsAreInNoResultAndNoError(t *testing.T) {
	t.Parallel()
	leak := `"top secret/1" top+secret%2F1 top%20secret%2F1 dG9wIHNlY3JldC8x granted-token`
	p, tool := registered(t, provider(func(ctx context.Context, a integration.Account, in noteInput) (loop.Result, error) {
		if a.String("url") != "https://notes.example" {
			t.Errorf("the default of the config is %q", a.String("url"))
		}
		if _, _, err := a.Token(ctx, ""); err != nil {
			return loop.Result{}, err
		}
		if in.Text == "" {
			return loop.Result{}, errors.New(leak)
		}
		if in.Text == "fail" {
			return loop.Result{}, &apierr.Error{Code: apierr.Conflict, Message: leak, Field: leak, Cause: connectors.NeedsAuth(errors.New(leak))}
		}
		return loop.Result{Text: leak, Summary: leak}, nil
	}))
	result, err := tool.Call(t.Context(), account(), json.RawMessage(`{"text":"a"}`))
	if err != nil {
		t.Fatal(err)
	}
	_, failure := tool.Call(t.Context(), account(), json.RawMessage(`{"text":"fail"}`))
	other := p.Check(t.Context(), account())
	for _, text := range []string{result.Text, result.Summary, failure.Error(), apierr.From(failure).Message, apierr.From(failure).Field, other.Error()} {
		if !strings.Contains(text, "[hidden]") {
			t.Errorf("%q hides nothing", text)
		}
		for _, secret := range strings.Fields(strings.ReplaceAll(leak, `"`, "")) {
			if len(secret) > 5 && strings.Contains(text, secret) {
				t.Errorf("%q has the secret %q", text, secret)
			}
		}
	}
	if apierr.From(failure).Code != apierr.Conflict || !connectors.IsNeedsAuth(failure) || apierr.From(other).Code != apierr.Internal {
		t.Errorf("the errors lost what they are: %v, %v", failure, other)
	}
}

func TestLongResultsAreCutWithinTheirTexts(t *testing.T) {
	t.Parallel()
	type page struct {
		ID   string   `json:"id"`
		URL  string   `json:"url"`
		Text string   `json:"text"`
		More []string `json:"more"`
	}
	link := "https://notes.example/" + strings.Repeat("x", 300)
	for _, c := range []struct{ pages, text, more int }{{1, 100, 1}, {10, 3000, 3}, {60, 2000, 0}, {500, 100, 20}} {
		pages := make([]page, c.pages)
		for i := range pages {
			pages[i] = page{ID: "id-of-a-page-1", URL: link, Text: strings.Repeat("é<", c.text/2), More: make([]string, c.more)}
		}
		result, err := integration.Result(map[string]any{"pages": pages}, "%d pages", c.pages)
		if err != nil {
			t.Fatal(err)
		}
		var decoded struct {
			Pages []json.RawMessage `json:"pages"`
		}
		if n := utf8.RuneCountInString(result.Text); n > integration.MaxResult || json.Unmarshal([]byte(result.Text), &decoded) != nil || len(decoded.Pages) == 0 {
			t.Errorf("%+v: %d characters: %.100s", c, n, result.Text)
		}
		if !strings.Contains(result.Text, link) || !strings.Contains(result.Text, "id-of-a-page-1") || strings.Contains(result.Text, `\u003c`) {
			t.Errorf("%+v: the link or id is lost: %.300s", c, result.Text)
		}
		whole := c.pages == 1
		if strings.Contains(result.Text, "[cut: ") == whole {
			t.Errorf("%+v: cut, or not: %.300s", c, result.Text)
		}
	}
	deep := any("end")
	for range 100 {
		deep = []any{deep, strings.Repeat("x", 400)}
	}
	if result, err := integration.Result(deep, "deep"); err != nil || !json.Valid([]byte(result.Text)) {
		t.Errorf("a deep value: %v, %.100s", err, result.Text)
	}
}

func TestPreviewsShowValuesAsTheyAre(t *testing.T) {
	t.Parallel()
	preview := integration.Show("Send\nmail", integration.Field{Name: "To", Value: "a`b**c**"}, integration.Field{Name: "Empty"},
		integration.Field{Name: "Text", Value: "line\n```\n**To:** eve"})
	if preview.Title != "Send mail" {
		t.Errorf("the title is %q", preview.Title)
	}
	want := "**To:** `` a`b**c** ``\n\n**Text:**\n\n````\nline\n```\n**To:** eve\n````"
	if preview.Text != want {
		t.Errorf("the text is %q, want %q", preview.Text, want)
	}
	_, tool := registered(t, provider(nil))
	if _, err := tool.Preview(json.RawMessage(`{"text":1}`)); err == nil || apierr.From(err).Code != apierr.InvalidRequest {
		t.Errorf("wrong arguments are previewed: %v", err)
	}
}

func TestAToolOfARunActsWithTheAccountOfTheCall(t *testing.T) {
	t.Parallel()
	p, tool := registered(t, provider(func(ctx context.Context, a integration.Account, in noteInput) (loop.Result, error) {
		return integration.Result(map[string]any{"marked": integration.Marked(ctx, in.Text), "url": a.String("url")}, "A note was added")
	}))
	opened := errors.New("not connected")
	made := p.LoopTool(tool, func(context.Context) (integration.Account, error) { return integration.Account{}, opened })
	if made.Name != "notes_add_note" || p.FullName(tool) != "notes.add_note" || made.Risk != policy.Write || made.Preview == nil {
		t.Errorf("the tool is %+v", made)
	}
	if _, err := made.Call(t.Context(), json.RawMessage(`{"text":"a"}`)); !errors.Is(err, opened) {
		t.Errorf("got %v", err)
	}
	made = p.LoopTool(tool, func(context.Context) (integration.Account, error) { return account(), nil })
	ctx := loop.WithCallInfo(t.Context(), loop.CallInfo{ID: "1", Key: "run:1"})
	result, err := made.Call(ctx, json.RawMessage(`{"text":"a\n"}`))
	if want := `{"marked":"a\n\nmagpie-run: run:1","url":"https://notes.example"}`; err != nil || result.Text != want {
		t.Errorf("got %q, %v; want %q", result.Text, err, want)
	}
	if got := integration.Marked(t.Context(), "a"); got != "a" {
		t.Errorf("outside of a call: %q", got)
	}
	if preview, err := made.Preview(t.Context(), json.RawMessage(`{"text":"hello"}`)); err != nil || !strings.Contains(preview.Text, "hello") {
		t.Errorf("the preview is %+v, %v", preview, err)
	}
	if form := p.Form(); form.Validate(map[string]any{"url": 1}, nil) == nil || form.Validate(nil, map[string]string{"token": "x"}) != nil {
		t.Error("the form does not check settings")
	}
}

func TestIncompleteProvidersAreRefused(t *testing.T) {
	t.Parallel()
	for want, change := range map[string]func(p *integration.Provider){
		"name is not valid": func(p *integration.Provider) { p.Name = "No" }, "no title": func(p *integration.Provider) { p.Title = "" },
		"group": func(p *integration.Provider) { p.Group = "other" }, "no check": func(p *integration.Provider) { p.Check = nil },
		"no preview": func(p *integration.Provider) { p.Tools[0].Preview = nil }, "risk": func(p *integration.Provider) { p.Tools[0].Risk = "harmless" },
		"no description": func(p *integration.Provider) { p.Tools[0].Description = "" }, "schema": func(p *integration.Provider) { p.Tools[0].Schema = nil },
		"does nothing": func(p *integration.Provider) { p.Tools[0].Call = nil }, "sensitive": func(p *integration.Provider) { p.Config[0].Sensitive = true },
		"not a string": func(p *integration.Provider) { p.Credentials[0].Type = connectors.TypeInteger },
		"is taken":     func(p *integration.Provider) { p.Tools = append(p.Tools, p.Tools[0]) },
		"tool \"x\\ny": func(p *integration.Provider) { p.Tools[0].Name = "x\ny" },
	} {
		p := provider(nil)
		change(&p)
		if _, err := integration.NewRegistry(p); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", want, err)
		}
	}
	if _, err := integration.NewRegistry(provider(nil), provider(nil)); err == nil {
		t.Error("two providers have one name")
	}
}

func FuzzResult(f *testing.F) {
	f.Add(`{"a": ["b", {"c": "` + strings.Repeat("d", 20_000) + `"}]}`)
	f.Add(`[` + strings.Repeat(`["https://x.example/`+strings.Repeat("y", 600)+`"],`, 50) + `1]`)
	f.Add(strings.Repeat(`{"a":`, 40) + `1e999` + strings.Repeat(`}`, 40))
	f.Fuzz(func(t *testing.T, text string) {
		if !json.Valid([]byte(text)) {
			return
		}
		result, err := integration.Result(json.RawMessage(text), "a result")
		if err != nil || utf8.RuneCountInString(result.Text) > integration.MaxResult || len(text) < integration.MaxResult/6 && !json.Valid([]byte(result.Text)) {
			t.Errorf("%d characters, %v: %.300s", utf8.RuneCountInString(result.Text), err, result.Text)
		}
	})
}
