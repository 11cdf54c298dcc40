// Package confluenceserver is a Confluence site for tests. For Cloud it serves
// version 2 of the REST API and the remaining parts of version 1, Atlassian's
// gateway and the media host. For Data Center it serves version 1 and the older
// JSON-RPC API. Permissions, paging and expansions work as in Confluence. Tests
// change the site while it runs.
//
// Allowed imports: the standard library.
package confluenceserver
