// Package googledrive is the connector kind for Google Drive: My Drive, shared
// drives, single folders and files that were shared with the account. It reads
// version 3 of the Drive API, the feed of changes, and groups of the Admin SDK.
//
// A walk lists the folders of a drive first and keeps them in the state, so that
// every file gets its path without further requests. The feed uses the same
// folders: a folder that moves has no changes for the files in it.
//
// Allowed imports: connectors and connectors/restapi.
package googledrive
