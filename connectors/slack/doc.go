// Package slack makes documents of a Slack workspace: the threads, the days of
// each channel and the files that were shared there.
//
// It speaks the Web API (https://api.slack.com/web) and reads the deliveries of
// the Events API.
//
// Allowed imports: connectors, connectors/glob and connectors/restapi.
package slack
