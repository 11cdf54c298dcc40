package graph_test

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/rsa"
	"crypto/x509"
	"encoding/base64"
	"encoding/json"
	"encoding/pem"
	"fmt"
	"maps"
	"math/big"
	"slices"
	"testing"
	"time"

	integrations "github.com/magpie-search/magpie/agents/integration/all"
	"github.com/magpie-search/magpie/agents/integration/toolserver"
	"github.com/magpie-search/magpie/agents/integration/webhook"
	"github.com/magpie-search/magpie/connectors"
	"github.com/magpie-search/magpie/connectors/all"
	"github.com/magpie-search/magpie/internal/event/provider"
)

// plausible returns the value that a person who sees only the field of a form enters,
// which is the default or the example where there is one.
func plausible(o connectors.Option) any {
	switch text := o.Example; {
	case o.Default != nil:
		return o.Default
	case o.Type == connectors.TypeBoolean:
		return false
	case o.Type == connectors.TypeInteger:
		return max(o.Min, 1)
	case o.Type == connectors.TypeObject:
		return nil
	default:
		if len(o.Choices) > 0 {
			text = o.Choices[0]
		}
		if text == "" {
			text = map[connectors.Format]string{
				connectors.FormatURL: "https://example.com", connectors.FormatEmail: "ada@example.com", connectors.FormatHostname: "example.com",
				connectors.FormatDate: "2026-01-31", connectors.FormatDuration: "30m",
			}[o.Format]
		}
		if text == "" {
			text = "example"
		}
		if o.Type == connectors.TypeStringList {
			return []any{text}
		}
		return text
	}
}

// shown reports whether a form shows a field, given the values of the others.
func shown(o connectors.Option, values map[string]any) bool {
	return !slices.ContainsFunc(o.DependsOn, func(d connectors.Dependency) bool {
		return !slices.ContainsFunc(d.Values, func(v any) bool { return fmt.Sprint(v) == fmt.Sprint(values[d.Option]) })
	})
}

// filled returns the values of a form in which a person fills in the required fields,
// or all that it shows. chosen are values that the person selected before.
func filled(options []connectors.Option, chosen map[string]any, every bool) map[string]any {
	values := map[string]any{}
	for range 3 { // a field may depend on one that is below
		for _, o := range options {
			value, given := chosen[o.Name]
			switch {
			case !shown(o, values):
				delete(values, o.Name)
			case given:
				values[o.Name] = value
			case o.Required || every:
				values[o.Name] = plausible(o)
			case o.Default != nil:
				values[o.Name] = o.Default
			}
		}
	}
	return values
}

// selections returns what a person may select in the fields that others depend on:
// each value that shows a field, one at a time, and nothing.
func selections(options []connectors.Option) []map[string]any {
	out := []map[string]any{nil}
	for _, o := range options {
		for _, d := range o.DependsOn {
			for _, v := range d.Values {
				if one := map[string]any{d.Option: v}; !slices.ContainsFunc(out, func(m map[string]any) bool { return maps.Equal(m, one) }) {
					out = append(out, one)
				}
			}
		}
	}
	return out
}

// alternatives are the credentials that take the place of others, with which they may
// not be given. Their helps say so.
func alternatives() map[string][]string {
	return map[string][]string{
		"the connector jira": {"personalAccessToken", "username", "password"}, "the connector confluence": {"personalAccessToken", "username", "password"},
		"the connector web_crawler": {"bearerToken"}, "the connector github": {"token"}, "the connector salesforce": {"username", "privateKey"},
	}
}

