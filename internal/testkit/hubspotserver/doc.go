// Package hubspotserver imitates the parts of HubSpot's API that the connector of
// HubSpot uses: records with their properties and associations, the search with its
// limits, archived records, owners, custom objects, and scopes.
//
// Allowed imports: the standard library. Only tests and the demonstration import it.
package hubspotserver
