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
)

// Error is what Slack answers in place of what was asked for, mostly with the
// status 200.
type Error struct {
	Method, Code string
	// Needed and Provided are scopes, for missing_scope.
	Needed, Provided string
}

func (e *Error) Error() string {
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
		return fmt.Sprintf("Slack cannot answer at the moment (%s)", e.Code)
	default:
		return fmt.Sprintf("Slack's %s answers %s", e.Method, clip(e.Code, 80))
	}
}

func orUnknown(text string) string {
	if text == "" {
		return "unknown"
	}
	return clip(text, 300)
}

// refusesToken says that the token is to blame, so that another one might do.
func refusesToken(code string) bool {
	switch code {
	case "invalid_auth", "token_expired", "token_revoked", "account_inactive", "not_authed":
		return true
	}
	return false
}

const shortPause = 30 * time.Second

// classify says what to do about an answer that is no success.
func classify(e *Error, header http.Header) error {
	switch e.Code {
	case "ratelimited", "rate_limited":
		return connectors.Retryable(e, max(restapi.RetryAfter(header), shortPause))
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

// codeOf is Slack's word for an error, "" for another error.
func codeOf(err error) string {
	if answer, ok := errors.AsType[*Error](err); ok {
		return answer.Code
	}
	return ""
}

// envelope is what all answers have in common.
type envelope struct {
	OK       bool   `json:"ok"`
	Error    string `json:"error"`
	Needed   string `json:"needed"`
	Provided string `json:"provided"`
	Metadata struct {
		Cursor string `json:"next_cursor"`
	} `json:"response_metadata"`
}

// api calls the methods of the Web API.
type api struct {
	rest     *restapi.Client
	settings connectors.Settings
}

func newAPI(dial restapi.Dial, s connectors.Settings, base string) (*api, error) {
	client, err := restapi.New(base, dial, restapi.Options{Platform: "Slack", Wait: s.Wait, ErrorMessage: explain, Advice: "config." + optionAddress})
	if err != nil {
		return nil, err
	}
	return &api{rest: client, settings: s}, nil
}

// explain takes Slack's word out of an answer with a status of refusal.
func explain(body []byte) string {
	var e envelope
	if json.Unmarshal(body, &e) != nil {
		return ""
	}
	return e.Error
}

// token is the access token; refused is one that Slack did not accept.
func (a *api) token(ctx context.Context, refused string) (string, error) {
	if a.settings.Token == nil {
		return a.settings.Credentials[credentialToken], nil
	}
	token, _, err := a.settings.Token(ctx, refused)
	return token, err
}

// call calls a method and reads its answer into out, which may be nil. It
// returns the cursor of the next page, "" at the end, and the answer's header.
func (a *api) call(ctx context.Context, method string, arguments url.Values, out any) (cursor string, header http.Header, err error) {
	token, err := a.token(ctx, "")
	if err != nil {
		return "", nil, err
	}
	cursor, header, err = a.once(ctx, method, arguments, token, out)
	code := codeOf(err)
	if restapi.StatusOf(err) == http.StatusUnauthorized {
		code = "invalid_auth"
	}
	if !refusesToken(code) || a.settings.Token == nil {
		return cursor, header, err
	}
	renewed, failure := a.token(ctx, token)
	switch {
	case failure != nil:
		return "", header, failure
	case renewed == token:
		return "", header, err
	}
	return a.once(ctx, method, arguments, renewed, out)
}

func (a *api) once(ctx context.Context, method string, arguments url.Values, token string, out any) (cursor string, header http.Header, err error) {
	if arguments == nil {
		arguments = url.Values{}
	}
	var body json.RawMessage
	header, err = a.rest.JSON(ctx, restapi.Request{
		Method: http.MethodPost, Path: method, Form: arguments, Header: http.Header{"Authorization": {"Bearer " + token}}, RequiredFields: []string{"ok"},
	}, &body)
	if err != nil {
		return "", header, err
	}
	var answer envelope
	if json.Unmarshal(body, &answer) != nil || (!answer.OK && answer.Error == "") {
		return "", header, otherShape(method)
	}
	if !answer.OK {
		return "", header, classify(&Error{Method: method, Code: answer.Error, Needed: answer.Needed, Provided: answer.Provided}, header)
	}
	for _, path := range needs(method) {
		if !restapi.HasField(body, path) {
			return "", header, connectors.Retryable(fmt.Errorf("the answer of Slack's %s has another shape than it promises: it lacks %q; %s", method, path, advice), 0)
		}
	}
	if out != nil {
		if err := json.Unmarshal(body, out); err != nil {
			return "", header, otherShape(method)
		}
	}
	return answer.Metadata.Cursor, header, nil
}

// advice is what to do about answers that are none of Slack's.
const advice = "check config." + optionAddress + ", and whether a proxy or a login stands between"

func otherShape(method string) error {
	return connectors.Retryable(fmt.Errorf("the answer of Slack's %s has another shape than it promises; %s", method, advice), 0)
}

// needs are the fields that a method's answer must have: without them, what it
// lists would be taken for nothing.
func needs(method string) []string {
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

// maxListPages ends lists that would never end.
const maxListPages = 2000

// each calls a method page after page until done returns true or there are no
// more; page gets a fresh value to decode into for every page.
func (a *api) each(ctx context.Context, method string, arguments url.Values, page func() any, take func() (done bool)) error {
	var trail restapi.LoopDetector
	for range maxListPages {
		out := page()
		cursor, _, err := a.call(ctx, method, arguments, out)
		if err != nil {
			return err
		}
		if take() || cursor == "" {
			return nil
		}
		if err := trail.Visit("Slack", method, cursor); err != nil {
			return err
		}
		arguments.Set("cursor", cursor)
	}
	return connectors.Fatal(fmt.Errorf("Slack's %s does not come to an end", method)) //nolint:staticcheck // a name
}

// scopes are those of the token, as an answer's header tells; nil when it does not.
func scopes(header http.Header) map[string]bool {
	text := header.Get("X-Oauth-Scopes")
	if text == "" {
		return nil
	}
	have := make(map[string]bool)
	for scope := range strings.SplitSeq(text, ",") {
		have[strings.TrimSpace(scope)] = true
	}
	return have
}

func clip(text string, most int) string {
	if len(text) <= most {
		return text
	}
	return strings.ToValidUTF8(text[:most], "") + "..."
}
