package signon_test

import (
	"crypto/rand"
	"crypto/rsa"
	"crypto/tls"
	"crypto/x509"
	"encoding/base64"
	"math/big"
	"strings"
	"testing"
	"time"

	"github.com/beevik/etree"

	"github.com/magpie-search/magpie/internal/apierr"
	"github.com/magpie-search/magpie/internal/identity/signon"
	"github.com/magpie-search/magpie/internal/testkit/samlserver"
)

// rsaPair returns a key pair to decrypt with.
func rsaPair(t *testing.T) (*tls.Certificate, *rsa.PublicKey) {
	t.Helper()
	key, err := rsa.GenerateKey(rand.Reader, 2048)
	must(t, err)
	about := &x509.Certificate{SerialNumber: big.NewInt(1), NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour)}
	der, err := x509.CreateCertificate(rand.Reader, about, about, &key.PublicKey, key)
	must(t, err)
	leaf, err := x509.ParseCertificate(der)
	must(t, err)
	return &tls.Certificate{Certificate: [][]byte{der}, PrivateKey: key, Leaf: leaf}, &key.PublicKey
}

func TestAssertionsMayBeEncrypted(t *testing.T) {
	t.Parallel()
	pair, public := rsaPair(t)
	h := newSAMLFixture(t, func(o *signon.SAMLOptions) { o.KeyPair = pair })
	h.add(t, "ada@example.com")
	for _, cipher := range []string{samlserver.AES128CBC, samlserver.AES256CBC, samlserver.AES128GCM, samlserver.AES256GCM} {
		for _, transport := range []string{samlserver.RSAOAEPMGF1P, samlserver.RSAOAEP} {
			encrypted := func(r *samlserver.Response) { r.EncryptTo, r.Cipher, r.KeyTransport = public, cipher, transport }
			tokens, err := h.enter(t, h.saml, samlAda(), encrypted)
			if err != nil || h.who(t, tokens).Email != "ada@example.com" {
				t.Errorf("%s by %s: %v", cipher, transport, err)
			}
			if _, err := h.enter(t, h.saml, samlAda(), encrypted, func(r *samlserver.Response) { r.SignAssertion, r.SignResponse = false, true }); err != nil {
				t.Errorf("%s by %s, the response is signed: %v", cipher, transport, err)
			}
		}
	}
	// What is decrypted is checked as what is readable.
	const id = "id-once"
	for what, c := range map[string]struct {
		change func(*samlserver.Response)
		reason string
	}{
		"another audience":         {func(r *samlserver.Response) { r.Audience = "https://other.example.com" }, "for another service"},
		"another recipient":        {func(r *samlserver.Response) { r.Recipient = "https://other.example.com/acs" }, "for another address"},
		"expired":                  {func(r *samlserver.Response) { r.NotOnOrAfter = h.clock.now().Add(-4 * time.Minute) }, "has expired"},
		"not valid yet":            {func(r *samlserver.Response) { r.NotBefore = h.clock.now().Add(4 * time.Minute) }, "not valid yet"},
		"an answer to another one": {func(r *samlserver.Response) { r.InResponseTo = "id-0000" }, "answers another request"},
		"no signature":             {func(r *samlserver.Response) { r.SignAssertion = false }, "no valid signature"},
		"RSA of PKCS #1 1.5":       {func(r *samlserver.Response) { r.KeyTransport = "http://www.w3.org/2001/04/xmlenc#rsa-1_5" }, "cannot be decrypted"},
		"Triple DES":               {func(r *samlserver.Response) { r.Cipher = "http://www.w3.org/2001/04/xmlenc#tripledes-cbc" }, "cannot be decrypted"},
	} {
		_, err := h.enter(t, h.saml, samlAda(), func(r *samlserver.Response) { r.EncryptTo = public }, c.change)
		if code(err) != apierr.InvalidCredentials || !strings.Contains(apierr.From(err).Message, c.reason) {
			t.Errorf("%s: %v", what, err)
		}
	}
	for i := range 2 {
		_, err := h.enter(t, h.saml, samlAda(), func(r *samlserver.Response) { r.EncryptTo, r.AssertionID = public, id })
		if i == 0 && err != nil || i == 1 && (code(err) != apierr.InvalidCredentials || !strings.Contains(apierr.From(err).Message, "used before")) {
			t.Errorf("the assertion, time %d: %v", i, err)
		}
	}
}

