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

// token is the token endpoint.
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
			writeError(w, http.StatusBadRequest, "invalid_request", name+" is given twice")
			return nil, false
		}
	}
	return r.PostForm, true
}

// authenticate finds out which client asks (RFC 6749, section 2.3).
func (s *Server) authenticate(w http.ResponseWriter, r *http.Request, form url.Values) (Client, bool) {
	id, secret := form.Get("client_id"), form.Get("client_secret")
	if user, password, basic := r.BasicAuth(); basic {
		if secret != "" {
			writeError(w, http.StatusBadRequest, "invalid_request", "two ways of client authentication at once")
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
	refused := ""
	switch {
	case given == nil || given.client != client.ID:
		refused = "the code is unknown"
	case given.used != nil:
		given.used.revoked = true // RFC 6749, section 4.1.2
		refused = "the code was used before"
	case !s.now().Before(given.expires):
		refused = "the code has expired"
	case form.Get("redirect_uri") != given.redirect:
		refused = "redirect_uri is not that of the beginning"
	case len(form.Get("code_verifier")) < 43 || base64.RawURLEncoding.EncodeToString(sum[:]) != given.challenge:
		refused = "code_verifier does not fit"
	}
	if refused != "" {
		s.refused = append(s.refused, refused)
		writeError(w, http.StatusBadRequest, "invalid_grant", refused)
		return
	}
	f := &family{client: client.ID, scopes: given.scopes, account: given.account, nonce: given.nonce, expires: map[string]time.Time{}}
	given.used = f
	f.current = random()
	s.refresh[f.current] = f
	s.answer(w, f, true)
}

func (s *Server) renew(w http.ResponseWriter, client Client, form url.Values) {
	given := form.Get("refresh_token")
	f := s.refresh[given]
	switch {
	case f == nil || f.client != client.ID || f.revoked:
		writeError(w, http.StatusBadRequest, "invalid_grant", "the refresh token does not work")
		return
	case f.current != given:
		f.revoked = true // somebody has copied it
		writeError(w, http.StatusBadRequest, "invalid_grant", "the refresh token was used before")
		return
	}
	for scope := range strings.FieldsSeq(form.Get("scope")) {
		if !slices.Contains(f.scopes, scope) {
			writeError(w, http.StatusBadRequest, "invalid_scope", "more than was granted")
			return
		}
	}
	if !s.sticky {
		f.current = random()
		s.refresh[f.current] = f
	}
	s.answer(w, f, !s.sticky)
}

// answer gives a new access token, and the refresh token where it is new.
func (s *Server) answer(w http.ResponseWriter, f *family, withRefresh bool) {
	made := random()
	s.issued++
	s.access[made] = f
	f.expires[made] = s.now().Add(tokenLifetime)
	out := map[string]any{"access_token": made, "token_type": "Bearer", "scope": strings.Join(f.scopes, " ")}
	if s.lifetime > 0 {
		f.expires[made] = s.now().Add(s.lifetime)
		out["expires_in"] = int(s.lifetime.Seconds())
	}
	if withRefresh {
		out["refresh_token"] = f.current
	}
	if slices.Contains(f.scopes, "openid") {
		out["id_token"] = s.makeIDToken(f, made)
	}
	writeJSON(w, http.StatusOK, out)
}

// revoke is the revocation endpoint; an unknown token is as good as revoked.
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
