// Package fileupload is the connector for files that people upload to Magpie.
//
// Allowed imports: the standard library and connectors.
package fileupload
