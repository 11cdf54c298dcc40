// Package servicenowserver imitates the parts of ServiceNow that the connector of
// ServiceNow uses: the Table API with encoded queries and access rules that apply after
// the limit, attachments, and the audit of deletions.
//
// Allowed imports: the standard library. Only tests and the demonstration import it.
package servicenowserver
