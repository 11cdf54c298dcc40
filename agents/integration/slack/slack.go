package slack

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"net/url"
	"strconv"

	"github.com/magpie-search/magpie/agents/integration"
	"github.com/magpie-search/magpie/agents/integration/platform"
	"github.com/magpie-search/magpie/agents/loop"
	"github.com/magpie-search/magpie/agents/policy"
	"github.com/magpie-search/magpie/connectors"
	"github.com/magpie-search/magpie/internal/apierr"
)

const (
	optionURL = "apiUrl"
	token     = "token"
	base      = "https://slack.com/api"
)

// Provider returns the provider.
func Provider() integration.Provider {
	tool := func(name, title, description string, risk policy.Risk, scopes ...string) integration.Tool {
		return integration.Tool{Name: name, Title: title, Description: description, Risk: risk, Scopes: scopes}
	}
	reaction := tool("add_reaction", "Add a reaction", "Adds an emoji to a message.", policy.Write, "reactions:write")
	reaction.Idempotent = true // Slack keeps one reaction of a person and emoji
	return integration.Provider{
		Name: "slack", Title: "Slack", Summary: "Searches and reads messages, posts and answers.", Group: integration.Productivity,
		Config: []connectors.Option{platform.AddressOption(optionURL, base)},
		Credentials: []connectors.Option{{
			Name: token, Title: "Token", Help: "A user token (xoxp-). With a bot token (xoxb-), messages cannot be searched.", Type: connectors.TypeString, Sensitive: true,
		}},
		OAuth: &integration.OAuth{Provider: "slack", Scopes: []string{"channels:read", "groups:read"}},
		Check: func(ctx context.Context, a integration.Account) error {
			return api().Do(ctx, a, platform.Request{Method: http.MethodPost, Reads: true, Path: "auth.test"}, nil)
		},
		Tools: []integration.Tool{
			integration.Define(tool("search_messages", "Search messages", "Searches messages with Slack's operators, such as in:#channel, from:@name, after:2026-01-31.",
				policy.Read, "search:read"), nil, searchMessages),
			integration.Define(tool("list_channels", "List channels", "Lists channels with their ids, names and topics.", policy.Read), nil, listChannels),
			integration.Define(tool("read_channel", "Read a channel", "Returns the latest messages of a channel, newest first.", policy.Read, "channels:history", "groups:history"), nil, readChannel),
			integration.Define(tool("read_thread", "Read a thread", "Returns a message and its answers.", policy.Read, "channels:history", "groups:history"), nil, readThread),
			integration.Define(tool("post_message", "Post a message", "Posts a message to a channel.", policy.Send, "chat:write"), func(in postInput) loop.Preview {
				return integration.Show("Post a message in "+in.Channel, integration.Field{Name: "Channel", Value: in.Channel}, integration.Field{Name: "Message", Value: in.Text})
			}, func(ctx context.Context, a integration.Account, in postInput) (loop.Result, error) {
				return post(ctx, a, replyInput{Channel: in.Channel, Text: in.Text})
			}),
			integration.Define(tool("reply", "Answer in a thread", "Posts an answer in the thread of a message.", policy.Send, "chat:write"), func(in replyInput) loop.Preview {
				return integration.Show("Answer in a thread of "+in.Channel, integration.Field{Name: "Channel", Value: in.Channel},
					integration.Field{Name: "Thread", Value: in.Thread}, integration.Field{Name: "Message", Value: in.Text})
			}, post),
			integration.Define(reaction, func(in reactionInput) loop.Preview {
				return integration.Show("Add the reaction :"+in.Emoji+":", integration.Field{Name: "Channel", Value: in.Channel}, integration.Field{Name: "Message", Value: in.Time})
			}, react),
		},
	}
}

func api() platform.API {
	return platform.API{Name: "Slack", Base: platform.URL(optionURL, ""), Authorize: platform.Bearer(token), Refusal: refusal, Advice: "config." + optionURL}
}

