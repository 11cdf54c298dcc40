// Package fileupload is the connector whose documents people upload to Magpie
// itself.
//
// Allowed imports: the standard library and connectors.
package fileupload
