package slack

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/magpie-search/magpie/connectors"
	"github.com/magpie-search/magpie/connectors/restapi"
	"github.com/magpie-search/magpie/internal/safetext"
)

// An APIError is an error response of the Web API, mostly with status 200.
type APIError struct {
	Method, Code string
	// Needed and Provided are the scopes of a missing_scope.
	Needed, Provided string
}

func (e *APIError) Error() string {
	switch e.Code {
	case "missing_scope":
		return fmt.Sprintf("Slack's %s needs the scope %s, which the token lacks (it has %s); add it to the app and install the app again",
			e.Method, orUnknown(e.Needed), orUnknown(e.Provided))
	case "not_authed", "invalid_auth", "token_expired", "token_revoked", "account_inactive":
		return fmt.Sprintf("Slack does not accept the token (%s); enter the token of an app that is installed in the workspace", e.Code)
	case "not_allowed_token_type":
		return fmt.Sprintf("Slack's %s does not take this type of token; enter a bot token (xoxb-) or a user token (xoxp-)", e.Method)
	case "not_in_channel":
		return "the bot is not in the channel; invite it with /invite, or switch config.joinPublic on"
	case "ratelimited", "rate_limited":
		return "Slack asks to wait before the next request"
	case "fatal_error", "internal_error", "service_unavailable", "request_timeout":
		return fmt.Sprintf("Slack cannot answer now (%s)", e.Code)
	default:
		return fmt.Sprintf("Slack's %s answers %s", e.Method, safetext.TruncateBytes(e.Code, 80))
	}
}

func orUnknown(text string) string {
	if text == "" {
		return "unknown"
	}
	return safetext.TruncateBytes(text, 300)
}

// rejectsToken reports whether the token is not valid, so that another one may
// be.
func rejectsToken(code string) bool {
	switch code {
	case "invalid_auth", "token_expired", "token_revoked", "account_inactive", "not_authed":
		return true
	}
	return false
}

const minRetryAfter = 30 * time.Second

// classify returns the marked error of an error response.
func classify(e *APIError, header http.Header) error {
	switch e.Code {
	case "ratelimited", "rate_limited":
		return connectors.Retryable(e, max(restapi.RetryAfter(header), minRetryAfter))
	case "fatal_error", "internal_error", "service_unavailable", "request_timeout", "team_added_to_org", "fetch_members_failed", "timezone_count_failed", "invalid_cursor":
		return connectors.Retryable(e, restapi.RetryAfter(header))
	case "missing_scope", "not_authed", "invalid_auth", "token_expired", "token_revoked", "account_inactive", "no_permission",
		"not_allowed_token_type", "org_login_required", "ekm_access_denied", "access_denied", "team_access_not_granted", "accesslimited",
		"enterprise_is_restricted", "two_factor_setup_required":
		return connectors.NeedsAuth(e)
	case "channel_not_found", "thread_not_found", "message_not_found", "file_not_found", "file_deleted", "user_not_found", "user_not_visible",
		"users_not_found", "not_in_channel", "is_archived", "method_not_supported_for_channel_type", "file_not_visible":
		return fmt.Errorf("%w: %w", e, connectors.ErrNotFound)
	default:
		return connectors.Fatal(e)
	}
}

// errorCode returns Slack's code of an error, or "".
func errorCode(err error) string {
	if apiError, ok := errors.AsType[*APIError](err); ok {
		return apiError.Code
	}
	return ""
}

// An envelope has the fields that all responses share.
type envelope struct {
	OK       bool   `json:"ok"`
	Error    string `json:"error"`
	Needed   string `json:"needed"`
	Provided string `json:"provided"`
	Metadata struct {
		Cursor string `json:"next_cursor"`
	} `json:"response_metadata"`
}

// A client calls the methods of the Web API.
type client struct {
	rest     *restapi.Client
	settings connectors.Settings
}

func newClient(dial connectors.Dial, s connectors.Settings, base string) (*client, error) {
	rest, err := restapi.New(base, dial, restapi.Options{Platform: "Slack", Wait: s.Wait, ErrorMessage: errorMessage, Advice: "config." + optionAddress})
	if err != nil {
		return nil, err
	}
	return &client{rest: rest, settings: s}, nil
}

// errorMessage returns Slack's code in the body of an unsuccessful response.
func errorMessage(body []byte) string {
	var e envelope
	if json.Unmarshal(body, &e) != nil {
		return ""
	}
	return e.Error
}

// token returns the access token. refused is a token that Slack rejected.
func (c *client) token(ctx context.Context, refused string) (string, error) {
	if c.settings.Token == nil {
		return c.settings.Credentials[credentialToken], nil
	}
	token, _, err := c.settings.Token(ctx, refused)
	return token, err
}

