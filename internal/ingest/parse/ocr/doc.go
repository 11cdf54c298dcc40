// Package ocr reads the text in pictures (PNG, JPEG, TIFF, GIF, BMP, WebP) with the program tesseract, where that is
// installed.
//
// A picture is looked at before the program gets it: what is too large, or no picture, never reaches it. The program runs
// with one thread, as many at a time as there are processors, and ends with the context. Words it is not sure of are left
// out, so that a photograph does not become a document of letters found in its shadows.
//
// The package may import the standard library and internal/ingest/document.
package ocr
