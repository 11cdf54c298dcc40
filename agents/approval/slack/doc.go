// Package slack posts approvals in Slack and takes the decisions of people there: it
// verifies what Slack sends, finds the member of the workspace by the verified mail
// address of the Slack user, decides with that member's rights, and replaces the
// message by the outcome.
//
// The package may import agents/approval, agents/slackapi, connectors, ent, internal/audit,
// internal/event and leaves.
package slack
