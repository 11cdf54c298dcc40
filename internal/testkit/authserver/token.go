package authserver

import (
	"crypto/sha256"
	"crypto/subtle"
	"encoding/base64"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"
)

// token serves the token endpoint.
func (s *Server) token(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	defer s.mu.Unlock()
	form, ok := readForm(w, r)
	if !ok {
		return
	}
	client, ok := s.authenticate(w, r, form)
	if !ok {
		return
	}
	switch form.Get("grant_type") {
	case "authorization_code":
		s.exchange(w, client, form)
	case "refresh_token":
		s.renew(w, client, form)
	case "":
		writeError(w, http.StatusBadRequest, "invalid_request", "grant_type is missing")
	default:
		writeError(w, http.StatusBadRequest, "unsupported_grant_type", "authorization_code and refresh_token are supported")
	}
}

func readForm(w http.ResponseWriter, r *http.Request) (url.Values, bool) {
	if r.Method != http.MethodPost {
		w.Header().Set("Allow", http.MethodPost)
		writeError(w, http.StatusMethodNotAllowed, "invalid_request", "use POST")
		return nil, false
	}
	r.Body = http.MaxBytesReader(w, r.Body, 1<<16)
	if err := r.ParseForm(); err != nil || r.URL.RawQuery != "" {
		writeError(w, http.StatusBadRequest, "invalid_request", "send the parameters as a form")
		return nil, false
	}
	for name, values := range r.PostForm {
		if len(values) > 1 {
			writeError(w, http.StatusBadRequest, "invalid_request", name+" is repeated")
			return nil, false
		}
	}
	return r.PostForm, true
}

// authenticate authenticates the client (RFC 6749, section 2.3).
func (s *Server) authenticate(w http.ResponseWriter, r *http.Request, form url.Values) (Client, bool) {
	id, secret := form.Get("client_id"), form.Get("client_secret")
	if user, password, basic := r.BasicAuth(); basic {
		if secret != "" {
			writeError(w, http.StatusBadRequest, "invalid_request", "more than one method of client authentication")
			return Client{}, false
		}
		var err, errSecret error
		id, err = url.QueryUnescape(user)
		secret, errSecret = url.QueryUnescape(password)
		if err != nil || errSecret != nil || form.Get("client_id") != "" && form.Get("client_id") != id {
			writeError(w, http.StatusBadRequest, "invalid_request", "the credentials are malformed")
			return Client{}, false
		}
	}
	client, known := s.clients[id]
	if !known || subtle.ConstantTimeCompare([]byte(client.Secret), []byte(secret)) != 1 {
		w.Header().Set("WWW-Authenticate", `Basic realm="token"`)
		writeError(w, http.StatusUnauthorized, "invalid_client", "the client is unknown or its secret is wrong")
		return Client{}, false
	}
	return client, true
}

func (s *Server) exchange(w http.ResponseWriter, client Client, form url.Values) {
	given := s.codes[form.Get("code")]
	sum := sha256.Sum256([]byte(form.Get("code_verifier")))
	problem := ""
	switch {
	case given == nil || given.client != client.ID:
		problem = "the code is unknown"
	case given.grant != nil:
		given.grant.revoked = true // RFC 6749, section 4.1.2
		problem = "the code was used before"
	case !s.now().Before(given.expires):
		problem = "the code has expired"
	case form.Get("redirect_uri") != given.redirect:
		problem = "redirect_uri differs from the authorization request"
	case len(form.Get("code_verifier")) < 43 || base64.RawURLEncoding.EncodeToString(sum[:]) != given.challenge:
		problem = "code_verifier does not fit"
	}
	if problem != "" {
		writeError(w, http.StatusBadRequest, "invalid_grant", problem)
		return
	}
	f := &grant{client: client.ID, scopes: given.scopes, account: given.account, nonce: given.nonce, expires: map[string]time.Time{}}
	given.grant = f
	f.current = random()
	s.refresh[f.current] = f
	s.answer(w, f, true)
}

func (s *Server) renew(w http.ResponseWriter, client Client, form url.Values) {
	given := form.Get("refresh_token")
	f := s.refresh[given]
	switch {
	case f == nil || f.client != client.ID || f.revoked:
		writeError(w, http.StatusBadRequest, "invalid_grant", "the refresh token is not valid")
		return
	case f.current != given:
		f.revoked = true // the token was stolen
		writeError(w, http.StatusBadRequest, "invalid_grant", "the refresh token was used before")
		return
	}
	for scope := range strings.FieldsSeq(form.Get("scope")) {
		if !slices.Contains(f.scopes, scope) {
			writeError(w, http.StatusBadRequest, "invalid_scope", "the scope was not granted")
			return
		}
	}
	if !s.keep {
		f.current = random()
		s.refresh[f.current] = f
	}
	s.answer(w, f, !s.keep)
}

// answer sends a new access token, and the refresh token if it is new.
func (s *Server) answer(w http.ResponseWriter, f *grant, withRefresh bool) {
	token := random()
	s.access[token] = f
	if s.issued != nil {
		s.issued(token, f.account)
	}
	f.expires[token] = s.now().Add(tokenLifetime)
	out := map[string]any{"access_token": token, "token_type": "Bearer", "scope": strings.Join(f.scopes, " ")}
	if s.lifetime > 0 {
		f.expires[token] = s.now().Add(s.lifetime)
		out["expires_in"] = int(s.lifetime.Seconds())
	}
	if withRefresh {
		out["refresh_token"] = f.current
	}
	if slices.Contains(f.scopes, "openid") {
		out["id_token"] = s.makeIDToken(f, token)
	}
	writeJSON(w, http.StatusOK, out)
}

// revoke serves the revocation endpoint. It succeeds for unknown tokens.
func (s *Server) revoke(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	defer s.mu.Unlock()
	form, ok := readForm(w, r)
	if !ok {
		return
	}
	client, ok := s.authenticate(w, r, form)
	if !ok {
		return
	}
	token := form.Get("token")
	if token == "" {
		writeError(w, http.StatusBadRequest, "invalid_request", "token is missing")
		return
	}
	if f := s.refresh[token]; f != nil && f.client == client.ID {
		f.revoked = true
	} else if f := s.access[token]; f != nil && f.client == client.ID {
		delete(s.access, token)
	}
	w.WriteHeader(http.StatusOK)
}

func bearer(r *http.Request) (string, bool) {
	scheme, token, found := strings.Cut(r.Header.Get("Authorization"), " ")
	return token, found && strings.EqualFold(scheme, "Bearer")
}
