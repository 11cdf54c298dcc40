package provider_test

import (
	"crypto/rand"
	"crypto/rsa"
	"crypto/x509"
	"errors"
	"math/big"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/magpie-search/magpie/internal/event"
	"github.com/magpie-search/magpie/internal/event/provider"
)

// sesOf returns the provider of mails of Amazon with answers, and what it asks for.
func sesOf(t *testing.T, answers answering, roots *x509.CertPool) (event.Provider, *[]string) {
	t.Helper()
	asked := &[]string{}
	all := provider.All(provider.Deps{Transport: recording{answers, asked}, Roots: roots})
	return all[slices.IndexFunc(all, func(p event.Provider) bool { return p.Name == "ses" })], asked
}

func TestTheCertificateOfATopicIsVerified(t *testing.T) {
	t.Parallel()
	const issuerURL, elsewhere = "http://crt.r2m01.amazontrust.com/r2m01.cer", "http://crt.evil.example/r2m01.cer"
	root := newIssuer(t, "Root", nil)
	middle, stranger := newIssuer(t, "Issuer", root), newIssuer(t, "Root", nil)
	lasting := func(from, until time.Duration) func(*x509.Certificate) {
		return func(c *x509.Certificate) { c.NotBefore, c.NotAfter = moment().Add(from), moment().Add(until) }
	}
	naming := func(address string) func(*x509.Certificate) {
		return func(c *x509.Certificate) { c.IssuingCertificateURL = []string{address} }
	}
	self := func() (*rsa.PrivateKey, []byte) {
		key, err := rsa.GenerateKey(rand.Reader, 2048)
		if err != nil {
			t.Fatal(err)
		}
		template := &x509.Certificate{SerialNumber: big.NewInt(3), DNSNames: []string{"sns.amazonaws.com"}, NotBefore: moment().Add(-time.Hour), NotAfter: moment().Add(time.Hour)}
		der, err := x509.CreateCertificate(rand.Reader, template, template, &key.PublicKey, key)
		if err != nil {
			t.Fatal(err)
		}
		return key, pemOf(der)
	}
	for what, try := range map[string]struct {
		by     *issuer
		change func(*x509.Certificate)
		joined bool // the file has the issuer too
		reason string
	}{
		"issued by a root":              {by: root},
		"the name of the host":          {by: root, change: func(c *x509.Certificate) { c.DNSNames = []string{"sns.eu-west-1.amazonaws.com"} }},
		"the file has the issuer":       {by: middle, joined: true},
		"the issuer is read":            {by: middle, change: naming(issuerURL)},
		"the issuer is missing":         {by: middle, reason: "not issued by an authority"},
		"the issuer is elsewhere":       {by: middle, change: naming(elsewhere), reason: "not issued by an authority"},
		"issued by a stranger":          {by: stranger, reason: "not issued by an authority"},
		"a stranger sends itself":       {by: stranger, joined: true, reason: "not issued by an authority"},
		"self-signed":                   {reason: "not issued by an authority"},
		"expired":                       {by: root, change: lasting(-2*time.Hour, -time.Hour), reason: "has expired"},
		"not valid yet":                 {by: root, change: lasting(time.Hour, 2*time.Hour), reason: "is not valid yet"},
		"another name":                  {by: root, change: func(c *x509.Certificate) { c.DNSNames = []string{"sqs.amazonaws.com"} }, reason: "another name"},
		"only a common name":            {by: root, change: func(c *x509.Certificate) { c.DNSNames = nil }, reason: "another name"},
		"a name inside another one":     {by: root, change: func(c *x509.Certificate) { c.DNSNames = []string{"sns.amazonaws.com.evil.example"} }, reason: "another name"},
		"the name of another region":    {by: root, change: func(c *x509.Certificate) { c.DNSNames = []string{"sns.eu-west-2.amazonaws.com"} }, reason: "another name"},
		"the issuer does not answer":    {by: middle, change: naming("http://crt.r2m09.amazontrust.com/r2m09.cer"), reason: "unreachable"},
		"the issuer is with a query":    {by: middle, change: naming(issuerURL + "?x=y"), reason: "not issued by an authority"},
		"the issuer is at another port": {by: middle, change: naming("http://crt.r2m01.amazontrust.com:81/r2m01.cer"), reason: "not issued by an authority"},
	} {
		t.Run(what, func(t *testing.T) {
			t.Parallel()
			key, text := self()
			if try.by != nil {
				key, text = try.by.issue(t, try.change)
			}
			if try.joined {
				text = slices.Concat(text, pemOf(try.by.cert.Raw))
			}
			ses, asked := sesOf(t, answering{certURL: text, issuerURL: middle.cert.Raw, elsewhere: middle.cert.Raw}, root.pool())
			for _, version := range []string{"1", "2"} {
				sns := authority{key: key, version: version}
				r := newRequest(sns.envelope(t, "Notification", sesMessage, topic, moment(), nil), address)
				err := ses.Verify(t.Context(), r, settings(map[string]any{"topic_arns": []any{topic}}), "", moment())
				refusal, refused := errors.AsType[*event.Refusal](err)
				switch {
				case try.reason == "unreachable":
					if err == nil || refused {
						t.Errorf("version %s: %v", version, err)
					}
				case try.reason == "" && err != nil:
					t.Errorf("version %s: %v", version, err)
				case try.reason != "" && (!refused || refusal.Stale || !strings.Contains(refusal.Reason, try.reason)):
					t.Errorf("version %s: %v, want the reason %q", version, err, try.reason)
				}
			}
			if slices.Contains(*asked, elsewhere) || try.reason == "" && try.change == nil && len(*asked) != 1 {
				t.Errorf("asked %q", *asked)
			}
		})
	}
}

