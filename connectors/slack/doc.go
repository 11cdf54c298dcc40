// Package slack is the connector for Slack workspaces: the threads, the days of
// each channel and the files that are shared in the channels.
//
// It uses the Web API (https://api.slack.com/web) and reads the deliveries of
// the Events API.
//
// Allowed imports: connectors, connectors/glob, connectors/restapi and
// internal/safetext.
package slack
