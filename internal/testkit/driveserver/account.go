package driveserver

import (
	"crypto"
	"crypto/rand"
	"crypto/rsa"
	"crypto/sha256"
	"crypto/x509"
	"encoding/base64"
	"encoding/json"
	"encoding/pem"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"
)

// ServiceAccountEmail is the address of the service account.
const ServiceAccountEmail = "reader@project.iam.gserviceaccount.com"

// serviceKey is the key of all service accounts, which is expensive to make.
var serviceKey = sync.OnceValue(func() *rsa.PrivateKey {
	const bits = 2048
	key, err := rsa.GenerateKey(rand.Reader, bits)
	if err != nil {
		panic(err) // crypto/rand does not fail
	}
	return key
})

// ServiceAccount returns the key file of a service account. It may act for users
// with the scopes that are delegated to it.
func (s *Server) ServiceAccount(delegated ...string) string {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	s.key, s.delegated = serviceKey(), delegated
	der, err := x509.MarshalPKCS8PrivateKey(s.key)
	if err != nil {
		panic(err) // not for an RSA key
	}
	text, err := json.Marshal(object{
		"type": "service_account", "project_id": "project", "private_key_id": "key-1", "client_email": ServiceAccountEmail, "client_id": "1234567890",
		"private_key": string(pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: der})), "token_uri": s.URL + "/token",
	})
	if err != nil {
		panic(err) // not for strings
	}
	return string(text)
}

// token answers the token endpoint (RFC 7523).
func (c *call) token() {
	fail := func(status int, code, description string) {
		c.w.Header().Set("Content-Type", "application/json; charset=utf-8")
		c.w.WriteHeader(status)
		_ = json.NewEncoder(c.w).Encode(object{"error": code, "error_description": description})
	}
	if c.r.FormValue("grant_type") != "urn:ietf:params:oauth:grant-type:jwt-bearer" {
		fail(http.StatusBadRequest, "unsupported_grant_type", "Invalid grant_type: "+c.r.FormValue("grant_type"))
		return
	}
	parts := strings.Split(c.r.FormValue("assertion"), ".")
	var claims struct {
		Iss, Sub, Scope, Aud string
		Iat, Exp             int64
	}
	if c.key == nil || len(parts) != 3 || !c.isSigned(parts) || !decodePart(parts[1], &claims) {
		fail(http.StatusBadRequest, "invalid_grant", "Invalid JWT Signature.")
		return
	}
	now := time.Now().Unix()
	switch {
	case claims.Iss != ServiceAccountEmail || claims.Aud != c.URL+"/token":
		fail(http.StatusBadRequest, "invalid_grant", "Invalid grant: account not found")
		return
	case claims.Exp < now || claims.Iat > now+60 || claims.Exp-claims.Iat > 3600:
		fail(http.StatusBadRequest, "invalid_grant", "Invalid JWT: Token must be a short-lived token (60 minutes) and in a reasonable timeframe.")
		return
	}
	email := ServiceAccountEmail
	if claims.Sub != "" {
		email = claims.Sub
		for scope := range strings.SplitSeq(claims.Scope, " ") {
			if !slices.Contains(c.delegated, scope) {
				fail(http.StatusUnauthorized, "unauthorized_client",
					"Client is unauthorized to retrieve access tokens using this method, or client not authorized for any of the scopes requested.")
				return
			}
		}
		if !slices.ContainsFunc(c.users, func(u user) bool { return u.email == email }) {
			fail(http.StatusBadRequest, "invalid_grant", "Invalid email or User ID")
			return
		}
	}
	c.serial++
	token := "ya29.c." + hash(email+claims.Scope+time.Now().String())
	c.tokens[token] = session{email, claims.Scope}
	c.answer(object{"access_token": token, "expires_in": 3599, "token_type": "Bearer"})
}

func (c *call) isSigned(parts []string) bool {
	signature, err := base64.RawURLEncoding.DecodeString(parts[2])
	sum := sha256.Sum256([]byte(parts[0] + "." + parts[1]))
	return err == nil && rsa.VerifyPKCS1v15(&c.key.PublicKey, crypto.SHA256, sum[:], signature) == nil
}

func decodePart(part string, v any) bool {
	data, err := base64.RawURLEncoding.DecodeString(part)
	return err == nil && json.Unmarshal(data, v) == nil
}

// members answers members.list of the Admin SDK.
func (c *call) members(group string) {
	if !c.allows("admin.directory.group.member.readonly") {
		return
	}
	if !slices.Contains(c.Admins, c.email) {
		c.refuse(http.StatusForbidden, "forbidden", "Not Authorized to access this resource/api")
		return
	}
	all, known := c.groups[group]
	if !known {
		c.refuse(http.StatusNotFound, "notFound", "Resource Not Found: groupKey")
		return
	}
	if c.query.Get("includeDerivedMembership") == "true" {
		all = c.derived(group, map[string]bool{})
	}
	from, to, next, ok := c.page(len(all), 200)
	if !ok {
		return
	}
	answer := object{"kind": "admin#directory#members", "etag": `"x"`}
	var list []object
	for _, m := range all[from:to] {
		o := object{"kind": "admin#directory#member", "id": hash(m.Email), "role": "MEMBER", "type": "USER", "status": "ACTIVE", "email": m.Email}
		if _, isGroup := c.groups[m.Email]; isGroup {
			o["type"] = "GROUP"
		}
		if m.Email == "*" {
			o["type"] = "CUSTOMER"
			delete(o, "email")
		}
		if m.Suspended {
			o["status"] = "SUSPENDED"
		}
		list = append(list, o)
	}
	if len(list) > 0 {
		answer["members"] = list // the API leaves out empty lists
	}
	if next != "" {
		answer["nextPageToken"] = next
	}
	c.answer(answer)
}

// derived returns the members of a group and of the groups in it.
func (c *call) derived(group string, seen map[string]bool) (all []Member) {
	seen[group] = true
	for _, m := range c.groups[group] {
		all = append(all, m)
		if _, isGroup := c.groups[m.Email]; isGroup && !seen[m.Email] {
			all = append(all, c.derived(m.Email, seen)...)
		}
	}
	return all
}

// directoryUsers answers users.list of the Admin SDK.
func (c *call) directoryUsers() {
	if !c.allows("admin.directory.user.readonly") {
		return
	}
	if !slices.Contains(c.Admins, c.email) {
		c.refuse(http.StatusForbidden, "forbidden", "Not Authorized to access this resource/api")
		return
	}
	from, to, next, ok := c.page(len(c.users), 500)
	if !ok {
		return
	}
	list := []object{}
	for _, u := range c.users[from:to] {
		list = append(list, object{"kind": "admin#directory#user", "id": hash(u.email), "primaryEmail": u.email, "suspended": false})
	}
	answer := object{"kind": "admin#directory#users", "users": list}
	if next != "" {
		answer["nextPageToken"] = next
	}
	c.answer(answer)
}
