package email

import (
	"github.com/magpie-search/magpie/connectors"
)

const (
	senderName      = "reply_from"
	regionName      = "reply_region"
	serverTokenName = "server_token"
)

// senderOption returns the option of the address that answers come from.
func senderOption(help string) connectors.Option {
	return connectors.Option{Name: senderName, Title: "Sender of answers", Type: connectors.TypeString, Format: connectors.FormatEmail, Example: "support@example.com", Help: help}
}

// Outgoing says how answers to the mails of an integration are sent: by the API of its
// provider.
type Outgoing struct {
	From string
	// ServerToken is of Postmark; the others are of Amazon SES.
	ServerToken        string
	Region, KeyID, Key string
}

// OutgoingOf returns how answers to the mails of an integration of a provider are sent; ok
// is false if its settings do not say.
func OutgoingOf(provider string, s connectors.Settings) (out Outgoing, ok bool) {
	out.From = s.String(senderName)
	switch provider {
	case "postmark":
		out.ServerToken = s.Credentials[serverTokenName]
		return out, out.From != "" && out.ServerToken != ""
	case "ses":
		out.Region, out.KeyID, out.Key = s.String(regionName), s.Credentials[keyIDName], s.Credentials[keyName]
		if topics := s.Strings(topicsName); out.Region == "" && len(topics) > 0 {
			if parts := topicARN.FindStringSubmatch(topics[0]); parts != nil {
				out.Region = parts[1]
			}
		}
		return out, out.From != "" && out.Region != "" && out.KeyID != "" && out.Key != ""
	default:
		return out, false
	}
}
