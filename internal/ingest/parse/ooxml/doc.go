// Package ooxml reads Office Open XML (ECMA-376): Word documents and PowerPoint presentations, and the package of parts
// and relationships that workbooks are made of too.
//
// The package may import the standard library, internal/ingest/document and the zipfile and xmlscan readers beside it.
package ooxml
