// Package driveserver is a server that speaks the parts of the Google Drive API
// (version 3), of the Admin SDK and of Google's token endpoint that the connector
// uses, as their reference describes them: files with parents and access lists,
// shared drives, exports, feeds of changes, notification channels, groups and
// service accounts. It can slow down, hide files, forget page tokens and answer
// with anything else.
//
// Allowed imports: none of Magpie.
package driveserver
