package meeting

import (
	"context"
	"fmt"
	"net/http"
	"net/url"
	"time"

	"github.com/magpie-search/magpie/connectors"
	"github.com/magpie-search/magpie/internal/event"
)

const (
	teamsResource = "communications/onlineMeetings/getAllTranscripts"
	// teamsLife is a little less than Graph's maximum for transcripts, 4,320 minutes.
	teamsLife = 4310 * time.Minute
	// maxClientState is Graph's maximum length of clientState.
	maxClientState = 128
)

type graphSubscription struct {
	ID              string    `json:"id"`
	Resource        string    `json:"resource"`
	NotificationURL string    `json:"notificationUrl"`
	Expires         time.Time `json:"expirationDateTime"`
}

// teamsSubscriber keeps a subscription in Microsoft Graph.
func teamsSubscriber(d Deps) *event.Subscriber {
	return &event.Subscriber{
		Wanted: func(s connectors.Settings) bool {
			return s.String("client_id") != "" && s.Credentials["client_secret"] != "" && s.Credentials[secretName] != ""
		},
		Subscribe: func(ctx context.Context, s connectors.Settings, id, address string) (event.Subscription, error) {
			token, err := graphToken(ctx, d, s)
			if err != nil {
				return event.Subscription{}, err
			}
			expires := d.Now().UTC().Add(teamsLife).Truncate(time.Second)
			var made graphSubscription
			if id != "" {
				found, err := exchange(ctx, d.Client, request{
					method: http.MethodPatch, address: d.Graph + "/subscriptions/" + url.PathEscape(id), token: token, object: map[string]any{"expirationDateTime": expires},
				}, &made)
				if err != nil || found {
					return made.subscription(id), err
				}
			}
			if err := endGraphSubscriptions(ctx, d, token, address); err != nil {
				return event.Subscription{}, err
			}
			found, err := exchange(ctx, d.Client, request{method: http.MethodPost, address: d.Graph + "/subscriptions", token: token, object: map[string]any{
				"changeType": "created", "resource": teamsResource, "notificationUrl": address, "lifecycleNotificationUrl": address,
				"clientState": s.Credentials[secretName], "expirationDateTime": expires, "latestSupportedTlsVersion": "v1_2",
			}}, &made)
			if err == nil && (!found || made.ID == "") {
				err = event.Refuse("Microsoft Graph did not make the subscription")
			}
			return made.subscription(made.ID), err
		},
		Unsubscribe: func(ctx context.Context, s connectors.Settings, id string) error {
			token, err := graphToken(ctx, d, s)
			if err != nil {
				return err
			}
			return endGraphSubscription(ctx, d, token, id)
		},
	}
}

func (g graphSubscription) subscription(id string) event.Subscription {
	return event.Subscription{ID: id, Expires: g.Expires}
}

// endGraphSubscriptions ends the subscriptions of an address: one that was made by a
// process that died before it could store the id would deliver everything twice.
func endGraphSubscriptions(ctx context.Context, d Deps, token, address string) error {
	next := d.Graph + "/subscriptions"
	for range maxPages {
		var page struct {
			Value []graphSubscription `json:"value"`
			Next  string              `json:"@odata.nextLink"`
		}
		if _, err := exchange(ctx, d.Client, request{method: http.MethodGet, address: next, token: token}, &page); err != nil {
			return fmt.Errorf("list the subscriptions: %w", err)
		}
		for _, one := range page.Value {
			if one.NotificationURL != address || one.Resource != teamsResource {
				continue
			}
			if err := endGraphSubscription(ctx, d, token, one.ID); err != nil {
				return err
			}
		}
		if page.Next == "" {
			return nil
		}
		if !sameHost(page.Next, d.Graph) {
			return event.Refuse("Microsoft Graph named a next page at another host")
		}
		next = page.Next
	}
	return nil
}

// sameHost reports whether two addresses have the same scheme and host, so that a token
// may go to both.
func sameHost(a, b string) bool {
	one, err := url.Parse(a)
	if err != nil {
		return false
	}
	other, err := url.Parse(b)
	return err == nil && one.Scheme == other.Scheme && one.Host == other.Host && one.User == nil
}

func endGraphSubscription(ctx context.Context, d Deps, token, id string) error {
	_, err := exchange(ctx, d.Client, request{method: http.MethodDelete, address: d.Graph + "/subscriptions/" + url.PathEscape(id), token: token}, nil)
	if err != nil {
		return fmt.Errorf("end a subscription: %w", err)
	}
	return nil
}
