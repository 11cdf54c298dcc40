package event

import (
	"crypto/hmac"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/base64"
	"net/http"
	"strings"

	"github.com/magpie-search/magpie/connectors"
)

// MAC returns the HMAC-SHA256 of the parts.
func MAC(secret string, parts ...[]byte) []byte {
	mac := hmac.New(sha256.New, []byte(secret))
	for _, part := range parts {
		_, _ = mac.Write(part)
	}
	return mac.Sum(nil)
}

// VerifyHex checks a MAC in hexadecimal after a prefix such as "sha256=".
func VerifyHex(header, prefix, secret string, parts ...[]byte) error {
	if header == "" {
		return Refuse("the signature is missing")
	}
	text, ok := strings.CutPrefix(header, prefix)
	if !ok || connectors.VerifyHMAC(secret, text, parts...) != nil {
		return Refuse("the signature does not match")
	}
	return nil
}

// VerifyBase64 checks a MAC in base64.
func VerifyBase64(header, secret string, parts ...[]byte) error {
	if header == "" {
		return Refuse("the signature is missing")
	}
	given, err := base64.StdEncoding.DecodeString(header)
	if err != nil || secret == "" || !hmac.Equal(given, MAC(secret, parts...)) {
		return Refuse("the signature does not match")
	}
	return nil
}

// Same compares a secret in constant time. The empty secret is equal to nothing.
func Same(given, secret string) bool {
	a, b := sha256.Sum256([]byte(given)), sha256.Sum256([]byte(secret))
	return secret != "" && subtle.ConstantTimeCompare(a[:], b[:]) == 1
}

// BasicUser is the user name of basic authentication in addresses.
const BasicUser = "magpie"

// VerifyBasic checks the password of basic authentication.
func VerifyBasic(header http.Header, secret string) error {
	r := http.Request{Header: header}
	user, password, ok := r.BasicAuth()
	switch {
	case !ok:
		return Refuse("the request has no basic authentication")
	case !Same(user, BasicUser) || !Same(password, secret):
		return Refuse("the password of basic authentication does not match")
	default:
		return nil
	}
}

// Bearer returns the bearer token of a request; empty for none.
func Bearer(header http.Header) string {
	scheme, token, _ := strings.Cut(header.Get("Authorization"), " ")
	if !strings.EqualFold(scheme, "bearer") {
		return ""
	}
	return strings.TrimSpace(token)
}
