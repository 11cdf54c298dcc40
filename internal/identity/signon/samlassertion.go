package signon

import (
	"bytes"
	"encoding/base64"
	"encoding/xml"
	"errors"
	"io"
	"strings"
	"unicode/utf8"

	"github.com/crewjam/saml"

	"github.com/magpie-search/magpie/internal/apierr"
)

// Limits of the XML of a provider.
const (
	maxXMLDepth    = 40
	maxXMLElements = 20_000
	maxSAMLGroups  = 1000
)

// samlIssuer precedes the entity ID of a provider in the table of identities: an
// OpenID provider may have the same text as its issuer.
const samlIssuer = "saml:"

// The names of attributes by which providers send addresses, names and groups:
// Microsoft Entra ID and AD FS, the LDAP names of Shibboleth and Keycloak, and those
// that people enter at Okta and Google.
var (
	emailAttributes = []string{
		"http://schemas.xmlsoap.org/ws/2005/05/identity/claims/emailaddress", "urn:oid:0.9.2342.19200300.100.1.3", "urn:oid:1.2.840.113549.1.9.1",
		"email", "Email", "mail", "emailAddress", "user.email",
	}
	nameAttributes = []string{
		"http://schemas.microsoft.com/identity/claims/displayname", "urn:oid:2.16.840.1.113730.3.1.241", "displayName", "name", "Name", "user.displayName",
		"urn:oid:2.5.4.3", "cn",
	}
	firstNameAttributes = []string{"http://schemas.xmlsoap.org/ws/2005/05/identity/claims/givenname", "urn:oid:2.5.4.42", "firstName", "givenName", "first_name"}
	lastNameAttributes  = []string{"http://schemas.xmlsoap.org/ws/2005/05/identity/claims/surname", "urn:oid:2.5.4.4", "lastName", "surname", "sn", "last_name"}
	groupsAttributes    = []string{
		"http://schemas.microsoft.com/ws/2008/06/identity/claims/groups", "http://schemas.xmlsoap.org/claims/Group", "groups", "group", "member", "memberOf",
	}
)

// isEncrypted reports whether XML that checkXML has passed has an element
// EncryptedAssertion. Text with this word is none.
func isEncrypted(raw []byte) bool {
	if !bytes.Contains(raw, []byte("EncryptedAssertion")) {
		return false
	}
	for d := xml.NewDecoder(bytes.NewReader(raw)); ; {
		token, err := d.RawToken()
		if errors.Is(err, io.EOF) {
			return false
		}
		if err != nil {
			return true // which tells less
		}
		if start, ok := token.(xml.StartElement); ok && start.Name.Local == "EncryptedAssertion" {
			return true
		}
	}
}

// decodeResponse decodes a response and checks its form.
func decodeResponse(text string) ([]byte, error) {
	switch {
	case text == "":
		return nil, apierr.Invalid("SAMLResponse", "is required")
	case len(text) > MaxSAMLResponse:
		return nil, apierr.Invalid("SAMLResponse", "is too long")
	}
	raw, err := base64.StdEncoding.DecodeString(strings.NewReplacer("\r", "", "\n", "", " ", "").Replace(text))
	if err != nil {
		return nil, errBadResponse("it is not base64", nil)
	}
	if err := checkXML(raw); err != nil {
		return nil, errBadResponse("it is malformed", err)
	}
	return raw, nil
}

// checkXML refuses XML that no provider needs and that readers of XML have
// disagreed about: document types with their entities, comments, processing
// instructions, and too deep or too many elements. It takes linear time.
func checkXML(raw []byte) error {
	if !utf8.Valid(raw) {
		return errors.New("the XML is not UTF-8")
	}
	decoder := xml.NewDecoder(bytes.NewReader(raw))
	decoder.Strict = true
	depth, elements, first := 0, 0, true
	for {
		token, err := decoder.RawToken()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return err
		}
		switch t := token.(type) {
		case xml.StartElement:
			depth++
			elements++
		case xml.EndElement:
			depth--
		case xml.Directive:
			return errors.New("the XML has a document type")
		case xml.Comment:
			return errors.New("the XML has a comment")
		case xml.ProcInst:
			if !first || t.Target != "xml" {
				return errors.New("the XML has a processing instruction")
			}
		}
		first = false
		if depth > maxXMLDepth || elements > maxXMLElements {
			return errors.New("the XML is too deep or has too many elements")
		}
	}
	if elements == 0 || depth != 0 {
		return errors.New("the XML is incomplete")
	}
	return nil
}

// identity returns the person of a verified assertion.
func (s *SAML) identity(a *saml.Assertion) (identity, error) {
	if a.Subject == nil || a.Subject.NameID == nil {
		return identity{}, errBadResponse("it names no person", nil)
	}
	id := a.Subject.NameID
	subject := strings.TrimSpace(id.Value)
	switch {
	case subject == "" || utf8.RuneCountInString(subject) > maxSubject || strings.ContainsRune(subject, 0):
		return identity{}, errBadResponse("its NameID is empty or too long", nil)
	case id.Format == string(saml.TransientNameIDFormat):
		return identity{}, apierr.New(apierr.Forbidden, s.o.Name+" sends another NameID at each sign-in; the operator has to set the format persistent or emailAddress there")
	}
	email := firstOf(a, s.o.EmailAttributes)
	if email == "" && id.Format == string(saml.EmailAddressNameIDFormat) {
		email = subject
	}
	if email == "" {
		return identity{}, apierr.New(apierr.Forbidden, s.o.Name+" does not send your email address; the operator has to look at SAML_EMAIL_ATTRIBUTE")
	}
	name := firstOf(a, s.o.NameAttributes)
	if name == "" {
		name = strings.TrimSpace(firstOf(a, firstNameAttributes) + " " + firstOf(a, lastNameAttributes))
	}
	groups := valuesOf(a, s.o.GroupsAttributes)
	return identity{
		Issuer: samlIssuer + a.Issuer.Value, Subject: subject, Email: email, Name: line(name, 200), Groups: groups[:min(len(groups), maxSAMLGroups)],
	}, nil
}

// firstOf returns the first value of the first of the attributes that has one.
func firstOf(a *saml.Assertion, names []string) string {
	if values := valuesOf(a, names); len(values) > 0 {
		return values[0]
	}
	return ""
}

// valuesOf returns the values of the first of the attributes that has some.
func valuesOf(a *saml.Assertion, names []string) []string {
	for _, name := range names {
		var values []string
		for _, statement := range a.AttributeStatements {
			for _, attribute := range statement.Attributes {
				if attribute.Name != name {
					continue
				}
				for _, v := range attribute.Values {
					if value := strings.TrimSpace(v.Value); value != "" {
						values = append(values, value)
					}
				}
			}
		}
		if len(values) > 0 {
			return values
		}
	}
	return nil
}
