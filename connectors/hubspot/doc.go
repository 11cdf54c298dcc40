// Package hubspot is the connector of HubSpot: the records of the CRM, such as
// contacts, companies, deals, tickets, and what people noted, mailed and planned about
// them, and records of custom objects.
//
// A walk lists one object type after the other, in the order of ids. A feed searches
// each type for what was modified since a time, in windows of ids, and reads the list
// of archived records.
//
// The package may import connectors, connectors/restapi and golang.org/x/net/html.
package hubspot