func TestAssertionsForOtherKeysAreRefused(t *testing.T) {
	t.Parallel()
	pair, _ := rsaPair(t)
	_, other := rsaPair(t)
	h := newSAMLFixture(t)
	h.add(t, "ada@example.com")
	for what, c := range map[string]struct {
		pair   *tls.Certificate
		reason string
	}{
		"no key":        {nil, "SAML_KEY"},
		"an EC key":     {keyPair(t), "SAML_KEY"},
		"the wrong key": {pair, "cannot be decrypted"},
	} {
		s := h.samlNode(t, func(o *signon.SAMLOptions) { o.KeyPair = c.pair })
		_, err := h.enter(t, s, samlAda(), func(r *samlserver.Response) { r.EncryptTo = other })
		if code(err) != apierr.InvalidCredentials || !strings.Contains(apierr.From(err).Message, c.reason) {
			t.Errorf("%s: %v", what, err)
		}
	}
}

// Anybody can encrypt for the service, so the encryption proves nothing. The answers to
// changed ciphertexts are all the same, so that they say nothing of the text.
func TestEncryptionReplacesNoSignature(t *testing.T) {
	t.Parallel()
	pair, public := rsaPair(t)
	h := newSAMLFixture(t, func(o *signon.SAMLOptions) { o.KeyPair = pair })
	h.add(t, "ada@example.com")
	other := samlserver.Start(t)
	other.SetClock(h.clock.now)
	forge := func(a *etree.Element) *etree.Element {
		out := a.Copy()
		for _, id := range out.FindElements(".//NameID") {
			id.SetText("owner-1")
		}
		for _, value := range out.FindElements(".//AttributeValue") {
			value.SetText("owner@example.com")
		}
		return out
	}
	unsigned := func(a *etree.Element) *etree.Element {
		a.RemoveChild(a.SelectElement("Signature"))
		a.CreateAttr("ID", "evil")
		return a
	}
	encrypt := func(t *testing.T, a *etree.Element, cipher string) *etree.Element {
		t.Helper()
		return samlserver.Encrypt(t, a, public, cipher, "")
	}
	// flip changes a byte of the encrypted text, from its end.
	flip := func(t *testing.T, e *etree.Element, back int) *etree.Element {
		t.Helper()
		value := e.FindElement("./EncryptedData/CipherData/CipherValue")
		raw, err := base64.StdEncoding.DecodeString(value.Text())
		must(t, err)
		raw[len(raw)-back] ^= 1
		value.SetText(base64.StdEncoding.EncodeToString(raw))
		return e
	}
	messages := map[string]bool{}
	for what, change := range map[string]func(t *testing.T, d *etree.Document, a *etree.Element){
		"a changed text, CBC": func(t *testing.T, d *etree.Document, a *etree.Element) {
			d.Root().AddChild(flip(t, encrypt(t, a, samlserver.AES256CBC), 200))
		},
		"a changed padding, CBC": func(t *testing.T, d *etree.Document, a *etree.Element) {
			d.Root().AddChild(flip(t, encrypt(t, a, samlserver.AES256CBC), 17))
		},
		"a changed text, GCM": func(t *testing.T, d *etree.Document, a *etree.Element) {
			d.Root().AddChild(flip(t, encrypt(t, a, samlserver.AES256GCM), 200))
		},
		"changed before it was encrypted": func(t *testing.T, d *etree.Document, a *etree.Element) {
			d.Root().AddChild(encrypt(t, forge(a), samlserver.AES256CBC))
		},
		"no signature": func(t *testing.T, d *etree.Document, a *etree.Element) {
			d.Root().AddChild(encrypt(t, unsigned(forge(a)), samlserver.AES256CBC))
		},
		"the signed assertion in the forged one": func(t *testing.T, d *etree.Document, a *etree.Element) {
			forged := unsigned(forge(a))
			forged.AddChild(a)
			d.Root().AddChild(encrypt(t, forged, samlserver.AES256GCM))
		},
		"no assertion": func(t *testing.T, d *etree.Document, _ *etree.Element) {
			d.Root().AddChild(encrypt(t, etree.NewElement("x"), samlserver.AES256CBC))
		},
		"signed by somebody else": func(t *testing.T, d *etree.Document, a *etree.Element) {
			theirs := other.Answer(samlserver.Request{ID: d.Root().SelectAttrValue("InResponseTo", ""), ACS: d.Root().SelectAttrValue("Destination", "")}, samlAda())
			theirs.Issuer, theirs.Audience = h.idp.EntityID, a.FindElement(".//Audience").Text()
			d.Root().AddChild(encrypt(t, other.Sign(t, theirs).FindElement("//Assertion"), samlserver.AES256CBC))
		},
	} {
		begun, err := h.saml.Start(t.Context(), "")
		must(t, err)
		request := h.idp.Read(t, begun.URL)
		document := h.idp.Sign(t, h.idp.Answer(request, samlAda()))
		assertion := document.FindElement("//Assertion")
		document.Root().RemoveChild(assertion)
		change(t, document, assertion)
		answered, err := h.saml.HandleResponse(t.Context(), signon.SAMLResponse{Response: samlserver.Encode(t, document), RelayState: request.RelayState})
		if code(err) != apierr.InvalidCredentials || answered != (signon.CallbackResult{}) {
			t.Errorf("%s: %+v, %v", what, answered, err)
		}
		messages[apierr.From(err).Message] = true
	}
	if len(messages) != 1 {
		t.Errorf("the messages are %v", messages)
	}
	// A forged assertion beside the signed one, in both orders.
	for _, first := range []bool{true, false} {
		begun, err := h.saml.Start(t.Context(), "")
		must(t, err)
		request := h.idp.Read(t, begun.URL)
		document := h.idp.Sign(t, h.idp.Answer(request, samlAda()))
		signed := document.FindElement("//Assertion")
		forged := encrypt(t, unsigned(forge(signed)), "")
		if first {
			document.Root().InsertChildAt(signed.Index(), forged)
		} else {
			document.Root().AddChild(forged)
		}
		if _, err := h.saml.HandleResponse(t.Context(), signon.SAMLResponse{Response: samlserver.Encode(t, document), RelayState: request.RelayState}); code(err) != apierr.InvalidCredentials {
			t.Errorf("a forged assertion beside the signed one, %v: %v", first, err)
		}
	}
	if n := h.count(t, "identities"); n != 0 {
		t.Errorf("%d identities were kept", n)
	}
}

