// Package gitlabserver is a stand-in of GitLab for tests and samples: version 4 of the
// REST API with projects, files, issues, merge requests, wikis and snippets.
package gitlabserver
