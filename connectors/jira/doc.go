// Package jira is the connector of Jira Cloud and Jira Data Center: issues with
// their comments, and attachments.
//
// A walk and a feed of changes both read pages of a search by JQL. The walk orders
// issues by their creation, the feed by their last update. Deletions are known by
// the complete list of ids, which the feed compares with the list of the sync
// before.
package jira
