// Package mailer sends mails: by SMTP to a server that the operator has chosen, or by the
// API of Postmark or Amazon SES. It writes the headers itself, so that no text of a caller
// becomes one, and tells whether a failed mail may have been sent.
//
// Allowed imports: internal/httpx and internal/safetext.
package mailer
