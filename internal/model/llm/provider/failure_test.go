package provider_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/magpie-search/magpie/internal/model/llm/provider"
)

func TestASentenceAboutAFailureHasNothingOfIt(t *testing.T) {
	t.Parallel()
	secret := "http://10.0.0.1/v1 refused token-1"
	for kind, part := range map[provider.Kind]string{
		provider.KindAuth: "refused the key", provider.KindContextLength: "too long for the model", provider.KindRateLimited: "no more requests",
		provider.KindUnavailable: "cannot be reached", provider.KindTimeout: "took too long", provider.KindInterrupted: "incomplete",
		provider.KindRefused: "refused to answer", provider.KindInvalid: "not valid", provider.KindNoTools: "cannot call tools", "other": "failed",
	} {
		text := provider.Brief(fmt.Errorf("embed: %w", &provider.Error{Kind: kind, Op: "chat", Status: 418, Message: secret}))
		if !strings.Contains(text, part) || !strings.HasSuffix(text, " (Status 418.)") || strings.Contains(text, "10.0.0.1") || strings.Contains(text, "token") {
			t.Errorf("%s: %q", kind, text)
		}
	}
	if text := provider.Brief(errors.New(secret)); text != "The request failed." {
		t.Errorf("another error: %q", text)
	}
}

func TestARecordKeepsTheLastOutage(t *testing.T) {
	t.Parallel()
	var r provider.Record
	at := time.Date(2026, 11, 1, 8, 0, 0, 0, time.UTC)
	expect := func(failing bool, reason string) {
		t.Helper()
		last := r.Last()
		if r.IsFailing() != failing || (last == nil) != (reason == "") || last != nil && (last.Reason != reason || !last.At.Equal(at)) {
			t.Errorf("failing %v, %+v; want %v, %q", r.IsFailing(), last, failing, reason)
		}
	}
	expect(false, "")
	r.Note(&provider.Error{Kind: provider.KindContextLength}, at)
	expect(false, "")
	r.Note(&provider.Error{Kind: provider.KindTimeout}, at)
	expect(true, "The service took too long.")
	r.Note(nil, at.Add(time.Hour))
	expect(false, "The service took too long.")
}
