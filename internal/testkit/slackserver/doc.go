// Package slackserver is a Slack workspace for tests. It serves the Web API with
// the statuses, error codes, scopes, cursors and limits of Slack, serves files,
// and records events. Tests change the workspace while it runs.
//
// It follows the published API description (slackapi/slack-api-specs) and
// https://api.slack.com/methods.
//
// Allowed imports: the standard library.
package slackserver