// refusal returns the error of an answer that is not ok.
func refusal(body json.RawMessage) error {
	var envelope struct {
		OK     *bool  `json:"ok"`
		Error  string `json:"error"`
		Needed string `json:"needed"`
	}
	switch err := json.Unmarshal(body, &envelope); {
	case err != nil || envelope.OK == nil:
		return connectors.Retryable(errors.New("Slack answered without saying whether it succeeded"), 0) //nolint:staticcheck // a name
	case *envelope.OK:
		return nil
	}
	message := envelope.Error
	if envelope.Needed != "" {
		message += ", needed is " + envelope.Needed
	}
	return platform.Refuse(codeOf(envelope.Error), message)
}

func codeOf(failure string) apierr.Code {
	switch failure {
	case "not_authed", "invalid_auth", "token_expired", "token_revoked", "account_inactive", "two_factor_setup_required", "org_login_required":
		return apierr.Unauthorized
	case "missing_scope", "no_permission", "not_allowed_token_type", "access_denied", "accesslimited", "ekm_access_denied", "enterprise_is_restricted",
		"team_access_not_granted", "not_in_channel", "restricted_action", "restricted_action_read_only_channel", "restricted_action_thread_only_channel", "is_archived":
		return apierr.Forbidden
	case "channel_not_found", "thread_not_found", "message_not_found", "user_not_found", "users_not_found":
		return apierr.CodeNotFound
	case "ratelimited", "rate_limited":
		return apierr.RateLimited
	case "internal_error", "fatal_error", "service_unavailable", "request_timeout":
		return apierr.Unavailable
	default:
		return apierr.InvalidRequest
	}
}

type message struct {
	User      string `json:"user,omitempty"`
	Name      string `json:"username,omitempty"`
	Text      string `json:"text"`
	Time      string `json:"ts"`
	Thread    string `json:"thread_ts,omitempty"`
	Replies   int    `json:"reply_count,omitempty"`
	Permalink string `json:"permalink,omitempty"`
	Channel   *struct {
		ID   string `json:"id"`
		Name string `json:"name"`
	} `json:"channel,omitempty"`
}

type searchInput struct {
	Query string `json:"query" rule:"required,min=1,max=500"`
	Limit int    `json:"limit" rule:"min=1,max=50" about:"20 when left out."`
}

func searchMessages(ctx context.Context, a integration.Account, in searchInput) (loop.Result, error) {
	var out struct {
		Messages struct {
			Total   int       `json:"total"`
			Matches []message `json:"matches"`
		} `json:"messages"`
	}
	query := url.Values{"query": {in.Query}, "count": {limit(in.Limit)}}
	if err := api().Do(ctx, a, platform.Request{Path: "search.messages", Query: query}, &out); err != nil {
		return loop.Result{}, err
	}
	return integration.Result(out.Messages, "%d messages found", out.Messages.Total)
}

func limit(n int) string {
	if n == 0 {
		n = 20
	}
	return strconv.Itoa(n)
}

type channelsInput struct {
	Cursor string `json:"cursor" rule:"max=300" about:"Of the answer before, to continue."`
}

func listChannels(ctx context.Context, a integration.Account, in channelsInput) (loop.Result, error) {
	var out struct {
		Channels []struct {
			ID      string `json:"id"`
			Name    string `json:"name"`
			Private bool   `json:"is_private"`
			Member  bool   `json:"is_member"`
			Topic   struct {
				Value string `json:"value"`
			} `json:"topic"`
		} `json:"channels"`
		Next struct {
			Cursor string `json:"next_cursor"`
		} `json:"response_metadata"`
	}
	query := url.Values{"exclude_archived": {"true"}, "types": {"public_channel,private_channel"}, "limit": {"200"}}
	if in.Cursor != "" {
		query.Set("cursor", in.Cursor)
	}
	if err := api().Do(ctx, a, platform.Request{Path: "conversations.list", Query: query}, &out); err != nil {
		return loop.Result{}, err
	}
	return integration.Result(map[string]any{"channels": out.Channels, "next_cursor": out.Next.Cursor}, "%d channels", len(out.Channels))
}

