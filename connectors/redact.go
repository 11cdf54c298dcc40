package connectors

import "strings"

// shortestSecret is the length from which on a credential is looked for in
// texts: shorter ones would be found in ordinary words.
const shortestSecret = 6

const redacted = "[hidden]"

// Redact takes the credentials of a connector out of a text that is to be
// shown. Sources keep their errors free of them; this is for what a library or
// a server says that they did not write.
func (k Kind) Redact(text string, credentials map[string]string) string {
	for _, option := range k.Credentials {
		secret := credentials[option.Name]
		if !option.Sensitive || len(secret) < shortestSecret {
			continue
		}
		text = strings.ReplaceAll(text, secret, redacted)
		for line := range strings.Lines(secret) {
			if line = strings.TrimSpace(line); option.Multiline && len(line) >= 2*shortestSecret {
				text = strings.ReplaceAll(text, line, redacted)
			}
		}
	}
	return text
}
