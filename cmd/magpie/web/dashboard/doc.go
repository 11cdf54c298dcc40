// Package dashboard serves Magpie's pages for browsers. Their sources are in this
// folder, in TypeScript; the built site in dist is embedded, so that only who changes
// the sources needs Node.js ("make dashboard"). A test fails when dist was not built
// from the sources. The build tag nodashboard leaves the site out.
//
// Allowed imports: internal/request/compress.
package dashboard
