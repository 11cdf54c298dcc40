// Package widget serves the JavaScript for websites that use Magpie's public
// surface: the client as an ES module with its types, and the search and chat
// widget as a classic script. The sources are in asset; the only build step joins
// the files.
//
// Allowed imports: internal/request/compress.
package widget
