package email

import (
	"context"
	"crypto/x509"
	"errors"
	"net/http"
	"net/mail"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/magpie-search/magpie/connectors"
	"github.com/magpie-search/magpie/internal/event"
	"github.com/magpie-search/magpie/internal/ingest/document"
	"github.com/magpie-search/magpie/internal/ingest/parse/htmldoc"
	"github.com/magpie-search/magpie/internal/safetext"
)

// Type is the type of the events of mails.
const Type = "email"

const (
	secretName     = "password"
	addressesName  = "addresses"
	maxRecipients  = 20
	maxTextBytes   = 1 << 20 // of a text or its Markdown
	maxAttachments = 100
)

// Deps are the dependencies of the providers on the process.
type Deps struct {
	// Client makes requests to the platforms. It refuses addresses that must not be reached.
	Client *http.Client
	// S3Endpoint replaces the address of S3, for tests: a URL.
	S3Endpoint string
	// Roots are the authorities that may issue the certificates of SNS; nil for those of
	// the system.
	Roots *x509.CertPool
}

// Providers returns all providers of mails.
func Providers(d Deps) []event.Provider {
	return []event.Provider{Postmark(), SendGrid(), SES(d)}
}

// options returns the options of every provider of mails.
func options(more ...connectors.Option) []connectors.Option {
	return append(more,
		connectors.Option{
			Name: addressesName, Title: "Addresses", Type: connectors.TypeStringList, Format: connectors.FormatEmail, Example: "support@example.com",
			Help:  "Addresses whose mails arrive here. They find the integration for deliveries to the address without an id. The token of the integration, as in support+token@, does so too.",
			Check: checkAddresses,
		},
		connectors.Option{
			Name: event.SendersOption, Title: "Allowed senders", Type: connectors.TypeStringList, Example: "example.com",
			Help: "Addresses and domains whose mails are processed. Mails of others are rejected. Empty: all.",
		})
}

func checkAddresses(value any) error {
	list, _ := value.([]string)
	for _, a := range list {
		if _, err := mail.ParseAddress(a); err != nil {
			return errors.New("has a value that is no mail address")
		}
	}
	return nil
}

func addressKeys(s connectors.Settings) []string {
	var out []string
	for _, a := range s.Strings(addressesName) {
		out = append(out, strings.ToLower(a))
	}
	return out
}

// recipientKeys returns the names that recipients give: each address, the part before the
// at sign, and the part after a plus.
func recipientKeys(recipients ...string) []string {
	var out []string
	add := func(key string) {
		if key = strings.ToLower(strings.TrimSpace(key)); key != "" && len(key) <= 320 && !slices.Contains(out, key) {
			out = append(out, key)
		}
	}
	for _, r := range recipients[:min(len(recipients), maxRecipients)] {
		local, _, ok := strings.Cut(r, "@")
		if !ok {
			continue
		}
		add(r)
		add(local)
		if _, tag, ok := strings.Cut(local, "+"); ok {
			add(tag)
		}
	}
	return out
}

// parseAddress reads an address with a name, as in a header.
func parseAddress(text string) event.Address {
	a, err := mail.ParseAddress(text)
	if err != nil {
		// Headers of real mails break the rules: the last part in angle brackets is the address.
		if i, j := strings.LastIndexByte(text, '<'), strings.LastIndexByte(text, '>'); i >= 0 && j > i {
			return event.Address{Name: safetext.Line(strings.Trim(text[:i], ` "`)), Email: safetext.Line(text[i+1 : j])}
		}
		return event.Address{Email: safetext.Line(text)}
	}
	return event.Address{Name: safetext.Line(a.Name), Email: safetext.Line(a.Address)}
}

func parseAddresses(text string) []event.Address {
	if strings.TrimSpace(text) == "" {
		return nil
	}
	list, err := mail.ParseAddressList(text)
	if err != nil {
		return []event.Address{parseAddress(text)}
	}
	out := make([]event.Address, 0, len(list))
	for _, a := range list {
		out = append(out, event.Address{Name: safetext.Line(a.Name), Email: safetext.Line(a.Address)})
	}
	return out
}

