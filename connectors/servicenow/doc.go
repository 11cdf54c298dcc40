// Package servicenow is the connector of ServiceNow: rows of tables, such as knowledge
// articles, incidents and catalog items, and the files attached to them.
//
// A walk lists one table after the other in the order of sys_id. A feed lists what was
// updated in the last minutes, and the audit of deletions where it is readable. Readers
// of knowledge articles come from user criteria.
//
// The package may import connectors and connectors/restapi.
package servicenow
