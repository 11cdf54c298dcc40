package samlserver

import (
	"bytes"
	"compress/flate"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/rsa"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/base64"
	"encoding/xml"
	"fmt"
	"html"
	"io"
	"math/big"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/beevik/etree"
	dsig "github.com/russellhaering/goxmldsig"
)

// The formats of a NameID.
const (
	Persistent   = "urn:oasis:names:tc:SAML:2.0:nameid-format:persistent"
	Transient    = "urn:oasis:names:tc:SAML:2.0:nameid-format:transient"
	EmailAddress = "urn:oasis:names:tc:SAML:1.1:nameid-format:emailAddress"
)

// Success is the status of a response with an assertion.
const Success = "urn:oasis:names:tc:SAML:2.0:status:Success"

// EmailAttribute is the name of the attribute with the address at Microsoft Entra ID.
const EmailAttribute = "http://schemas.xmlsoap.org/ws/2005/05/identity/claims/emailaddress"

const instant = "2006-01-02T15:04:05.000Z"

// Server is a running identity provider. Its methods are safe for concurrent use.
type Server struct {
	// MetadataURL is where its metadata is; EntityID is its entity ID.
	MetadataURL, EntityID string

	mu       sync.Mutex
	now      func() time.Time
	key      *ecdsa.PrivateKey
	cert     []byte
	serial   int64
	broken   bool
	requests int
}

// Start starts a server, which stops at the end of the test.
func Start(t testing.TB) *Server {
	t.Helper()
	s := &Server{now: time.Now}
	s.RotateKey(t)
	server := httptest.NewServer(http.HandlerFunc(s.serve))
	t.Cleanup(server.Close)
	s.MetadataURL, s.EntityID = server.URL+"/metadata", server.URL+"/entity"
	return s
}

// SetClock sets the clock of the server.
func (s *Server) SetClock(now func() time.Time) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.now = now
}

// Break makes the server answer requests for its metadata with errors, or not.
func (s *Server) Break(broken bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.broken = broken
}

// Requests returns how often the metadata was requested.
func (s *Server) Requests() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.requests
}

// RotateKey replaces the key of the server.
func (s *Server) RotateKey(t testing.TB) {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.serial++
	about := &x509.Certificate{
		SerialNumber: big.NewInt(s.serial), Subject: pkix.Name{CommonName: "Example ID"},
		NotBefore: time.Now().Add(-24 * time.Hour), NotAfter: time.Now().Add(365 * 24 * time.Hour),
	}
	if s.cert, err = x509.CreateCertificate(rand.Reader, about, about, &key.PublicKey, key); err != nil {
		t.Fatal(err)
	}
	s.key = key
}

func (s *Server) serve(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	s.requests++
	broken := s.broken
	s.mu.Unlock()
	if r.URL.Path != "/metadata" || broken {
		http.Error(w, "out of order", http.StatusServiceUnavailable)
		return
	}
	w.Header().Set("Content-Type", "application/samlmetadata+xml")
	_, _ = io.WriteString(w, s.Metadata())
}

// Metadata returns the metadata of the server.
func (s *Server) Metadata() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return fmt.Sprintf(`<?xml version="1.0" encoding="UTF-8"?>
<md:EntityDescriptor xmlns:md="urn:oasis:names:tc:SAML:2.0:metadata" entityID="%s">
  <md:IDPSSODescriptor protocolSupportEnumeration="urn:oasis:names:tc:SAML:2.0:protocol" WantAuthnRequestsSigned="false">
    <md:KeyDescriptor use="signing"><ds:KeyInfo xmlns:ds="http://www.w3.org/2000/09/xmldsig#"><ds:X509Data><ds:X509Certificate>%s</ds:X509Certificate></ds:X509Data></ds:KeyInfo></md:KeyDescriptor>
    <md:SingleSignOnService Binding="urn:oasis:names:tc:SAML:2.0:bindings:HTTP-Redirect" Location="%s"/>
  </md:IDPSSODescriptor>
</md:EntityDescriptor>
`, s.EntityID, base64.StdEncoding.EncodeToString(s.cert), strings.TrimSuffix(s.MetadataURL, "/metadata")+"/sso")
}

