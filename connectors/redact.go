package connectors

import "strings"

// minSecretBytes is the length of the shortest credential that is redacted.
// Shorter ones occur in ordinary words.
const minSecretBytes = 6

const redacted = "[hidden]"

// Redact replaces a connector's credentials in a text that people will see. The
// errors of sources hold no credentials; texts of libraries and servers may.
func (k Kind) Redact(text string, credentials map[string]string) string {
	for _, option := range k.Credentials {
		secret := credentials[option.Name]
		if !option.Sensitive || len(secret) < minSecretBytes {
			continue
		}
		text = strings.ReplaceAll(text, secret, redacted)
		for line := range strings.Lines(secret) {
			if line = strings.TrimSpace(line); option.Multiline && len(line) >= 2*minSecretBytes {
				text = strings.ReplaceAll(text, line, redacted)
			}
		}
	}
	return text
}
