package client

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
)

// commandLine is the client id of the command line.
const commandLine = "magpie-cli"

// maxForm is the maximum size of the answer to a form.
const maxForm = 64 << 10

// An AuthorizationServer is where people give a program a token.
type AuthorizationServer struct {
	Issuer string `json:"issuer"`
	// Page is the address that a browser opens with the parameters of a request.
	Page string `json:"authorization_endpoint"`
}

// AuthorizationServer asks the Magpie for its metadata (RFC 8414). No token is sent.
func (r *Remote) AuthorizationServer(ctx context.Context) (AuthorizationServer, error) {
	var found AuthorizationServer
	err := r.plain(ctx, http.MethodGet, "/.well-known/oauth-authorization-server", nil, &found)
	if err == nil && (found.Issuer == "" || found.Page == "") {
		err = fmt.Errorf("%s does not say where people log in", r.o.URL)
	}
	return found, err
}

// A LoginRequest is a login in a browser.
type LoginRequest struct {
	RedirectURI string // where the program listens
	State       string
	Verifier    string // of PKCE
	Device      string // name of this machine
}

// Address returns the address that a browser opens; challenge is that of PKCE with S256.
func (s AuthorizationServer) Address(l LoginRequest, challenge string) string {
	query := url.Values{
		"response_type": {"code"}, "client_id": {commandLine}, "redirect_uri": {l.RedirectURI}, "state": {l.State},
		"code_challenge": {challenge}, "code_challenge_method": {"S256"},
	}
	if l.Device != "" {
		query.Set("device_name", l.Device)
	}
	return s.Page + "?" + query.Encode()
}

// TakeToken exchanges the code of a login for a personal token, which works once.
func (r *Remote) TakeToken(ctx context.Context, l LoginRequest, code string) (token string, err error) {
	var answer struct {
		Token string `json:"access_token"`
	}
	err = r.plain(ctx, http.MethodPost, "/oauth/token", url.Values{
		"grant_type": {"authorization_code"}, "client_id": {commandLine}, "code": {code}, "code_verifier": {l.Verifier}, "redirect_uri": {l.RedirectURI},
	}, &answer)
	if err == nil && answer.Token == "" {
		err = fmt.Errorf("%s sent no token", r.o.URL)
	}
	return answer.Token, err
}

// RevokeToken ends the personal token of the Remote (RFC 7009). It is no error if the
// token is not valid any more.
func (r *Remote) RevokeToken(ctx context.Context) error {
	return r.plain(ctx, http.MethodPost, "/oauth/revoke", url.Values{"client_id": {commandLine}, "token": {r.o.Token}}, nil)
}

// plain sends a request without the token, with a form if there is one, and decodes the
// JSON of its answer.
func (r *Remote) plain(ctx context.Context, method, path string, form url.Values, into any) error {
	request, err := http.NewRequestWithContext(ctx, method, r.o.URL+path, strings.NewReader(form.Encode()))
	if err != nil {
		return fmt.Errorf("make the request: %w", err)
	}
	if form != nil {
		request.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	}
	request.Header.Set("Accept", "application/json")
	request.Header.Set("User-Agent", r.o.UserAgent)
	response, err := r.http.Do(request)
	if err != nil {
		return r.broken(ctx, err)
	}
	defer func() { _ = response.Body.Close() }() // only read
	if mediaType(response.Header) != "application/json" {
		return r.refusal(response)
	}
	content, err := io.ReadAll(io.LimitReader(response.Body, maxForm))
	if err != nil {
		return r.broken(ctx, err)
	}
	if response.StatusCode != http.StatusOK {
		return r.formError(response, content)
	}
	if into == nil {
		return nil
	}
	if err := json.Unmarshal(content, into); err != nil {
		return fmt.Errorf("%s sent no answer to %s, but %s", r.o.URL, path, excerpt(content))
	}
	return nil
}

// formError returns the error of an authorization server (RFC 6749, section 5.2).
func (r *Remote) formError(response *http.Response, content []byte) error {
	var answer struct {
		Error       string `json:"error"`
		Description string `json:"error_description"`
	}
	if err := json.Unmarshal(content, &answer); err != nil || answer.Error == "" {
		return fmt.Errorf("%s answered %s: there is no Magpie at this address, or it is away", r.o.URL, response.Status)
	}
	if answer.Description == "" {
		answer.Description = answer.Error
	}
	return errors.New(r.o.URL + " refuses: " + answer.Description)
}
