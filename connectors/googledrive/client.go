package googledrive

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/magpie-search/magpie/connectors"
	"github.com/magpie-search/magpie/connectors/restapi"
)

// An api sends requests to Google in the names of subjects. A subject is the mail
// address of a person whom the service account acts for, or "" for the account
// itself.
type api struct {
	settings        connectors.Settings
	dial            connectors.Dial
	base, directory string // without a slash at the end
	tokens          *tokenSource
	isDefault       bool // the API is Google's own

	mutex   sync.Mutex
	clients map[string]*restapi.Client
}

func newAPI(dial connectors.Dial, s connectors.Settings, now func() time.Time) (*api, error) {
	a := &api{settings: s, dial: dial, clients: map[string]*restapi.Client{}, base: defaultAPI, directory: defaultDirectory, isDefault: true}
	trimmed := func(text, path string) string { return strings.TrimSuffix(strings.TrimRight(text, "/"), path) }
	if override := s.String(optionAPI); override != "" {
		a.base = trimmed(override, "/drive/"+apiVersion)
		a.directory, a.isDefault = a.base, a.base == defaultAPI
		if a.isDefault {
			a.directory = defaultDirectory
		}
	}
	if override := s.String(optionDirectory); override != "" {
		a.directory = trimmed(override, "/admin/directory/v1")
	}
	if s.Token != nil {
		return a, nil
	}
	account, err := parseAccount(s.Credentials[credentialAccount])
	if err != nil {
		return nil, connectors.Fatal(fmt.Errorf("credentials.%s %w", credentialAccount, err))
	}
	a.tokens, err = newTokenSource(account, s, dial, now)
	return a, err
}

// token returns an access token. refused is one that Google rejected.
func (a *api) token(ctx context.Context, subject, scopes, refused string) (string, error) {
	if a.settings.Token != nil {
		token, _, err := a.settings.Token(ctx, refused)
		return token, err
	}
	return a.tokens.get(ctx, subject, scopes, refused)
}

// client returns the client for the URLs below base with the tokens of a subject.
func (a *api) client(base, subject, scopes, advice string) (*restapi.Client, error) {
	a.mutex.Lock()
	defer a.mutex.Unlock()
	key := base + "\n" + subject + "\n" + scopes
	if have := a.clients[key]; have != nil {
		return have, nil
	}
	var mutex sync.Mutex
	last := ""
	made, err := restapi.New(base, a.dial, restapi.Options{
		Platform: "Google", Wait: a.settings.Wait, RateLimited: rateLimited, ErrorMessage: errorMessage, Advice: "config." + advice,
		Authorize: func(r *http.Request, retry bool) (bool, error) {
			mutex.Lock()
			refused := last
			mutex.Unlock()
			if !retry {
				refused = ""
			}
			token, err := a.token(r.Context(), subject, scopes, refused)
			if err != nil || retry && token == refused {
				return false, err
			}
			mutex.Lock()
			last = token
			mutex.Unlock()
			r.Header.Set("Authorization", "Bearer "+token)
			return true, nil
		},
	})
	if err == nil {
		a.clients[key] = made
	}
	return made, err
}

func (a *api) drive(subject string) (*restapi.Client, error) {
	return a.client(a.base, subject, scopeDrive, optionAPI)
}

// get requests JSON from the Drive API.
func (a *api) get(ctx context.Context, subject, path string, query url.Values, required string, out any) error {
	return a.send(ctx, subject, restapi.Request{Path: "drive/" + apiVersion + "/" + path, Query: query, RequiredFields: []string{required}}, out)
}

// list requests a page of a list from the Drive API.
func (a *api) list(ctx context.Context, subject, path string, query url.Values, list string, out any) error {
	return a.send(ctx, subject, restapi.Request{Path: "drive/" + apiVersion + "/" + path, Query: query, RequiredList: list}, out)
}

func (a *api) send(ctx context.Context, subject string, r restapi.Request, out any) error {
	client, err := a.drive(subject)
	if err != nil {
		return err
	}
	_, err = client.JSON(ctx, r, out)
	if subject != "" && restapi.StatusOf(err) == http.StatusUnauthorized {
		// The token is new, and Google refuses it for this person.
		return connectors.NeedsAuth(&personError{subject, fmt.Errorf("%s does not let the service account act for %s, whose account may be suspended: %w", platform, subject, err)})
	}
	return explain(err, scopeDrive)
}

// getDirectory requests JSON from the Admin SDK in the name of the administrator.
func (a *api) getDirectory(ctx context.Context, path, scope string, query url.Values, out any) error {
	client, err := a.client(a.directory, a.settings.Credentials[credentialAdmin], scope, optionDirectory)
	if err != nil {
		return err
	}
	_, err = client.JSON(ctx, restapi.Request{Path: "admin/directory/v1/" + path, Query: query}, out)
	return explain(err, scope)
}

