// Package webcrawler is the connector for web sites.
//
// A crawl starts at some URLs and at the site's sitemaps and follows links, as
// far as its scope and robots.txt (RFC 9309) allow. The queue and a record of
// each page are in the connector's state, so that a crawl continues after any
// interruption and the next one makes conditional requests. The version of a
// page is the hash of its visible text.
//
// A site cannot be listed, so nothing is deleted because a crawl did not find
// it.
//
// Allowed imports: the standard library, connectors, connectors/restapi,
// internal/httpx, internal/safetext, golang.org/x/net and temoto/robotstxt.
package webcrawler