// A comment that was added after the signature must not cut a name off.
func TestACommentInAnEncryptedNameCutsNothingOff(t *testing.T) {
	t.Parallel()
	pair, public := rsaPair(t)
	h := newSAMLFixture(t, func(o *signon.SAMLOptions) { o.KeyPair = pair })
	ada := h.add(t, "ada@example.com")
	_, err := h.enter(t, h.saml, samlAda())
	must(t, err)
	begun, err := h.saml.Start(t.Context(), "")
	must(t, err)
	request := h.idp.Read(t, begun.URL)
	document := h.idp.Sign(t, h.idp.Answer(request, samlserver.Person{NameID: "ada-1.evil", Email: "evil@example.com"}))
	assertion := document.FindElement("//Assertion")
	document.Root().RemoveChild(assertion)
	name := assertion.FindElement(".//NameID")
	name.SetText("ada-1")
	name.CreateComment("")
	name.CreateText(".evil")
	document.Root().AddChild(samlserver.Encrypt(t, assertion, public, "", ""))
	answered, err := h.saml.HandleResponse(t.Context(), signon.SAMLResponse{Response: samlserver.Encode(t, document), RelayState: request.RelayState})
	if err != nil {
		return // refused
	}
	tokens, err := h.saml.Finish(t.Context(), answered.Code, begun.Binding)
	if err == nil {
		t.Errorf("signed in as %s, where Ada is %s", h.who(t, tokens).Subject, ada)
	}
}

