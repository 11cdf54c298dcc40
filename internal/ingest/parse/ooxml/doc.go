// Package ooxml reads Office Open XML (ECMA-376): Word documents, PowerPoint presentations, and the packages of parts and
// relationships that workbooks are made of too.
//
// The package may import the standard library, internal/ingest/document, internal/safetext, and the packages wordmodel, xmlscan
// and zipfile beside it.
package ooxml
