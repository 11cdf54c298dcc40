// Package cloudkeys gives the tests of a package credentials of AWS and Google that their client libraries find by their
// default chains, with a server of Google's tokens. The libraries never ask the clouds' addresses for the credentials of a
// machine: AWS's are off, and the server stands in for Google's.
//
// Allowed imports: the standard library.
package cloudkeys

import (
	"crypto/rand"
	"crypto/rsa"
	"crypto/x509"
	"encoding/json"
	"encoding/pem"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
)

// AccessKey is the id of the AWS key, and Token the token of the Google account.
const (
	AccessKey = "AKIDEXAMPLE"
	Token     = "token-of-the-account"
)

// A Main runs the tests of a package, like *testing.M, with the credentials in the environment.
type Main struct{ Tests interface{ Run() int } }

// Run runs the tests.
func (m Main) Run() int {
	folder, err := os.MkdirTemp("", "cloudkeys")
	if err != nil {
		panic(err)
	}
	defer func() { _ = os.RemoveAll(folder) }() // a folder of temporary files
	tokens := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		_, _ = io.WriteString(w, `{"access_token":"`+Token+`","token_type":"Bearer","expires_in":3600}`)
	}))
	defer tokens.Close()
	for name, value := range map[string]string{
		"AWS_ACCESS_KEY_ID": AccessKey, "AWS_SECRET_ACCESS_KEY": "secret", "AWS_SESSION_TOKEN": "", "AWS_EC2_METADATA_DISABLED": "true",
		"AWS_CONFIG_FILE": filepath.Join(folder, "none"), "AWS_SHARED_CREDENTIALS_FILE": filepath.Join(folder, "none"),
		"GOOGLE_APPLICATION_CREDENTIALS": account(folder, tokens.URL), "GCE_METADATA_HOST": strings.TrimPrefix(tokens.URL, "http://"),
	} {
		if err := os.Setenv(name, value); err != nil {
			panic(err)
		}
	}
	return m.Tests.Run()
}

// account writes the file of a service account.
func account(folder, tokens string) string {
	key, err := rsa.GenerateKey(rand.Reader, 2048)
	if err != nil {
		panic(err)
	}
	content, err := json.Marshal(map[string]string{
		"type": "service_account", "client_email": "magpie@p-1.example.com", "project_id": "p-1", "token_uri": tokens,
		"private_key": string(pem.EncodeToMemory(&pem.Block{Type: "RSA PRIVATE KEY", Bytes: x509.MarshalPKCS1PrivateKey(key)})),
	})
	if err != nil {
		panic(err)
	}
	path := filepath.Join(folder, "account.json")
	if err := os.WriteFile(path, content, 0o600); err != nil {
		panic(err)
	}
	return path
}
