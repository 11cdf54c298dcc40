// Package salesforce connects Salesforce: records of standard and custom objects with
// their comments, mails and tasks, Knowledge articles, and files. Readers are those
// whom the record sharing rules of the organization let read a record.
//
// Allowed imports: connectors, connectors/restapi, golang-jwt, x/net/html.
package salesforce
