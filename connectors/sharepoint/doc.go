// Package sharepoint is the connector kind "sharepoint": the files, pages and lists
// of SharePoint sites and the files of OneDrives, read with Microsoft Graph. It
// signs in as an app with a secret or a certificate, or with an OAuth grant. It
// imports permissions, reads changes by delta links, and subscribes to change
// notifications.
//
// Allowed imports: connectors, connectors/glob, connectors/restapi.
package sharepoint
