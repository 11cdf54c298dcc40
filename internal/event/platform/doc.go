// Package platform has the providers of events: issue trackers, help desks, code
// hosting, wikis and customer databases.
//
// Allowed imports: connectors, internal/event, internal/safetext.
package platform