// How long an answer takes must not tell more than its text: the metadata is read again for
// all responses without a right signature, and an expired certificate has no text of its own.
func TestFailuresOfEncryptedResponsesLookTheSame(t *testing.T) {
	t.Parallel()
	pair, public := rsaPair(t)
	h := newSAMLFixture(t, func(o *signon.SAMLOptions) { o.KeyPair = pair })
	h.add(t, "ada@example.com")
	changes := map[string]func(a *etree.Element) *etree.Element{
		"as it was signed": func(a *etree.Element) *etree.Element { return samlserver.Encrypt(t, a, public, "", "") },
		"changed": func(a *etree.Element) *etree.Element {
			a.FindElement(".//NameID").SetText("owner-1")
			return samlserver.Encrypt(t, a, public, "", "")
		},
		"no signature": func(a *etree.Element) *etree.Element {
			a.RemoveChild(a.SelectElement("Signature"))
			return samlserver.Encrypt(t, a, public, "", "")
		},
		"not decrypted": func(a *etree.Element) *etree.Element {
			e := samlserver.Encrypt(t, a, public, "", "")
			value := e.FindElement("./EncryptedData/CipherData/CipherValue")
			value.SetText("AAAA" + value.Text()[4:])
			return e
		},
	}
	answer := func(change func(a *etree.Element) *etree.Element) error {
		begun, err := h.saml.Start(t.Context(), "")
		must(t, err)
		request := h.idp.Read(t, begun.URL)
		document := h.idp.Sign(t, h.idp.Answer(request, samlAda()))
		assertion := document.FindElement("//Assertion")
		document.Root().RemoveChild(assertion)
		document.Root().AddChild(change(assertion))
		_, err = h.saml.HandleResponse(t.Context(), signon.SAMLResponse{Response: samlserver.Encode(t, document), RelayState: request.RelayState})
		return err
	}
	must(t, answer(changes["as it was signed"]))
	for what, change := range changes {
		if what == "as it was signed" {
			continue
		}
		h.clock.forward(2 * time.Minute)
		before := h.idp.Requests()
		if err := answer(change); code(err) != apierr.InvalidCredentials || h.idp.Requests() != before+1 {
			t.Errorf("%s: the metadata was read %d times more, %v", what, h.idp.Requests()-before, err)
		}
	}
	h.clock.forward(366 * 24 * time.Hour)
	for what, change := range changes {
		if err := answer(change); code(err) != apierr.InvalidCredentials || !strings.HasSuffix(apierr.From(err).Message, "no valid signature of the provider") || strings.Contains(apierr.From(err).Message, "expired") {
			t.Errorf("with an expired certificate, %s: %v", what, err)
		}
	}
	if !strings.Contains(h.log.String(), "not valid") && !strings.Contains(h.log.String(), "NotAfter") && !strings.Contains(h.log.String(), "xpired") {
		t.Errorf("the log does not tell of the certificate: %s", h.log.String())
	}
}

// What is encrypted is an element, and no text with its name. A part that is encrypted in a
// signed assertion tells why it cannot be read.
func TestReadableResponsesTellWhatIsWrong(t *testing.T) {
	t.Parallel()
	pair, _ := rsaPair(t)
	_, other := rsaPair(t)
	h := newSAMLFixture(t, func(o *signon.SAMLOptions) { o.KeyPair = pair })
	h.add(t, "ada@example.com")
	word := samlAda()
	word.Name = "EncryptedAssertion"
	if _, err := h.enter(t, h.samlNode(t), word); err != nil {
		t.Errorf("a name with the word: %v", err)
	}
	begun, err := h.saml.Start(t.Context(), "")
	must(t, err)
	request := h.idp.Read(t, begun.URL)
	document := h.idp.Sign(t, h.idp.Answer(request, samlAda()), func(a *etree.Element) {
		name := a.FindElement(".//Subject/NameID")
		parent := name.Parent()
		parent.RemoveChild(name)
		hidden := samlserver.Encrypt(t, name, other, "", "")
		hidden.Tag = "EncryptedID"
		parent.InsertChildAt(0, hidden)
	})
	_, err = h.saml.HandleResponse(t.Context(), signon.SAMLResponse{Response: samlserver.Encode(t, document), RelayState: request.RelayState})
	if code(err) != apierr.InvalidCredentials || !strings.Contains(apierr.From(err).Message, "cannot be decrypted") {
		t.Errorf("a name for another key: %v", err)
	}
}
