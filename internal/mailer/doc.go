// Package mailer sends mails by SMTP to a server that the operator has chosen. It
// writes each mail itself, so that no text of a caller becomes a header, and tells
// whether a failed mail may have been sent.
//
// Allowed imports: internal/safetext.
package mailer
