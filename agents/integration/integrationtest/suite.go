package integrationtest

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"unicode/utf8"

	"github.com/magpie-search/magpie/agents/arguments"
	"github.com/magpie-search/magpie/agents/integration"
	"github.com/magpie-search/magpie/connectors"
	"github.com/magpie-search/magpie/internal/apierr"
)

// Run runs the suite. newSetup returns a platform in its initial state.
func Run(t *testing.T, newSetup func(t *testing.T) Setup) {
	t.Helper()
	f := Start(t, newSetup)
	t.Run("every tool is described and has an example", func(t *testing.T) { f.described(t) })
	t.Run("the check tells good credentials from bad ones", func(t *testing.T) { f.checked(t) })
	for _, tool := range f.provider.Tools {
		t.Run(tool.Name, func(t *testing.T) {
			t.Run("explains wrong answers", func(t *testing.T) { f.faults(t, tool) }) // first: later a change may have nothing to do
			t.Run("succeeds and is found again", func(t *testing.T) { f.succeeds(t, tool) })
			t.Run("is previewed without a request", func(t *testing.T) { f.previewed(t, tool) })
			t.Run("refuses hostile arguments", func(t *testing.T) { f.hostile(t, tool) })
			t.Run("keeps people apart", func(t *testing.T) { f.apart(t, tool) })
		})
	}
	t.Run("a grant is renewed once", func(t *testing.T) { f.renewed(t) })
}

func (f *Fixture) described(t *testing.T) {
	own := false
	for _, tool := range f.provider.Tools {
		example, ok := f.setup.Examples[tool.Name]
		if !ok {
			t.Errorf("%s has no example", tool.Name)
			continue
		}
		if !regexp.MustCompile(`^[a-zA-Z0-9_-]{1,64}$`).MatchString(f.provider.WireName(tool)) {
			t.Errorf("models cannot call %q", f.provider.WireName(tool))
		}
		if err := arguments.Validate(tool.Schema, json.RawMessage(example.Arguments)); err != nil {
			t.Errorf("%s: the example does not fit the schema: %v", tool.Name, err)
		}
		for name := range properties(t, tool) {
			if !strings.Contains(example.Arguments, `"`+name+`"`) {
				t.Errorf("%s: the example has no argument %q", tool.Name, name)
			}
		}
		if !tool.Risk.Acts() && tool.Preview != nil {
			t.Errorf("%s: nobody decides about reading", tool.Name)
		}
		own = own || example.Own != ""
	}
	if len(f.setup.Examples) != len(f.provider.Tools) {
		t.Errorf("there are %d examples of %d tools", len(f.setup.Examples), len(f.provider.Tools))
	}
	if own == (f.setup.Shared != "") {
		t.Error("an example has a text that only one person sees, or the platform is shared")
	}
}

// properties returns the schemas of a tool's arguments.
func properties(t *testing.T, tool integration.Tool) map[string]map[string]any {
	t.Helper()
	var schema struct {
		Properties map[string]map[string]any `json:"properties"`
	}
	if err := json.Unmarshal(tool.Schema, &schema); err != nil {
		t.Fatal(err)
	}
	return schema.Properties
}

func (f *Fixture) checked(t *testing.T) {
	if err := f.provider.Check(t.Context(), f.account(f.setup.Credentials)); err != nil {
		t.Errorf("good credentials: %v", err)
	}
	if err := f.provider.Check(t.Context(), f.account(f.setup.Other)); err != nil {
		t.Errorf("the other good credentials: %v", err)
	}
	bad := maps.Clone(f.setup.Credentials)
	for _, option := range f.provider.Credentials {
		if option.Sensitive && bad[option.Name] != "" {
			bad[option.Name] = "wrong-secret-0000"
		}
	}
	for name, credentials := range map[string]map[string]string{"wrong": bad, "no": nil} {
		err := f.provider.Check(t.Context(), f.account(credentials))
		if err == nil || apierr.From(err).Code != apierr.Unauthorized || !connectors.IsNeedsAuth(err) {
			t.Errorf("%s credentials: got %v", name, err)
		}
		if err != nil {
			f.hasNoSecret(t, name+" credentials", err.Error())
		}
	}
	for name := range f.setup.Examples {
		tool, _ := f.provider.Tool(name)
		if _, err := f.call(t.Context(), tool, f.account(bad), f.setup.Examples[name].Arguments); err == nil || apierr.From(err).Code != apierr.Unauthorized {
			t.Errorf("%s with wrong credentials: got %v", name, err)
		}
	}
}

