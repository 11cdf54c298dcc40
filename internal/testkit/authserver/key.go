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

// Algorithm signs ID tokens.
type Algorithm string

// The algorithms that the server knows.
const (
	RS256 Algorithm = "RS256"
	ES256 Algorithm = "ES256"
)

// signer is a signing key with its name.
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
		panic(err) // only a broken source of randomness
	}
	return key
}

// RotateKeys makes a new signing key, in the place of all that were before.
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
		list = append(list, k.public())
	}
	writeJSON(w, http.StatusOK, map[string]any{"keys": list})
}

// public is the key as a JSON Web Key.
func (k signer) public() map[string]string {
	out := map[string]string{"kid": k.id, "alg": string(k.alg), "use": "sig"}
	text := base64.RawURLEncoding.EncodeToString
	switch key := k.key.Public().(type) {
	case *rsa.PublicKey:
		out["kty"], out["n"], out["e"] = "RSA", text(key.N.Bytes()), text(big.NewInt(int64(key.E)).Bytes())
	case *ecdsa.PublicKey:
		point, err := key.Bytes() // 4, x, y
		if err != nil {
			panic(err) // the key was made here
		}
		out["kty"], out["crv"], out["x"], out["y"] = "EC", "P-256", text(point[1:33]), text(point[33:])
	}
	return out
}

// AlterIDToken changes the claims of all ID tokens from now on; nil ends it.
func (s *Server) AlterIDToken(change func(claims map[string]any)) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.idToken = change
}

// ForgeSignatures makes the server sign ID tokens with a key that is not the
// one in its key set, under its name.
func (s *Server) ForgeSignatures() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.forge = true
}

func (s *Server) makeIDToken(f *family, access string) string {
	now := s.now()
	half := sha256.Sum256([]byte(access))
	claims := map[string]any{
		"iss": s.URL, "sub": f.account.Subject, "aud": f.client, "iat": now.Unix(), "exp": now.Add(5 * time.Minute).Unix(),
		"email": f.account.Email, "email_verified": f.account.Verified, "name": f.account.Name,
		"at_hash": base64.RawURLEncoding.EncodeToString(half[:16]),
	}
	if f.nonce != "" {
		claims["nonce"] = f.nonce
	}
	maps.Copy(claims, f.account.Claims)
	if s.idToken != nil {
		s.idToken(claims)
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
		panic(err) // the key fits the method
	}
	return text
}
