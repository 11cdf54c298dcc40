package sharepoint

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/magpie-search/magpie/connectors"
	"github.com/magpie-search/magpie/connectors/restapi"
)

const (
	subscriptionsKey = "subscriptions"
	// subscriptionLife is a little less than Graph's maximum for a library, 42,300
	// minutes.
	subscriptionLife = 42_000 * time.Minute
	// renewAfter is the age from which a subscription is renewed. Graph may ask for a
	// renewal long before its end. A call that was interrupted goes on where it was.
	renewAfter = 30 * time.Minute
	// maxSubscriptions bounds the libraries with a subscription. The others are synced
	// by schedule.
	maxSubscriptions = 500
)

// A graphSubscription is a subscription at Graph.
type graphSubscription struct {
	ID              string    `json:"id"`
	Resource        string    `json:"resource"`
	NotificationURL string    `json:"notificationUrl"`
	Expires         time.Time `json:"expirationDateTime"`
}

// savedSubscriptions are the subscriptions of a connector, by library.
type savedSubscriptions struct {
	Address string            `json:"address"`
	Secret  string            `json:"secret"` // a hash
	IDs     map[string]string `json:"ids"`
}

func driveResource(drive string) string { return "/drives/" + drive + "/root" }

// Subscribe implements [connectors.Subscriber]. It creates a subscription for each
// library and renews those that are older than renewAfter. The id of the
// subscription is the address; the ids at Graph are in the state.
func (s *source) Subscribe(ctx context.Context, address, secret string) (connectors.Subscription, error) {
	s.resetCaches()
	selected, err := s.selectParts(ctx)
	if err != nil {
		return connectors.Subscription{}, err
	}
	if len(secret) > maxClientState {
		return connectors.Subscription{}, connectors.Fatal(fmt.Errorf("credentials.%s is longer than %d characters", credentialWebhook, maxClientState))
	}
	saved := savedSubscriptions{IDs: map[string]string{}}
	if _, err := connectors.GetJSON(ctx, s.state, subscriptionsKey, &saved); err != nil {
		return connectors.Subscription{}, err
	}
	if saved.IDs == nil {
		saved.IDs = map[string]string{}
	}
	existing, err := s.listSubscriptions(ctx)
	if err != nil {
		return connectors.Subscription{}, err
	}
	replace := saved.Address != address || saved.Secret != hashKey(clientState(s.settings, secret))
	if replace {
		saved, err = s.endSubscriptions(ctx, saved)
		if err != nil {
			return connectors.Subscription{}, err
		}
		saved.Address, saved.Secret = address, hashKey(clientState(s.settings, secret))
	}
	result := connectors.Subscription{ID: address}
	wanted := map[string]bool{}
	for _, p := range selected.list {
		if p.kind != partDrive || len(wanted) >= maxSubscriptions {
			continue
		}
		wanted[p.id] = true
		made, err := s.ensureSubscription(ctx, p.id, saved.IDs[p.id], address, secret, existing)
		if _, gone := isUnavailable(err); gone && restapi.StatusOf(err) != http.StatusForbidden {
			continue
		}
		if err != nil {
			return result, fmt.Errorf("subscribe to the changes of %s: %w", p.name,
				needsRight(err, "subscribe to changes", "the application permission Files.Read.All or Sites.Read.All, or a grant for the site"))
		}
		if saved.IDs[p.id] != made.ID {
			saved.IDs[p.id] = made.ID
			// Saved at once: a subscription that nobody knows would go on delivering.
			if err := connectors.PutJSON(ctx, s.state, subscriptionsKey, saved); err != nil {
				return result, err
			}
		}
		if result.Expires.IsZero() || made.Expires.Before(result.Expires) {
			result.Expires = made.Expires
		}
	}
	for drive, id := range saved.IDs {
		if wanted[drive] || slices.Contains(selected.unavailable, drive) {
			continue
		}
		if err := s.deleteSubscription(ctx, id); err != nil && !connectors.IsNeedsAuth(err) {
			return result, err
		}
		delete(saved.IDs, drive)
	}
	return result, connectors.PutJSON(ctx, s.state, subscriptionsKey, saved)
}