func (f *Fixture) hasNoSecret(t *testing.T, what, text string) {
	t.Helper()
	secrets := []string{f.setup.Token}
	for _, option := range f.provider.Credentials {
		if option.Sensitive {
			secrets = append(secrets, f.setup.Credentials[option.Name], f.setup.Other[option.Name])
		}
	}
	for _, secret := range secrets {
		if secret != "" && strings.Contains(text, secret) {
			t.Errorf("%s has a secret: %.300s", what, text)
		}
	}
}

func (f *Fixture) succeeds(t *testing.T, tool integration.Tool) {
	f.take()
	example := f.setup.Examples[tool.Name]
	result, err := f.call(t.Context(), tool, f.account(f.setup.Credentials), example.Arguments)
	if err != nil {
		t.Fatal(err)
	}
	if !json.Valid([]byte(result.Text)) || utf8.RuneCountInString(result.Text) > integration.MaxResult || result.Summary == "" {
		t.Errorf("the result is not as promised: %.300s, %q", result.Text, result.Summary)
	}
	for _, want := range append(slices.Clone(example.Want), example.Own) {
		if !strings.Contains(result.Text, want) {
			t.Errorf("the result lacks %q: %.1000s", want, result.Text)
		}
	}
	f.hasNoSecret(t, "the result", result.Text+result.Summary)
	if !tool.Risk.Acts() {
		return
	}
	marked := false
	for _, r := range f.take() {
		text := new(bytes.Buffer)
		if err := r.header.Write(text); err != nil {
			t.Fatal(err)
		}
		if f.setup.Plain != nil {
			r.body = f.setup.Plain(r.body)
		}
		marked = marked || isChange(r.method) && (strings.Contains(text.String(), CallKey) || bytes.Contains(r.body, []byte(CallKey)))
	}
	if !marked && !tool.Idempotent {
		t.Error("the change has neither the key of the call nor its mark")
	}
	if tool.Idempotent {
		if _, err := f.call(t.Context(), tool, f.account(f.setup.Credentials), example.Arguments); err != nil {
			t.Errorf("the repeated call: %v", err)
		}
	}
}

func isChange(method string) bool { return method != "GET" && method != "HEAD" }

func (f *Fixture) previewed(t *testing.T, tool integration.Tool) {
	if tool.Preview == nil {
		return
	}
	f.take()
	example := f.setup.Examples[tool.Name]
	preview, err := tool.Preview(json.RawMessage(example.Arguments))
	if err != nil {
		t.Fatal(err)
	}
	if preview.Title == "" || strings.Contains(preview.Title, "\n") {
		t.Errorf("the title is %q", preview.Title)
	}
	var values map[string]any
	if err := json.Unmarshal([]byte(example.Arguments), &values); err != nil {
		t.Fatal(err)
	}
	for name, value := range values {
		if slices.Contains(example.NotShown, name) {
			continue
		}
		for _, text := range texts(value) {
			for line := range strings.Lines(text) {
				if !strings.Contains(preview.Title+"\n"+preview.Text, strings.TrimSpace(line)) {
					t.Errorf("the preview lacks the argument %s, %q: %s\n%s", name, line, preview.Title, preview.Text)
				}
			}
		}
	}
	if _, err := tool.Preview(json.RawMessage(`{"unknown":1}`)); err == nil || apierr.From(err).Code != apierr.InvalidRequest {
		t.Errorf("wrong arguments are previewed: %v", err)
	}
	if requests := f.take(); len(requests) > 0 {
		t.Errorf("the preview made %d requests", len(requests))
	}
}

// texts returns the texts and numbers of a value.
func texts(value any) (all []string) {
	switch value := value.(type) {
	case string:
		return []string{value}
	case float64:
		return []string{fmt.Sprint(value)}
	case []any:
		for _, item := range value {
			all = append(all, texts(item)...)
		}
	case map[string]any:
		for name, item := range value {
			all = append(append(all, name), texts(item)...)
		}
	}
	return all
}

