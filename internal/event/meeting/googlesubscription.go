package meeting

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"regexp"
	"strings"
	"time"

	"github.com/magpie-search/magpie/connectors"
	"github.com/magpie-search/magpie/internal/event"
	"github.com/magpie-search/magpie/internal/safetext"
)

const (
	topicName      = "topic"
	meetEnded      = "google.workspace.meet.conference.v2.ended"
	meetTranscript = "google.workspace.meet.transcript.v2.fileGenerated"
	// googleLife is Google's maximum for subscriptions without resource data.
	googleLife = "604800s"
	// googleNotices is the prefix of the types of messages about a subscription.
	googleNotices = "google.workspace.events.subscription.v1."
)

var (
	pubsubTopic        = regexp.MustCompile(`^projects/[a-z0-9:.-]{1,100}/topics/[A-Za-z0-9._~+%-]{3,255}$`)
	googleSubscription = regexp.MustCompile(`^subscriptions/[A-Za-z0-9_-]{1,300}$`)
)

type workspaceSubscription struct {
	Name     string    `json:"name"`
	Target   string    `json:"targetResource"`
	State    string    `json:"state"`
	Reason   string    `json:"suspensionReason"`
	Expires  time.Time `json:"expireTime"`
	Endpoint struct {
		Topic string `json:"pubsubTopic"`
	} `json:"notificationEndpoint"`
}

// googleOperation is a request that Google goes on with after its answer.
type googleOperation struct {
	Done     bool                  `json:"done"`
	Response workspaceSubscription `json:"response"`
	Error    *struct {
		Message string `json:"message"`
	} `json:"error"`
}

// notice returns what a message says about the subscription of Workspace Events.
func (p pushMessage) notice() (event.Notice, bool) {
	kind, ok := strings.CutPrefix(p.Message.Attributes["ce-type"], googleNotices)
	if !ok {
		return event.Notice{}, false
	}
	var data struct {
		Subscription struct{ Name string } `json:"subscription"`
	}
	_ = json.Unmarshal(p.Message.Data, &data)
	name := data.Subscription.Name
	if !googleSubscription.MatchString(name) {
		name = ""
	}
	n := event.Notice{Subscription: name}
	switch kind {
	case "expired":
		n.Lost, n.Failing = true, "The subscription of Google Workspace Events has expired; create it again"
	case "suspended":
		n.Failing = "Google has suspended the subscription of Workspace Events; reactivate it"
	default: // expirationReminder
		n.Failing = "The subscription of Google Workspace Events is about to expire; renew it"
	}
	return n, true
}

// errGone says that a subscription ended between two requests.
var errGone = errors.New("the subscription ended meanwhile")

// googleSubscriber keeps a subscription of Workspace Events to the meetings of a user.
func googleSubscriber(d Deps) *event.Subscriber {
	return &event.Subscriber{
		Wanted: func(s connectors.Settings) bool {
			return s.String(topicName) != "" && s.String("impersonate") != "" && s.Credentials["key"] != ""
		},
		Subscribe: func(ctx context.Context, s connectors.Settings, id, _ string) (event.Subscription, error) {
			token, err := googleToken(ctx, d, s)
			if err != nil {
				return event.Subscription{}, err
			}
			if id != "" {
				var known workspaceSubscription
				found, err := exchange(ctx, d.Client, request{method: http.MethodGet, address: d.GoogleEvents + "/" + id, token: token}, &known)
				if err != nil {
					return event.Subscription{}, err
				}
				if found && known.State != "DELETED" {
					return renewGoogle(ctx, d, token, known)
				}
			}
			return makeGoogle(ctx, d, token, s)
		},
		Unsubscribe: func(ctx context.Context, s connectors.Settings, id string) error {
			token, err := googleToken(ctx, d, s)
			if err != nil {
				return err
			}
			_, err = exchange(ctx, d.Client, request{method: http.MethodDelete, address: d.GoogleEvents + "/" + id + "?allowMissing=true", token: token}, nil)
			return err
		},
	}
}