// listSubscriptions returns the app's subscriptions by id. There are none if the
// platform does not list them; each one is then renewed without a look.
func (s *source) listSubscriptions(ctx context.Context) (map[string]graphSubscription, error) {
	byID := map[string]graphSubscription{}
	all, err := list[graphSubscription](ctx, s.graph, "the subscriptions", "subscriptions", nil)
	if _, hidden := isUnavailable(err); hidden || isNoQuery(err) {
		return byID, nil
	}
	if err != nil {
		return nil, err
	}
	for _, one := range all {
		if one.ID == "" {
			return nil, errInvalid("a subscription without an id")
		}
		byID[one.ID] = one
	}
	return byID, nil
}

// ensureSubscription renews the subscription with an id, or creates one.
func (s *source) ensureSubscription(ctx context.Context, drive, id, address, secret string, existing map[string]graphSubscription) (graphSubscription, error) {
	expires := s.now().UTC().Add(subscriptionLife).Truncate(time.Second)
	if id != "" {
		if one, listed := existing[id]; listed && one.Expires.Sub(s.now()) > subscriptionLife-renewAfter {
			return one, nil
		}
		var renewed graphSubscription
		_, err := s.graph.client.JSON(ctx, restapi.Request{
			Method: http.MethodPatch, Path: s.graph.base + "/subscriptions/" + segment(id), Body: map[string]any{"expirationDateTime": expires}, RequiredFields: []string{"id", "expirationDateTime"},
		}, &renewed)
		if err == nil || !errors.Is(err, connectors.ErrNotFound) {
			return renewed, err
		}
	}
	var made graphSubscription
	_, err := s.graph.client.JSON(ctx, restapi.Request{
		Method: http.MethodPost, Path: s.graph.base + "/subscriptions", RequiredFields: []string{"id", "expirationDateTime"},
		Body: map[string]any{
			"changeType": "updated", "resource": driveResource(drive), "notificationUrl": address, "lifecycleNotificationUrl": address,
			"clientState": clientState(s.settings, secret), "expirationDateTime": expires, "latestSupportedTlsVersion": "v1_2",
		},
	}, &made)
	return made, subscribeError(err)
}

// subscribeError explains the refusal of an address that Graph cannot reach.
func subscribeError(err error) error {
	failure, ok := errors.AsType[*restapi.StatusError](err)
	if ok && failure.Status == http.StatusBadRequest && strings.Contains(strings.ToLower(string(failure.Body)), "validation") {
		return connectors.Retryable(fmt.Errorf("Microsoft cannot reach the address of this service, which must be public and have https://: %w", opaque(err)), 0) //nolint:staticcheck // a name
	}
	return err
}

// endSubscriptions deletes all saved subscriptions.
func (s *source) endSubscriptions(ctx context.Context, saved savedSubscriptions) (savedSubscriptions, error) {
	for drive, id := range saved.IDs {
		if err := s.deleteSubscription(ctx, id); err != nil && !connectors.IsNeedsAuth(err) {
			return saved, err
		}
		delete(saved.IDs, drive)
	}
	return saved, nil
}

func (s *source) deleteSubscription(ctx context.Context, id string) error {
	_, err := s.graph.client.JSON(ctx, restapi.Request{Method: http.MethodDelete, Path: s.graph.base + "/subscriptions/" + segment(id)}, nil)
	if err != nil && !errors.Is(err, connectors.ErrNotFound) {
		return fmt.Errorf("end a subscription: %w", err)
	}
	return nil
}

// Unsubscribe implements [connectors.Subscriber].
func (s *source) Unsubscribe(ctx context.Context, sub connectors.Subscription) error {
	saved := savedSubscriptions{}
	if _, err := connectors.GetJSON(ctx, s.state, subscriptionsKey, &saved); err != nil {
		return err
	}
	if len(saved.IDs) == 0 { // without state
		existing, err := s.listSubscriptions(ctx)
		if err != nil {
			return err
		}
		saved.IDs = map[string]string{}
		for id, one := range existing {
			if sub.ID != "" && one.NotificationURL == sub.ID {
				saved.IDs[id] = id
			}
		}
	}
	if _, err := s.endSubscriptions(ctx, saved); err != nil {
		return err
	}
	return s.state.DeletePrefix(ctx, subscriptionsKey)
}