func (f *Fixture) hostile(t *testing.T, tool integration.Tool) {
	var example map[string]any
	if err := json.Unmarshal([]byte(f.setup.Examples[tool.Name].Arguments), &example); err != nil {
		t.Fatal(err)
	}
	all := []string{`[]`, `null`, `"text"`, ``, `{`, `{"unknown":1}`, `{} {}`}
	for name := range properties(t, tool) {
		for _, value := range []any{
			nil, true, -1, 1e9, 1.5, "", " ", "..", "../../zz-admin", "zz/../admin?x=1#y", "%2e%2e/zz-other", "a\r\nX-Injected: 1", "\u202e\x00",
			strings.Repeat("x", 100_000), []any{}, []any{"../../zz-admin"}, []any{1, nil}, slices.Repeat([]any{"a"}, 5000), map[string]any{"../../zz-admin": "x"}, map[string]any{"a": []any{}},
		} {
			changed := maps.Clone(example)
			changed[name] = value
			text, err := json.Marshal(changed)
			if err != nil {
				t.Fatal(err)
			}
			all = append(all, string(text))
		}
	}
	f.take()
	for _, text := range all {
		_, err := f.call(t.Context(), tool, f.account(f.setup.Credentials), text)
		e, ok := errors.AsType[*apierr.Error](err)
		if err != nil && (!ok || e.Code == apierr.Internal || e.Code == apierr.Unauthorized || e.Message == "") {
			t.Errorf("%.200s: got %v", text, err)
		}
	}
	for _, r := range f.take() {
		for part := range strings.SplitSeq(r.path, "/") {
			if part == ".." || strings.EqualFold(part, "%2e%2e") || part == "zz-admin" {
				t.Errorf("arguments changed a path: %s %s", r.method, r.path)
			}
		}
		if r.header.Get("X-Injected") != "" {
			t.Errorf("arguments added a header: %s %s", r.method, r.path)
		}
	}
}

// apart calls a tool for two people at once.
func (f *Fixture) apart(t *testing.T, tool integration.Tool) {
	example := f.setup.Examples[tool.Name]
	if tool.Risk.Acts() || example.Own == "" {
		return
	}
	var calls sync.WaitGroup
	for range 4 {
		calls.Go(func() {
			result, err := f.call(t.Context(), tool, f.account(f.setup.Credentials), example.Arguments)
			if err != nil || !strings.Contains(result.Text, example.Own) {
				t.Errorf("the first person: %.300s, %v", result.Text, err)
			}
		})
		calls.Go(func() {
			result, err := f.call(t.Context(), tool, f.account(f.setup.Other), example.Arguments)
			if err == nil && strings.Contains(result.Text, example.Own) || err != nil && apierr.From(err).Code == apierr.Internal {
				t.Errorf("the other person: %.300s, %v", result.Text, err)
			}
		})
	}
	calls.Wait()
}

func (f *Fixture) renewed(t *testing.T) {
	if (f.provider.OAuth != nil) != (f.setup.Token != "") {
		t.Fatal("a provider with OAuth has a token in its setup")
	}
	if f.provider.OAuth == nil {
		return
	}
	a, refused := f.granted("expired-token-0000", f.setup.Token)
	if err := f.provider.Check(t.Context(), a); err != nil {
		t.Errorf("with a renewed token: %v", err)
	}
	if !slices.Equal(*refused, []string{"expired-token-0000"}) {
		t.Errorf("refused tokens: %q", *refused)
	}
	a, _ = f.granted("expired-token-0000")
	if err := f.provider.Check(t.Context(), a); err == nil || !connectors.IsNeedsAuth(err) || strings.Contains(err.Error(), "expired-token-0000") {
		t.Errorf("with a token that cannot be renewed: %v", err)
	}
	a, _ = f.granted(f.setup.Token)
	for name, example := range f.setup.Examples {
		tool, _ := f.provider.Tool(name)
		result, err := f.call(t.Context(), tool, a, example.Arguments)
		if err != nil && apierr.From(err).Code == apierr.Unauthorized {
			t.Errorf("%s with a grant: %v", name, err)
		}
		f.hasNoSecret(t, name, result.Text)
	}
}
