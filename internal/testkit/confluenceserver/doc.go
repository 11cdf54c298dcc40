// Package confluenceserver serves Confluence's REST interfaces from a world in
// memory that tests change: version 2 and what is left of version 1 for Cloud,
// with Atlassian's gateway and media host, and version 1 for Data Center, with
// its older remote interface. Who asks sees what that account may see; lists
// are paged, and fields left out unless they are asked for, as the platforms do.
//
// Allowed imports: the standard library.
package confluenceserver
