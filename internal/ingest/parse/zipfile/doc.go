// Package zipfile opens the zip archives that office files, books and plain archives are, with bounds: on members, on the
// ratio and on all that is expanded. It may import the standard library and internal/ingest/document.
package zipfile
