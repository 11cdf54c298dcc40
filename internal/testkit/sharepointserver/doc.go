// Package sharepointserver is an organisation of Microsoft 365 for tests and demos:
// Microsoft Graph with sites, libraries, deltas, pages, lists, permissions, batches,
// groups and subscriptions, the login that issues tokens to apps, the host of file
// contents, and SharePoint's own interface for groups of sites. The organisation can
// be changed while it runs. It can lock sites, expire deltas, throttle and fail.
//
// Allowed imports: the standard library and golang-jwt.
package sharepointserver