// Request is a request that a browser brought.
type Request struct {
	ID, Issuer, ACS, Destination, RelayState string
	// Signed says that the address has a signature.
	Signed bool
}

// Read reads the request in an address to which a browser is sent.
func (s *Server) Read(t testing.TB, address string) Request {
	t.Helper()
	parsed, err := url.Parse(address)
	if err != nil {
		t.Fatal(err)
	}
	packed, err := base64.StdEncoding.DecodeString(parsed.Query().Get("SAMLRequest"))
	if err != nil {
		t.Fatal(err)
	}
	raw, err := io.ReadAll(flate.NewReader(bytes.NewReader(packed)))
	if err != nil {
		t.Fatal(err)
	}
	var request struct {
		ID          string `xml:"ID,attr"`
		ACS         string `xml:"AssertionConsumerServiceURL,attr"`
		Destination string `xml:"Destination,attr"`
		Issuer      string `xml:"Issuer"`
	}
	if err := xml.Unmarshal(raw, &request); err != nil {
		t.Fatal(err)
	}
	return Request{
		ID: request.ID, Issuer: request.Issuer, ACS: request.ACS, Destination: request.Destination,
		RelayState: parsed.Query().Get("RelayState"), Signed: parsed.Query().Get("Signature") != "",
	}
}

// Response describes a response. Fields of XML are not escaped.
type Response struct {
	InResponseTo, Destination, Recipient, Audience, Issuer string
	AssertionID, NameID, NameIDFormat, Status              string
	Attributes                                             map[string][]string
	IssuedAt, NotBefore, NotOnOrAfter                      time.Time
	// Extra is XML in the assertion's conditions.
	Extra string
	// SignAssertion and SignResponse say what is signed.
	SignAssertion, SignResponse bool
	// EncryptTo is the key for which the assertion is encrypted; nil for a readable one.
	EncryptTo *rsa.PublicKey
	// Cipher and KeyTransport are the algorithms of the encryption. Default: AES256GCM
	// and RSAOAEP.
	Cipher, KeyTransport string
}

// Person is who is signed in at the server.
type Person struct{ NameID, Email, Name string }

// Answer returns a right response to a request, in which the assertion is signed.
func (s *Server) Answer(r Request, who Person) Response {
	s.mu.Lock()
	now := s.now()
	s.mu.Unlock()
	attributes := map[string][]string{}
	if who.Email != "" {
		attributes[EmailAttribute] = []string{who.Email}
	}
	if who.Name != "" {
		attributes["displayName"] = []string{who.Name}
	}
	return Response{
		InResponseTo: r.ID, Destination: r.ACS, Recipient: r.ACS, Audience: r.Issuer, Issuer: s.EntityID, AssertionID: "id" + rand.Text(),
		NameID: html.EscapeString(who.NameID), NameIDFormat: Persistent, Status: Success, Attributes: attributes,
		IssuedAt: now, NotBefore: now.Add(-time.Minute), NotOnOrAfter: now.Add(5 * time.Minute), SignAssertion: true,
	}
}

