package signon_test

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"encoding/xml"
	"math/big"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/magpie-search/magpie/internal/apierr"
	"github.com/magpie-search/magpie/internal/identity/signon"
)

func TestMetadataIsReadAgainWhenKeysChange(t *testing.T) {
	t.Parallel()
	h := newSAMLFixture(t)
	h.add(t, "ada@example.com")
	for range 3 {
		_, err := h.enter(t, h.saml, samlAda())
		must(t, err)
	}
	if n := h.idp.Requests(); n != 1 {
		t.Errorf("the metadata was read %d times", n)
	}
	h.idp.RotateKey(t)
	if _, err := h.enter(t, h.saml, samlAda()); code(err) != apierr.InvalidCredentials {
		t.Errorf("within a minute: %v", err)
	}
	h.clock.forward(2 * time.Minute)
	if _, err := h.enter(t, h.saml, samlAda()); err != nil {
		t.Errorf("with a new key: %v", err)
	}
	if n := h.idp.Requests(); n != 2 {
		t.Errorf("the metadata was read %d times", n)
	}
	h.idp.Break(true)
	h.clock.forward(2 * time.Hour)
	if _, err := h.enter(t, h.saml, samlAda()); err != nil {
		t.Errorf("while the metadata cannot be read: %v", err)
	}
	fresh := h.samlNode(t)
	if _, err := fresh.Start(t.Context(), ""); code(err) != apierr.Unavailable {
		t.Errorf("a node without metadata: %v", err)
	}
	h.idp.Break(false)
	h.clock.forward(4 * time.Second)
	if _, err := h.enter(t, fresh, samlAda()); err != nil {
		t.Errorf("after the provider came back: %v", err)
	}
}

func TestMetadataMustDescribeAProvider(t *testing.T) {
	t.Parallel()
	h := newSAMLFixture(t)
	right := h.idp.Metadata()
	folder := t.TempDir()
	for what, c := range map[string]struct {
		text string
		code apierr.Code
	}{
		"right":          {right, ""},
		"a page":         {"<html><body>Sign in</body></html>", apierr.Unavailable},
		"nothing":        {"", apierr.Unavailable},
		"no certificate": {strings.ReplaceAll(strings.ReplaceAll(right, "<md:KeyDescriptor", "<md:Other"), "</md:KeyDescriptor", "</md:Other"), apierr.Unavailable},
		"no redirect":    {strings.ReplaceAll(right, "HTTP-Redirect", "SOAP"), apierr.Unavailable},
		"too long":       {right + strings.Repeat(" ", 5<<20), apierr.Unavailable},
	} {
		path := filepath.Join(folder, uuid.NewString())
		must(t, os.WriteFile(path, []byte(c.text), 0o600))
		s := h.samlNode(t, func(o *signon.SAMLOptions) { o.LoadMetadata = signon.ReadMetadata(path) })
		if _, err := s.Start(t.Context(), ""); code(err) != c.code {
			t.Errorf("%s: %v", what, err)
		}
	}
	expired := strings.Replace(right, "<md:EntityDescriptor ", `<md:EntityDescriptor validUntil="`+h.clock.now().Add(-time.Hour).UTC().Format(time.RFC3339)+`" `, 1)
	path := filepath.Join(folder, "expired")
	must(t, os.WriteFile(path, []byte(expired), 0o600))
	s := h.samlNode(t, func(o *signon.SAMLOptions) { o.LoadMetadata = signon.ReadMetadata(path) })
	if _, err := h.enter(t, s, samlAda()); code(err) != apierr.InvalidCredentials {
		t.Errorf("metadata that has expired: %v", err)
	}
}

func TestTheServiceDescribesItself(t *testing.T) {
	t.Parallel()
	h := newSAMLFixture(t)
	pair := keyPair(t)
	signing := h.samlNode(t, func(o *signon.SAMLOptions) { o.KeyPair, o.EntityID = pair, "urn:magpie:test" })
	begun, err := signing.Start(t.Context(), "")
	must(t, err)
	if request := h.idp.Read(t, begun.URL); !request.Signed || request.Issuer != "urn:magpie:test" {
		t.Errorf("the request is %+v", request)
	}
	for _, s := range []*signon.SAML{h.saml, signing} {
		text, err := s.Metadata()
		must(t, err)
		var described struct {
			EntityID string `xml:"entityID,attr"`
			SP       struct {
				Want string `xml:"WantAssertionsSigned,attr"`
				ACS  []struct {
					Binding  string `xml:"Binding,attr"`
					Location string `xml:"Location,attr"`
				} `xml:"AssertionConsumerService"`
				Logout []struct{} `xml:"SingleLogoutService"`
				Keys   []struct{} `xml:"KeyDescriptor"`
			} `xml:"SPSSODescriptor"`
		}
		must(t, xml.Unmarshal(text, &described))
		keys := 0
		if s == signing {
			keys = 1
		}
		if len(described.SP.ACS) != 1 || described.SP.ACS[0].Location != baseURL+signon.SAMLACSPath || !strings.HasSuffix(described.SP.ACS[0].Binding, "HTTP-POST") ||
			described.SP.Want != "true" || len(described.SP.Logout) != 0 || len(described.SP.Keys) < keys || keys == 0 && len(described.SP.Keys) != 0 {
			t.Errorf("the metadata is\n%s", text)
		}
	}
	off := h.samlNode(t, func(o *signon.SAMLOptions) { o.LoadMetadata = nil })
	if _, ok := off.Method(); ok {
		t.Error("a way to sign in that is not set up is offered")
	}
	_, startErr := off.Start(t.Context(), "")
	_, responseErr := off.HandleResponse(t.Context(), signon.SAMLResponse{})
	_, finishErr := off.Finish(t.Context(), "", "")
	_, metadataErr := off.Metadata()
	for _, err := range []error{startErr, responseErr, finishErr, metadataErr} {
		if code(err) != apierr.InvalidRequest {
			t.Errorf("without a setting: %v", err)
		}
	}
}

func keyPair(t *testing.T) *tls.Certificate {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	must(t, err)
	about := &x509.Certificate{SerialNumber: big.NewInt(1), NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour)}
	der, err := x509.CreateCertificate(rand.Reader, about, about, &key.PublicKey, key)
	must(t, err)
	leaf, err := x509.ParseCertificate(der)
	must(t, err)
	return &tls.Certificate{Certificate: [][]byte{der}, PrivateKey: key, Leaf: leaf}
}
