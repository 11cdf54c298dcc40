package authserver

import (
	"crypto"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/rsa"
	"crypto/sha256"
	"encoding/base64"
	"fmt"
	"maps"
	"math/big"
	"net/http"
	"time"

	"github.com/golang-jwt/jwt/v5"
)

// Algorithm is a signature algorithm of ID tokens.
type Algorithm string

// Supported algorithms.
const (
	RS256 Algorithm = "RS256"
	ES256 Algorithm = "ES256"
)

// signer is a signing key with its ID.
type signer struct {
	id  string
	alg Algorithm
	key crypto.Signer
}

func newKey(alg Algorithm) (key crypto.Signer) {
	var err error
	if alg == ES256 {
		key, err = ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	} else {
		key, err = rsa.GenerateKey(rand.Reader, 2048)
	}
	if err != nil {
		panic(err) // the source of randomness failed
	}
	return key
}

// RotateKeys replaces all signing keys by a new one.
func (s *Server) RotateKeys(alg Algorithm) {
	key := newKey(alg)
	s.mu.Lock()
	defer s.mu.Unlock()
	s.serial++
	s.keys = []signer{{id: fmt.Sprintf("key-%d", s.serial), alg: alg, key: key}}
}

func (s *Server) keySet(w http.ResponseWriter) {
	s.mu.Lock()
	defer s.mu.Unlock()
	list := []map[string]string{}
	for _, k := range s.keys {
		list = append(list, k.jwk())
	}
	writeJSON(w, http.StatusOK, map[string]any{"keys": list})
}

// jwk returns the public key as a JSON Web Key.
func (k signer) jwk() map[string]string {
	out := map[string]string{"kid": k.id, "alg": string(k.alg), "use": "sig"}
	text := base64.RawURLEncoding.EncodeToString
	switch key := k.key.Public().(type) {
	case *rsa.PublicKey:
		out["kty"], out["n"], out["e"] = "RSA", text(key.N.Bytes()), text(big.NewInt(int64(key.E)).Bytes())
	case *ecdsa.PublicKey:
		point, err := key.Bytes() // 4, x, y
		if err != nil {
			panic(err) // cannot happen for a generated key
		}
		out["kty"], out["crv"], out["x"], out["y"] = "EC", "P-256", text(point[1:33]), text(point[33:])
	}
	return out
}

// AlterIDToken applies a function to the claims of all further ID tokens; nil
// removes it.
func (s *Server) AlterIDToken(change func(claims map[string]any)) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.alterClaims = change
}

// ForgeSignatures makes the server sign ID tokens with a key that is not in its
// key set, under the ID of one that is.
func (s *Server) ForgeSignatures() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.forge = true
}

func (s *Server) makeIDToken(f *grant, access string) string {
	now := s.now()
	digest := sha256.Sum256([]byte(access))
	claims := map[string]any{
		"iss": s.URL, "sub": f.account.Subject, "aud": f.client, "iat": now.Unix(), "exp": now.Add(5 * time.Minute).Unix(),
		"email": f.account.Email, "email_verified": f.account.Verified, "name": f.account.Name,
		"at_hash": base64.RawURLEncoding.EncodeToString(digest[:16]),
	}
	if f.nonce != "" {
		claims["nonce"] = f.nonce
	}
	maps.Copy(claims, f.account.Claims)
	if s.alterClaims != nil {
		s.alterClaims(claims)
	}
	k := s.keys[0]
	key := k.key
	method := jwt.SigningMethod(jwt.SigningMethodRS256)
	if k.alg == ES256 {
		method = jwt.SigningMethodES256
	}
	if s.forge {
		key = newKey(k.alg)
	}
	token := jwt.NewWithClaims(method, jwt.MapClaims(claims))
	token.Header["kid"] = k.id
	text, err := token.SignedString(key)
	if err != nil {
		panic(err) // cannot happen, the key fits the method
	}
	return text
}