// domain returns the lower-case domain of an address.
func domain(address string) string {
	i := strings.LastIndexByte(address, '@')
	return strings.ToLower(strings.Trim(address[i+1:], " <>"))
}

// aligned reports whether two addresses have the same domain.
func aligned(envelope, from string) bool {
	return domain(envelope) != "" && domain(envelope) == domain(from)
}

// complete fills what follows from other fields of a mail.
func complete(m *event.Mail) {
	m.Text, m.HTML = clip(m.Text), clip(m.HTML)
	if strings.TrimSpace(m.Text) == "" && m.HTML != "" {
		d := document.Document{Blocks: htmldoc.Fragment(context.Background(), m.HTML, document.Anchors{})} //nolint:contextcheck // the text is bounded
		m.Text = clip(d.Markdown())
	}
	if m.StrippedReply == "" {
		m.StrippedReply = stripReply(m.Text)
	}
	m.Subject = safetext.Line(m.Subject)
	m.Automatic = automatic(m.Headers)
	if len(m.Attachments) > maxAttachments {
		m.Attachments = m.Attachments[:maxAttachments]
	}
}

// clip bounds a text and makes it storable.
func clip(text string) string {
	if !utf8.ValidString(text) || strings.ContainsRune(text, 0) {
		text = safetext.Storable(text)
	}
	return safetext.TruncateBytes(strings.ReplaceAll(text, "\r\n", "\n"), maxTextBytes)
}

// automatic says why a mail was not written by a person; empty if it was.
func automatic(headers map[string]string) string {
	value := func(name string) string {
		return strings.ToLower(strings.TrimSpace(headers[http.CanonicalHeaderKey(name)]))
	}
	switch submitted, precedence := value("Auto-Submitted"), value("Precedence"); {
	case submitted != "" && !strings.HasPrefix(submitted, "no"):
		return "Auto-Submitted: " + safetext.TruncateBytes(safetext.Line(submitted), 100)
	case precedence == "bulk", precedence == "list", precedence == "junk":
		return "Precedence: " + precedence
	case value("X-Auto-Response-Suppress") != "" && value("X-Auto-Response-Suppress") != "none":
		return "X-Auto-Response-Suppress"
	case value("List-Id") != "" || value("List-Unsubscribe") != "":
		return "a mailing list"
	case value("Return-Path") == "<>":
		return "a delivery report"
	}
	return ""
}

// stripReply returns a text without the mail that it answers.
func stripReply(text string) string {
	lines := strings.Split(text, "\n")
	end := len(lines)
	for i, line := range lines {
		trimmed := strings.TrimSpace(line)
		next := ""
		if i+1 < len(lines) {
			next = strings.TrimSpace(lines[i+1])
		}
		quoteFollows := strings.HasSuffix(trimmed, ":") && (strings.HasPrefix(next, ">") || next == "" && i+2 < len(lines) && strings.HasPrefix(strings.TrimSpace(lines[i+2]), ">"))
		if quoteFollows || strings.HasPrefix(trimmed, "-----Original Message-----") || strings.HasPrefix(trimmed, "________________________________") {
			end = i
			break
		}
	}
	kept := lines[:end]
	for len(kept) > 0 {
		last := strings.TrimSpace(kept[len(kept)-1])
		if last != "" && !strings.HasPrefix(last, ">") {
			break
		}
		kept = kept[:len(kept)-1]
	}
	if len(kept) == 0 {
		return strings.TrimSpace(text)
	}
	return strings.TrimSpace(strings.Join(kept, "\n"))
}

// references splits the ids of a header.
func references(text string) []string {
	fields := strings.Fields(text)
	return fields[:min(len(fields), 100)]
}

// summary returns one line about a mail.
func summary(m *event.Mail) string {
	return safetext.TruncateBytes(safetext.Line(m.From.Email+": "+m.Subject), 300)
}

// received returns the delivery of one mail.
func received(id string, m *event.Mail) event.Delivery {
	if id == "" {
		id = m.MessageID
	}
	return event.Delivery{Events: []event.Event{{ID: id, Type: Type, At: m.Date, Summary: summary(m)}}}
}
