// Package salesforceserver serves a part of Salesforce's REST API for tests, after its
// published description: tokens, descriptions of objects, a subset of SOQL, the log of
// deleted records, batches, files, the count of API requests, and record sharing with
// its own judgement of who may read a record (UserRecordAccess).
//
// Allowed imports: golang-jwt.
package salesforceserver
