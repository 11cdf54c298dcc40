// Package sitetemplate strips what generators of websites put into Markdown: Liquid tags, Hugo shortcodes, and the imports,
// components and expressions of MDX.
//
// The package may import the standard library, and the ascii and inline packages beside it.
package sitetemplate