// call calls a method and decodes the response into out, which may be nil. It
// returns the cursor of the next page, "" at the end, and the header of the
// response.
func (c *client) call(ctx context.Context, method string, args url.Values, out any) (cursor string, header http.Header, err error) {
	token, err := c.token(ctx, "")
	if err != nil {
		return "", nil, err
	}
	cursor, header, err = c.callWithToken(ctx, method, args, token, out)
	code := errorCode(err)
	if restapi.StatusOf(err) == http.StatusUnauthorized {
		code = "invalid_auth"
	}
	if !rejectsToken(code) || c.settings.Token == nil {
		return cursor, header, err
	}
	renewed, renewErr := c.token(ctx, token)
	switch {
	case renewErr != nil:
		return "", header, renewErr
	case renewed == token:
		return "", header, err
	}
	return c.callWithToken(ctx, method, args, renewed, out)
}

func (c *client) callWithToken(ctx context.Context, method string, args url.Values, token string, out any) (cursor string, header http.Header, err error) {
	if args == nil {
		args = url.Values{}
	}
	var body json.RawMessage
	header, err = c.rest.JSON(ctx, restapi.Request{
		Method: http.MethodPost, Path: method, Form: args, Header: http.Header{"Authorization": {"Bearer " + token}}, RequiredFields: []string{"ok"},
	}, &body)
	if err != nil {
		return "", header, err
	}
	var result envelope
	if json.Unmarshal(body, &result) != nil || (!result.OK && result.Error == "") {
		return "", header, errUnexpectedShape(method)
	}
	if !result.OK {
		return "", header, classify(&APIError{Method: method, Code: result.Error, Needed: result.Needed, Provided: result.Provided}, header)
	}
	for _, path := range requiredFields(method) {
		if !restapi.HasField(body, path) {
			return "", header, connectors.Retryable(fmt.Errorf("the answer of Slack's %s has another shape than it promises: it lacks %q; %s", method, path, checkAdvice), 0)
		}
	}
	if out != nil {
		if err := json.Unmarshal(body, out); err != nil {
			return "", header, errUnexpectedShape(method)
		}
	}
	return result.Metadata.Cursor, header, nil
}

// checkAdvice says what to do about responses that are not Slack's.
const checkAdvice = "check config." + optionAddress + ", and whether a proxy or a login stands between"

func errUnexpectedShape(method string) error {
	return connectors.Retryable(fmt.Errorf("the answer of Slack's %s has another shape than it promises; %s", method, checkAdvice), 0)
}

// requiredFields returns the fields that a method's response must have. Without
// them, its list would seem to be empty.
func requiredFields(method string) []string {
	switch method {
	case "auth.test":
		return []string{"team_id", "user_id"}
	case "conversations.list":
		return []string{"channels"}
	case "conversations.history", "conversations.replies":
		return []string{"messages", "has_more"}
	case "conversations.members", "users.list":
		return []string{"members"}
	case "conversations.join":
		return []string{"channel"}
	case "users.info":
		return []string{"user.id"}
	case "files.list":
		return []string{"files", "paging.pages", "paging.page"}
	case "files.info":
		return []string{"file.id"}
	}
	return nil
}

// maxListPages bounds the pages of a list.
const maxListPages = 2000

// eachEntry reads all pages of a list and calls yield with each entry of a field of
// the responses. It returns the header of the last response.
func (c *client) eachEntry(ctx context.Context, method, field string, args url.Values, yield func(entry json.RawMessage)) (header http.Header, err error) {
	args.Set("limit", listLimit)
	err = restapi.AllPages("Slack", method, maxListPages, func(cursor string) (next string, err error) {
		if cursor != "" {
			args.Set("cursor", cursor)
		}
		var fields map[string]json.RawMessage
		if next, header, err = c.call(ctx, method, args, &fields); err != nil {
			return "", err
		}
		var entries []json.RawMessage
		if json.Unmarshal(fields[field], &entries) != nil {
			return "", errUnexpectedShape(method)
		}
		for _, entry := range entries {
			yield(entry)
		}
		return next, nil
	})
	return header, err
}

// tokenScopes returns the scopes of the token that the header of a response
// names, or nil if it names none.
func tokenScopes(header http.Header) map[string]bool {
	text := header.Get("X-Oauth-Scopes")
	if text == "" {
		return nil
	}
	granted := make(map[string]bool)
	for scope := range strings.SplitSeq(text, ",") {
		granted[strings.TrimSpace(scope)] = true
	}
	return granted
}
