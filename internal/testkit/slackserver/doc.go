// Package slackserver is a Slack workspace for tests: a server of the Web API with
// the statuses, error words, scopes, cursors and limits of the real one, the host
// of its files, and the events that it would send. What is in the workspace
// changes while it runs.
//
// It follows the published API description (slackapi/slack-api-specs) and
// https://api.slack.com/methods.
//
// Allowed imports: the standard library.
package slackserver