// A certificate is read once, and judged by the clock each time.
func TestAKeptCertificateExpires(t *testing.T) {
	t.Parallel()
	root := newIssuer(t, "Root", nil)
	middle := newIssuer(t, "Issuer", root)
	key, text := middle.issue(t, func(c *x509.Certificate) { c.NotAfter = moment().Add(72 * time.Hour) })
	ses, asked := sesOf(t, answering{certURL: slices.Concat(text, pemOf(middle.cert.Raw))}, root.pool())
	for _, step := range []struct {
		at     time.Duration
		asked  int
		reason string
	}{{0, 1, ""}, {47 * time.Hour, 1, ""}, {49 * time.Hour, 2, "issuer of SNS has expired"}, {73 * time.Hour, 3, "has expired"}, {0, 3, ""}} {
		at := moment().Add(step.at)
		sns := authority{key: key}
		r := newRequest(sns.envelope(t, "Notification", sesMessage, topic, at, nil), address)
		err := ses.Verify(t.Context(), r, settings(map[string]any{"topic_arns": []any{topic}}), "", at)
		if step.reason == "" && err != nil || step.reason != "" && (err == nil || !strings.Contains(err.Error(), step.reason)) || len(*asked) != step.asked {
			t.Errorf("after %s: %v, asked %q", step.at, err, *asked)
		}
	}
}

// The certificates of many addresses are kept up to a limit.
func TestOnlyAddressesOfCertificatesAreRead(t *testing.T) {
	t.Parallel()
	sns := newAuthority(t)
	ses, asked := sesOf(t, answering{certURL: sns.pem}, sns.roots)
	for _, bad := range []string{
		"https://sns.eu-west-1.amazonaws.com/../x.pem", "https://sns.eu-west-1.amazonaws.com/%2e%2e/x.pem", "https://sns.eu-west-1.amazonaws.com/a/b.pem",
		"https://sns.eu-west-1.amazonaws.com/x.pem?y=z", "https://sns.eu-west-1.amazonaws.com/x.pem#y", "https://sns.eu-west-1.amazonaws.com:443/x.pem",
		"https://sns.eu-west-1.amazonaws.com/" + strings.Repeat("x", 300) + ".pem", "https://s3.eu-west-1.amazonaws.com/x.pem", "https://sns.amazonaws.com/x.pem",
		"https://sns.eu-west-1.amazonaws.com.evil.example/x.pem", "https://evil.example/sns.eu-west-1.amazonaws.com/x.pem", "https://snsxeu-west-1.amazonaws.com/x.pem",
	} {
		body := strings.Replace(string(sns.envelope(t, "Notification", sesMessage, topic, moment(), nil)), certURL, bad, 1)
		err := ses.Verify(t.Context(), newRequest([]byte(body), address), settings(map[string]any{"topic_arns": []any{topic}}), "", moment())
		if refusal, ok := errors.AsType[*event.Refusal](err); !ok || !strings.Contains(refusal.Reason, "not one of Amazon SNS") {
			t.Errorf("%s: %v", bad, err)
		}
	}
	if len(*asked) != 0 {
		t.Errorf("asked %q", *asked)
	}
}
