// Package samlserver is a SAML 2.0 identity provider for tests. It reads requests that
// come by a redirect, and signs responses that differ from right ones as a test says.
// The XML is written here and signed by goxmldsig, so that what reads it is not what
// made it.
//
// Allowed imports: etree, goxmldsig.
package samlserver