func (a *api) close() {
	a.mutex.Lock()
	defer a.mutex.Unlock()
	for _, client := range a.clients {
		client.Close()
	}
	if a.tokens != nil {
		a.tokens.client.Close()
	}
}

// A failure is the body of an unsuccessful response.
type failure struct {
	Error struct {
		Message string
		Status  string
		Errors  []struct{ Reason, Message, Location string }
		Details []struct{ Reason string }
	}
}

func parseFailure(body []byte) (f failure) {
	_ = json.Unmarshal(body, &f) // an empty failure for another body
	return f
}

func errorMessage(body []byte) string {
	f := parseFailure(body)
	return strings.Join(strings.Fields(strings.NewReplacer("<", " ", ">", " ").Replace(f.Error.Message)), " ")
}

// reasons returns the reasons of an error's response.
func reasons(err error) []string {
	status, ok := errors.AsType[*restapi.StatusError](err)
	if !ok {
		return nil
	}
	return bodyReasons(status.Body)
}

func bodyReasons(body []byte) (all []string) {
	f := parseFailure(body)
	for _, e := range f.Error.Errors {
		all = append(all, e.Reason)
	}
	for _, d := range f.Error.Details {
		all = append(all, d.Reason)
	}
	return all
}

func hasReason(err error, wanted ...string) bool {
	return slices.ContainsFunc(reasons(err), func(reason string) bool { return slices.Contains(wanted, reason) })
}

// rateLimited reports the limits that Google answers with 403.
func rateLimited(response *http.Response) (time.Duration, bool) {
	if response.StatusCode != http.StatusForbidden && response.StatusCode != http.StatusTooManyRequests {
		return 0, false
	}
	if response.StatusCode == http.StatusTooManyRequests {
		return 0, true
	}
	const maxBody = 64 << 10
	body := make([]byte, maxBody)
	n := 0
	for n < len(body) {
		read, err := response.Body.Read(body[n:])
		n += read
		if err != nil {
			break
		}
	}
	limited := slices.ContainsFunc(bodyReasons(body[:n]), func(reason string) bool {
		return slices.Contains([]string{"userRateLimitExceeded", "rateLimitExceeded", "dailyLimitExceeded", "quotaExceeded", "RATE_LIMIT_EXCEEDED"}, reason)
	})
	return 0, limited
}

// explain adds advice to the errors of missing rights.
func explain(err error, scope string) error {
	switch {
	case restapi.StatusOf(err) != http.StatusForbidden:
		return err
	case isScopeError(err):
		return connectors.NeedsAuth(fmt.Errorf("the token lacks the scope %s; grant it and connect the account again: %w", scope, err))
	case hasReason(err, "accessNotConfigured", "SERVICE_DISABLED"):
		return connectors.NeedsAuth(fmt.Errorf("the API is not enabled in the Google Cloud project; enable the Google Drive API and, for permissions, the Admin SDK API: %w", err))
	}
	return err
}

// isScopeError reports whether the token lacks a scope.
func isScopeError(err error) bool {
	if hasReason(err, "insufficientPermissions", "insufficientScopes", "ACCESS_TOKEN_SCOPE_INSUFFICIENT") {
		return true
	}
	status, ok := errors.AsType[*restapi.StatusError](err)
	return ok && strings.Contains(status.Header.Get("Www-Authenticate"), "insufficient_scope")
}

// isForbidden reports whether the account lacks the right to one thing, not the
// right to the API.
func isForbidden(err error) bool {
	return restapi.StatusOf(err) == http.StatusForbidden && !isScopeError(err) && !hasReason(err, "accessNotConfigured", "SERVICE_DISABLED") && connectors.IsNeedsAuth(err)
}

// isInvisible reports whether the account does not see a thing.
func isInvisible(err error) bool {
	return isForbidden(err) || errors.Is(err, connectors.ErrNotFound) || isUnknownPerson(err)
}

// isHidden reports whether a unit cannot be listed because the account, or the person
// that it acts for, does not see it.
func isHidden(err error) bool {
	return isInvisible(err) && (restapi.StatusOf(err) != 0 || isUnknownPerson(err))
}

// errInvalid returns the error of a response with an invalid entry. If the entry
// were ignored, its document would be deleted.
func errInvalid(what string) error {
	return connectors.Retryable(fmt.Errorf("%s answered with %s that cannot be; check config.%s, and whether a proxy or a login stands between", platform, what, optionAPI), 0)
}
