// Package atlassian is what the connectors of Atlassian's products have in
// common: the options and credentials of Cloud and Data Center, requests that are
// authorized and checked, and lists of readers.
package atlassian
