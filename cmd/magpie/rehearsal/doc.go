// Package rehearsal plays an automation through in a running Magpie: a mail arrives, an
// agent drafts a cited answer, a person approves it in Slack, the reply goes out. The chat
// model, Slack and the mail server are stand-ins, at loopback addresses. At each step it can
// kill the worker.
//
// Allowed imports: cmd/magpie/console, internal/testkit/smtpserver.
package rehearsal