// pasted returns what people paste into fields that take a key or a certificate, by the
// names of the fields.
func pasted(t *testing.T) map[string]string {
	t.Helper()
	key, err := rsa.GenerateKey(rand.Reader, 2048)
	if err != nil {
		t.Fatal(err)
	}
	private := string(pem.EncodeToMemory(&pem.Block{Type: "RSA PRIVATE KEY", Bytes: x509.MarshalPKCS1PrivateKey(key)}))
	template := &x509.Certificate{SerialNumber: big.NewInt(1), NotAfter: time.Now().Add(time.Hour)}
	certificate, err := x509.CreateCertificate(rand.Reader, template, template, &key.PublicKey, key)
	if err != nil {
		t.Fatal(err)
	}
	curve, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	public, err := x509.MarshalPKIXPublicKey(&curve.PublicKey)
	if err != nil {
		t.Fatal(err)
	}
	account := string(must[[]byte](t)(json.Marshal(map[string]string{
		"type": "service_account", "client_email": "magpie@project.iam.gserviceaccount.com", "private_key_id": "1", "private_key": private,
		"token_uri": "https://oauth2.googleapis.com/token",
	})))
	authority := string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: certificate}))
	return map[string]string{
		"caCertificate": authority, "certificate": authority, "clientCertificate": authority, "clientKey": private, "privateKey": private, "public_key": base64.StdEncoding.EncodeToString(public), "serviceAccountJson": account, "key": account,
	}
}

// A form is what the dashboard draws for a kind of connector or a provider.
type form struct {
	connectors.Kind
	// check checks the values as creating a row does, but for the connection.
	check func(s connectors.Settings) error
}

// forms returns all forms by name.
func forms(t *testing.T) map[string]form {
	t.Helper()
	out := map[string]form{}
	kinds, err := all.Registry(all.Deps{})
	if err != nil {
		t.Fatal(err)
	}
	for _, k := range kinds.Kinds() {
		known := k
		k.Options = k.AllOptions()
		out["the connector "+k.Name] = form{k, known.ValidateSettings}
	}
	tools, err := integrations.Registry()
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range append(tools.Providers(), webhook.AnyHost(), toolserver.New(nil, map[string][]string{"files": {"files"}}, toolserver.OAuth{}).Provider()) {
		k := p.Form()
		out["the tools of "+p.Name] = form{k, k.ValidateSettings}
	}
	for _, p := range provider.All(provider.Deps{}) {
		k := connectors.Kind{Name: p.Name, Options: p.Options, Credentials: p.Credentials, CheckSettings: p.Check}
		out["the events of "+p.Name] = form{k, k.ValidateSettings}
	}
	return out
}

// TestEveryFormCanBeFilledInByItsTableOfOptions fills in all forms as somebody who knows
// nothing but the tables that the API shows.
func TestEveryFormCanBeFilledInByItsTableOfOptions(t *testing.T) {
	t.Parallel()
	tried, keys, others := 0, pasted(t), alternatives()
	for name, f := range forms(t) {
		for _, section := range []struct {
			name    string
			options []connectors.Option
		}{{"config", f.Options}, {"credentials", f.Credentials}} {
			for _, o := range section.options {
				if o.Title == "" || o.Help == "" && o.Type != connectors.TypeBoolean {
					t.Errorf("%s: %s.%s has no title or no help", name, section.name, o.Name)
				}
			}
		}
		for _, every := range []bool{false, true} {
			for _, config := range selections(f.Options) {
				for _, credentials := range selections(f.Credentials) {
					s := connectors.Settings{Config: filled(f.Options, config, every), Credentials: map[string]string{}}
					for key, value := range filled(f.Credentials, credentials, every) {
						if !slices.Contains(others[name], key) {
							s.Credentials[key], _ = value.(string)
						}
					}
					for _, o := range f.Options {
						if _, given := s.Config[o.Name]; given && o.Example == "" && keys[o.Name] != "" {
							s.Config[o.Name] = keys[o.Name]
						}
					}
					for _, o := range f.Credentials {
						if s.Credentials[o.Name] != "" && o.Example == "" && keys[o.Name] != "" {
							s.Credentials[o.Name] = keys[o.Name]
						}
					}
					if f.OAuth != "" && !every {
						s.Token = func(context.Context, string) (string, map[string]string, error) { return "token", nil, nil }
					}
					tried++
					if err := f.check(s); err != nil {
						t.Errorf("%s, every field %v, with %v %v: %v", name, every, config, credentials, err)
					}
				}
			}
		}
	}
	t.Logf("%d forms were filled in", tried)
}
