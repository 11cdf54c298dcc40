// Package ocr reads the text in pictures (PNG, JPEG, TIFF, GIF, BMP, WebP) with the program tesseract, if that is
// installed.
//
// The header of a picture is checked before the program runs. The program has one thread and ends with the context. As
// many run at once as there are processors. Words with a low confidence are left out, so that a photograph does not
// become a document of random letters.
//
// The package may import the standard library and internal/ingest/document.
package ocr
