// Package slackapi calls the methods of Slack's API with the token of a bot, and tells
// what Slack refused from what nobody knows.
//
// Allowed imports: internal/httpx.
package slackapi
