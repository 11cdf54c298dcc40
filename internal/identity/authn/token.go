package authn

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"encoding/binary"
	"slices"

	"github.com/golang-jwt/jwt/v5"
	"github.com/google/uuid"

	"github.com/magpie-search/magpie/internal/apierr"
)

const issuer = "magpie"

// A refresh token is the session's id, the number of the token within the session,
// and a MAC of both. So all issued tokens are recognized although none is stored,
// and the successor of a token is always the same.
const (
	refreshNumber = 16 // offset of the number
	refreshMAC    = 24 // offset of the MAC
	refreshBytes  = refreshMAC + sha256.Size
)

// tokens returns the tokens of a session with the given number. The access token of
// a connected application has an audience.
func (a *Accounts) tokens(id uuid.UUID, generation int64, audience string) (Tokens, error) {
	now := a.timestamp()
	expires := now.Add(AccessLifetime)
	claims := jwt.RegisteredClaims{Issuer: issuer, ID: id.String(), IssuedAt: jwt.NewNumericDate(now), ExpiresAt: jwt.NewNumericDate(expires), Audience: audiences(audience)}
	access, err := jwt.NewWithClaims(jwt.SigningMethodHS256, claims).SignedString(a.key)
	if err != nil {
		return Tokens{}, apierr.Wrap("sign the session token", err)
	}
	return Tokens{Access: access, Refresh: a.refreshToken(id, generation), ExpiresAt: expires}, nil
}

func (a *Accounts) refreshToken(id uuid.UUID, generation int64) string {
	raw := make([]byte, refreshMAC, refreshBytes)
	copy(raw, id[:])
	binary.BigEndian.PutUint64(raw[refreshNumber:], uint64(generation)) //nolint:gosec // never negative
	return base64.RawURLEncoding.EncodeToString(append(raw, refreshSum(a.key, raw)...))
}

func refreshSum(key, head []byte) []byte {
	mac := hmac.New(sha256.New, key)
	mac.Write([]byte("magpie refresh token\x00"))
	mac.Write(head)
	return mac.Sum(nil)
}

// parseRefresh parses a refresh token. It reports false for a token that was not
// issued.
func (a *Accounts) parseRefresh(token string) (id uuid.UUID, generation int64, ok bool) {
	if len(token) != base64.RawURLEncoding.EncodedLen(refreshBytes) {
		return uuid.Nil, 0, false
	}
	raw, err := base64.RawURLEncoding.Strict().DecodeString(token)
	if err != nil || !slices.ContainsFunc(a.keys, func(key []byte) bool { return hmac.Equal(raw[refreshMAC:], refreshSum(key, raw[:refreshMAC])) }) {
		return uuid.Nil, 0, false
	}
	return uuid.UUID(raw[:refreshNumber]), int64(binary.BigEndian.Uint64(raw[refreshNumber:refreshMAC])), true //nolint:gosec // what was put in
}

// parseAccess returns the session of an access token for an audience, which is empty
// for the dashboard. It reports false if the token is forged, expired or for another
// audience.
func (a *Accounts) parseAccess(token, audience string) (uuid.UUID, bool) {
	var claims jwt.RegisteredClaims
	_, err := jwt.ParseWithClaims(token, &claims, func(*jwt.Token) (any, error) { return a.verificationKeys(), nil },
		jwt.WithValidMethods([]string{jwt.SigningMethodHS256.Alg()}), jwt.WithExpirationRequired(),
		jwt.WithIssuer(issuer), jwt.WithTimeFunc(a.now))
	if err != nil || !slices.Equal(claims.Audience, audiences(audience)) {
		return uuid.Nil, false
	}
	id, err := uuid.Parse(claims.ID)
	return id, err == nil
}

// verificationKeys returns the keys of which one must have signed a token.
func (a *Accounts) verificationKeys() jwt.VerificationKeySet {
	set := jwt.VerificationKeySet{Keys: make([]jwt.VerificationKey, len(a.keys))}
	for i, key := range a.keys {
		set.Keys[i] = key
	}
	return set
}

// audiences returns the claim of a token for an audience.
func audiences(audience string) jwt.ClaimStrings {
	if audience == "" {
		return nil
	}
	return jwt.ClaimStrings{audience}
}
