package automation_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/magpie-search/magpie/agents/automation"
	"github.com/magpie-search/magpie/ent"
	"github.com/magpie-search/magpie/internal/apierr"
)

// A person learns at once that another text of a delivery cannot be used.
func TestOtherTextsOfADeliveryAreChecked(t *testing.T) {
	t.Parallel()
	row := &ent.Approval{Tool: "deliver.reply_email", Arguments: `{"to":"cleo@customer.example","title":"Re: Reset","text":"Press it."}`}
	for given, want := range map[string]string{
		`{"title":"Re: Reset","text":"Hold it."}`:     "",
		`{"to":"cleo@customer.example","text":"x"}`:   "",
		`{"to":"eve@evil.example","text":"Hold it."}`: "arguments.to",
		`{"text":" "}`: "arguments.text",
		`{"text":"` + strings.Repeat("x", 100_001) + `"}`:         "arguments.text",
		`{"text":"x","title":"Re\r\nBcc: eve@evil.example"}`:      "arguments.title",
		`{"text":"x","title":"` + strings.Repeat("x", 501) + `"}`: "arguments.title",
		`{"text":5}`:                            "arguments",
		`{"text":"x","bcc":"eve@evil.example"}`: "arguments",
	} {
		known, err := automation.CheckArguments(row, json.RawMessage(given))
		field := ""
		if err != nil {
			if field = apierr.From(err).Field; apierr.From(err).Code != apierr.InvalidRequest || !strings.HasPrefix(apierr.From(err).Message, field) {
				t.Errorf("%.80s: %v", given, err)
			}
		}
		if !known || field != want {
			t.Errorf("%.80s: %v, %v", given, known, err)
		}
	}
	for _, other := range []*ent.Approval{{Tool: "mail.send", Arguments: "{}"}, {Tool: "deliver.mail", Arguments: "{}", ConfigurationHash: "ab12"}} {
		if known, err := automation.CheckArguments(other, json.RawMessage(`{"text":5}`)); known || err != nil {
			t.Errorf("a call of an agent: %v, %v", known, err)
		}
	}
	if _, err := automation.CheckArguments(&ent.Approval{Tool: "deliver.document", Arguments: "no JSON"}, json.RawMessage(`{"text":"x"}`)); err == nil || fmt.Sprint(apierr.From(err).Code) != string(apierr.Internal) {
		t.Errorf("an unreadable row: %v", err)
	}
}