// Sign returns the document of a response, after changes of its assertion.
func (s *Server) Sign(t testing.TB, r Response, changes ...func(assertion *etree.Element)) *etree.Document {
	t.Helper()
	issued, until := r.IssuedAt.UTC().Format(instant), r.NotOnOrAfter.UTC().Format(instant)
	var attributes strings.Builder
	for name, values := range r.Attributes {
		fmt.Fprintf(&attributes, `<saml:Attribute Name="%s">`, html.EscapeString(name))
		for _, value := range values {
			fmt.Fprintf(&attributes, `<saml:AttributeValue>%s</saml:AttributeValue>`, html.EscapeString(value))
		}
		attributes.WriteString(`</saml:Attribute>`)
	}
	document := etree.NewDocument()
	text := fmt.Sprintf(`<samlp:Response xmlns:samlp="urn:oasis:names:tc:SAML:2.0:protocol" xmlns:saml="urn:oasis:names:tc:SAML:2.0:assertion" ID="%s" Version="2.0" IssueInstant="%s" Destination="%s" InResponseTo="%s"><saml:Issuer>%s</saml:Issuer><samlp:Status><samlp:StatusCode Value="%s"/></samlp:Status></samlp:Response>`,
		"id"+rand.Text(), issued, r.Destination, r.InResponseTo, r.Issuer, r.Status)
	if err := document.ReadFromString(text); err != nil {
		t.Fatal(err)
	}
	if r.Status == Success {
		assertion := etree.NewDocument()
		text := fmt.Sprintf(`<saml:Assertion xmlns:saml="urn:oasis:names:tc:SAML:2.0:assertion" ID="%s" Version="2.0" IssueInstant="%s"><saml:Issuer>%s</saml:Issuer><saml:Subject><saml:NameID Format="%s">%s</saml:NameID><saml:SubjectConfirmation Method="urn:oasis:names:tc:SAML:2.0:cm:bearer"><saml:SubjectConfirmationData InResponseTo="%s" Recipient="%s" NotOnOrAfter="%s"/></saml:SubjectConfirmation></saml:Subject><saml:Conditions NotBefore="%s" NotOnOrAfter="%s"><saml:AudienceRestriction><saml:Audience>%s</saml:Audience></saml:AudienceRestriction>%s</saml:Conditions><saml:AuthnStatement AuthnInstant="%s" SessionIndex="s1"><saml:AuthnContext><saml:AuthnContextClassRef>urn:oasis:names:tc:SAML:2.0:ac:classes:PasswordProtectedTransport</saml:AuthnContextClassRef></saml:AuthnContext></saml:AuthnStatement><saml:AttributeStatement>%s</saml:AttributeStatement></saml:Assertion>`,
			r.AssertionID, issued, r.Issuer, r.NameIDFormat, r.NameID, r.InResponseTo, r.Recipient, until, r.NotBefore.UTC().Format(instant), until, r.Audience, r.Extra, issued, attributes.String())
		if err := assertion.ReadFromString(text); err != nil {
			t.Fatal(err)
		}
		element := assertion.Root()
		for _, change := range changes {
			change(element)
		}
		if r.SignAssertion {
			element = s.sign(t, element)
		}
		if r.EncryptTo != nil {
			element = Encrypt(t, element, r.EncryptTo, r.Cipher, r.KeyTransport)
		}
		document.Root().AddChild(element)
	}
	if r.SignResponse {
		document.SetRoot(s.sign(t, document.Root()))
	}
	return document
}

// sign returns an element with its signature after its issuer.
func (s *Server) sign(t testing.TB, element *etree.Element) *etree.Element {
	t.Helper()
	s.mu.Lock()
	defer s.mu.Unlock()
	signing, err := dsig.NewSigningContext(s.key, [][]byte{s.cert})
	if err != nil {
		t.Fatal(err)
	}
	signing.Canonicalizer = dsig.MakeC14N10ExclusiveCanonicalizerWithPrefixList("")
	if err := signing.SetSignatureMethod(dsig.ECDSASHA256SignatureMethod); err != nil {
		t.Fatal(err)
	}
	signed := element.Copy() // the canonicalization removes comments
	signature, err := signing.ConstructSignature(element, true)
	if err != nil {
		t.Fatal(err)
	}
	signed.InsertChildAt(1, signature)
	return signed
}

// Encode returns the field SAMLResponse of a document.
func Encode(t testing.TB, document *etree.Document) string {
	t.Helper()
	text, err := document.WriteToString()
	if err != nil {
		t.Fatal(err)
	}
	return base64.StdEncoding.EncodeToString([]byte(text))
}

// Respond returns the fields of the form by which the server answers the request in an
// address, after the changes.
func (s *Server) Respond(t testing.TB, address string, who Person, changes ...func(*Response)) (response, relayState string) {
	t.Helper()
	request := s.Read(t, address)
	answer := s.Answer(request, who)
	for _, change := range changes {
		change(&answer)
	}
	return Encode(t, s.Sign(t, answer)), request.RelayState
}
