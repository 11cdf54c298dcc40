// Package jiraserver imitates Jira Cloud (version 3 of its API, at the site and at
// Atlassian's gateway) and Jira Data Center (version 2), from Atlassian's published
// descriptions: search by JQL, issues, comments, attachments, projects, permission
// schemes, roles, security levels, groups and people. Tests change the site while it
// runs.
//
// Allowed imports: the standard library.
package jiraserver
