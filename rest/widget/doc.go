// Package widget serves the JavaScript that websites use Magpie's public
// surface with: the client as an ES module with its types, and the search and
// chat widget as one classic script. They are written as they stand in asset;
// there is no build step but joining the files.
//
// Allowed imports: none of Magpie's.
package widget
