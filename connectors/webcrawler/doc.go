// Package webcrawler is the connector for web sites.
//
// It begins at some addresses and at the site's sitemaps, and follows links as
// far as its scope and robots.txt (RFC 9309) let it. What it has to remember, the
// queue and what it knows of each page, is kept in the connector's notes, so that
// a crawl goes on after any interruption and the next one asks for pages only if
// they have changed. The version of a page is the hash of its visible text.
//
// A site has no end and no listing, so nothing is deleted because a crawl did not
// meet it.
//
// Allowed imports: the standard library, connectors, golang.org/x/net and
// temoto/robotstxt.
package webcrawler