// renewGoogle gives a subscription its whole life again, and wakes a suspended one.
func renewGoogle(ctx context.Context, d Deps, token string, known workspaceSubscription) (event.Subscription, error) {
	if !googleSubscription.MatchString(known.Name) {
		return event.Subscription{}, event.Refuse("Google named the subscription in an unknown way")
	}
	if known.State == "SUSPENDED" {
		var o googleOperation
		found, err := exchange(ctx, d.Client, request{method: http.MethodPost, address: d.GoogleEvents + "/" + known.Name + ":reactivate", token: token, object: map[string]any{}}, &o)
		switch {
		case err == nil && !found:
			err = errGone
		case err == nil && o.Error != nil:
			err = event.Refuse("Google has suspended the subscription: %s", reasonOf(known.Reason, o.Error.Message))
		}
		if err != nil {
			return event.Subscription{}, err
		}
	}
	var o googleOperation
	found, err := exchange(ctx, d.Client, request{
		method: http.MethodPatch, address: d.GoogleEvents + "/" + known.Name + "?updateMask=ttl", token: token, object: map[string]any{"ttl": googleLife},
	}, &o)
	switch {
	case err == nil && !found:
		err = errGone
	case err == nil && o.Error != nil:
		err = event.Refuse("Google did not renew the subscription: %s", reasonOf(o.Error.Message))
	}
	if err != nil {
		return event.Subscription{}, err
	}
	made := event.Subscription{ID: known.Name, Expires: o.Response.Expires}
	if !o.Done || made.Expires.IsZero() { // what Google says at the next renewal counts
		life, _ := time.ParseDuration(googleLife)
		made.Expires = d.Now().Add(life)
	}
	return made, nil
}

// makeGoogle makes a subscription, or takes over the one that the topic already has.
func makeGoogle(ctx context.Context, d Deps, token string, s connectors.Settings) (event.Subscription, error) {
	target, err := googleTarget(ctx, d, token, s.String("impersonate"))
	if err != nil {
		return event.Subscription{}, err
	}
	filter := `event_types:"` + meetTranscript + `" AND target_resource="` + target + `"`
	var page struct {
		Subscriptions []workspaceSubscription `json:"subscriptions"`
	}
	if _, err := exchange(ctx, d.Client, request{method: http.MethodGet, address: d.GoogleEvents + "/subscriptions?pageSize=100&filter=" + url.QueryEscape(filter), token: token}, &page); err != nil {
		return event.Subscription{}, fmt.Errorf("list the subscriptions: %w", err)
	}
	for _, known := range page.Subscriptions {
		if known.Endpoint.Topic == s.String(topicName) && known.Target == target && known.State != "DELETED" {
			return renewGoogle(ctx, d, token, known)
		}
	}
	var o googleOperation
	_, err = exchange(ctx, d.Client, request{method: http.MethodPost, address: d.GoogleEvents + "/subscriptions", token: token, object: map[string]any{
		"targetResource": target, "eventTypes": []string{meetEnded, meetTranscript}, "ttl": googleLife,
		"notificationEndpoint": map[string]any{"pubsubTopic": s.String(topicName)}, "payloadOptions": map[string]any{"includeResource": false},
	}}, &o)
	switch {
	case err != nil:
		return event.Subscription{}, err
	case o.Error != nil:
		return event.Subscription{}, event.Refuse("Google did not make the subscription: %s", reasonOf(o.Error.Message))
	case !o.Done:
		return event.Subscription{}, event.Refuse("Google is still making the subscription") // the next attempt takes it over
	case !googleSubscription.MatchString(o.Response.Name):
		return event.Subscription{}, event.Refuse("Google named the subscription in an unknown way")
	}
	return event.Subscription{ID: o.Response.Name, Expires: o.Response.Expires}, nil
}

// googleTarget returns the name of a user as a target of subscriptions.
func googleTarget(ctx context.Context, d Deps, token, user string) (string, error) {
	var row struct {
		ID string `json:"id"`
	}
	found, err := exchange(ctx, d.Client, request{method: http.MethodGet, address: d.GoogleDirectory + "/users/" + url.PathEscape(user) + "?fields=id", token: token}, &row)
	if err == nil && (!found || !googleUser.MatchString("users/"+row.ID)) {
		err = event.Refuse("the directory has no user %s", user)
	}
	return "//cloudidentity.googleapis.com/users/" + row.ID, err
}

// reasonOf returns the first text that is not empty, on one line.
func reasonOf(texts ...string) string {
	for _, text := range texts {
		if text = safetext.TruncateBytes(safetext.Line(text), 200); text != "" {
			return text
		}
	}
	return "no reason"
}