type channelInput struct {
	Channel string `json:"channel" rule:"required,min=1,max=40" about:"The id of the channel, such as C0123ABCD."`
	Limit   int    `json:"limit" rule:"min=1,max=50" about:"20 when left out."`
}

func readChannel(ctx context.Context, a integration.Account, in channelInput) (loop.Result, error) {
	return read(ctx, a, "conversations.history", url.Values{"channel": {in.Channel}, "limit": {limit(in.Limit)}})
}

type threadInput struct {
	Channel string `json:"channel" rule:"required,min=1,max=40" about:"The id of the channel."`
	Thread  string `json:"thread_ts" rule:"required,min=1,max=40" about:"The ts of the first message."`
	Limit   int    `json:"limit" rule:"min=1,max=50" about:"20 when left out."`
}

func readThread(ctx context.Context, a integration.Account, in threadInput) (loop.Result, error) {
	return read(ctx, a, "conversations.replies", url.Values{"channel": {in.Channel}, "ts": {in.Thread}, "limit": {limit(in.Limit)}})
}

func read(ctx context.Context, a integration.Account, method string, query url.Values) (loop.Result, error) {
	var out struct {
		Messages []message `json:"messages"`
		More     bool      `json:"has_more"`
	}
	if err := api().Do(ctx, a, platform.Request{Path: method, Query: query}, &out); err != nil {
		return loop.Result{}, err
	}
	return integration.Result(out, "%d messages", len(out.Messages))
}

type postInput struct {
	Channel string `json:"channel" rule:"required,min=1,max=40" about:"The id of the channel."`
	Text    string `json:"text" rule:"required,min=1,max=12000" about:"In Slack's mrkdwn."`
}

type replyInput struct {
	Channel string `json:"channel" rule:"required,min=1,max=40" about:"The id of the channel."`
	Thread  string `json:"thread_ts" rule:"required,min=1,max=40" about:"The ts of the first message of the thread."`
	Text    string `json:"text" rule:"required,min=1,max=12000" about:"In Slack's mrkdwn."`
}

// post posts a message, whose metadata have the key of the call.
func post(ctx context.Context, a integration.Account, in replyInput) (loop.Result, error) {
	body := map[string]any{"channel": in.Channel, "text": in.Text, "unfurl_links": false}
	if in.Thread != "" {
		body["thread_ts"] = in.Thread
	}
	if marker := integration.Marker(ctx); marker != "" {
		body["metadata"] = map[string]any{"event_type": "magpie_run", "event_payload": map[string]any{"mark": marker}}
	}
	var out struct {
		Channel string `json:"channel"`
		Time    string `json:"ts"`
	}
	if err := api().Do(ctx, a, platform.Request{Method: http.MethodPost, Path: "chat.postMessage", Body: body}, &out); err != nil {
		return loop.Result{}, err
	}
	return integration.Result(out, "A message was posted")
}

type reactionInput struct {
	Channel string `json:"channel" rule:"required,min=1,max=40" about:"The id of the channel."`
	Time    string `json:"ts" rule:"required,min=1,max=40" about:"The ts of the message."`
	Emoji   string `json:"emoji" rule:"required,min=1,max=100" about:"A name without colons, such as eyes."`
}

func react(ctx context.Context, a integration.Account, in reactionInput) (loop.Result, error) {
	body := map[string]any{"channel": in.Channel, "timestamp": in.Time, "name": in.Emoji}
	err := api().Do(ctx, a, platform.Request{Method: http.MethodPost, Path: "reactions.add", Body: body}, nil)
	if refusal, ok := errors.AsType[*platform.Refusal](err); ok && refusal.Message == "already_reacted" {
		err = nil
	}
	if err != nil {
		return loop.Result{}, err
	}
	return integration.Result(map[string]any{"added": in.Emoji}, "The reaction %s was added", in.Emoji)
}
