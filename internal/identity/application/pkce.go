package application

import (
	"crypto/sha256"
	"crypto/subtle"
	"encoding/base64"
)

// verifies reports whether a verifier fits an S256 challenge (RFC 7636).
func verifies(verifier, challenge string) bool {
	if len(verifier) < 43 || len(verifier) > 128 {
		return false
	}
	sum := sha256.Sum256([]byte(verifier))
	return subtle.ConstantTimeCompare([]byte(base64.RawURLEncoding.EncodeToString(sum[:])), []byte(challenge)) == 1
}
