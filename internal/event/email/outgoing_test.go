package email_test

import (
	"testing"

	"github.com/magpie-search/magpie/connectors"
	"github.com/magpie-search/magpie/internal/event/email"
)

// Answers go by the service of the integration only if everything that it takes is there.
func TestOutgoingNeedsASenderAndCredentials(t *testing.T) {
	t.Parallel()
	full := map[string]map[string]string{
		"postmark": {"server_token": "t"}, "ses": {"access_key_id": "AKID", "secret_access_key": "k"}, "sendgrid": {"server_token": "t"},
	}
	topic := []any{"arn:aws:sns:eu-west-1:123456789012:mails"}
	for provider, credentials := range full {
		s := connectors.Settings{Config: map[string]any{"reply_from": "support@example.com", "topic_arns": topic}, Credentials: credentials}
		out, ok := email.OutgoingOf(provider, s)
		if ok != (provider != "sendgrid") || out.From != "support@example.com" || provider == "ses" && out.Region != "eu-west-1" {
			t.Errorf("%s: %+v, %v", provider, out, ok)
		}
		for name := range credentials {
			less := connectors.Settings{Config: s.Config, Credentials: map[string]string{}}
			for other, value := range credentials {
				if other != name {
					less.Credentials[other] = value
				}
			}
			if _, ok := email.OutgoingOf(provider, less); ok {
				t.Errorf("%s without %s", provider, name)
			}
		}
		if _, ok := email.OutgoingOf(provider, connectors.Settings{Config: map[string]any{"topic_arns": topic}, Credentials: credentials}); ok {
			t.Errorf("%s without a sender", provider)
		}
	}
	s := connectors.Settings{Config: map[string]any{"reply_from": "support@example.com", "reply_region": "us-east-2", "topic_arns": topic}, Credentials: full["ses"]}
	if out, ok := email.OutgoingOf("ses", s); !ok || out.Region != "us-east-2" {
		t.Errorf("another region: %+v", out)
	}
}
