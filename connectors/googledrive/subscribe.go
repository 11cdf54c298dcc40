package googledrive

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"time"

	"github.com/google/uuid"

	"github.com/magpie-search/magpie/connectors"
	"github.com/magpie-search/magpie/connectors/restapi"
)

const (
	channelsKey = "channels"
	// channelLifetime is a little less than the longest one that Google allows for
	// changes, seven days. Without a time, a channel lives for an hour.
	channelLifetime = 7*24*time.Hour - 10*time.Minute
)

// A channel is a notification channel at Google.
type channel struct {
	ID       string    `json:"id"`
	Resource string    `json:"resource"`
	Stream   string    `json:"stream"`
	Subject  string    `json:"subject,omitempty"`
	Address  string    `json:"address"`
	Secret   string    `json:"secret"` // a hash
	Created  time.Time `json:"created"`
	Expires  time.Time `json:"expires"`
	// Old says that another channel replaces it, and that it is to be stopped.
	Old bool `json:"old,omitempty"`
}

// Subscribe implements [connectors.Subscriber]. It creates a channel for each feed.
// A channel is replaced after half of its life: the new one is created before the
// old one is stopped, so that no change is missed. The id of the subscription is
// the address. The channels are in the state.
func (s *source) Subscribe(ctx context.Context, address, secret string) (connectors.Subscription, error) {
	if err := s.checkOpen(ctx); err != nil {
		return connectors.Subscription{}, err
	}
	units, err := s.listUnits(ctx, nil)
	if err != nil {
		return connectors.Subscription{}, err
	}
	channels, err := s.readChannels(ctx)
	if err != nil {
		return connectors.Subscription{}, err
	}
	sum := sha256.Sum256([]byte(secret))
	fingerprint := hex.EncodeToString(sum[:])
	wanted := streamsOf(units)
	current := map[string]bool{}
	for i, c := range channels {
		isFresh := s.now().Before(c.Created.Add(c.Expires.Sub(c.Created) / 2))
		if slices.Contains(wanted, c.Stream) && !current[c.Stream] && c.Address == address && c.Secret == fingerprint && isFresh && !c.Old {
			current[c.Stream] = true
		} else {
			channels[i].Old = true
		}
	}
	for _, stream := range wanted {
		if current[stream] {
			continue
		}
		made, err := s.createChannel(ctx, stream, subjectOfStream(units, stream), address, secret)
		if isInvisible(err) {
			continue // the walk names the drive
		}
		if err != nil {
			return connectors.Subscription{}, err
		}
		made.Secret = fingerprint
		channels = append(channels, made)
		// Saved at once, so that it is stopped even if the next one fails.
		if err := connectors.PutJSON(ctx, s.state, channelsKey, channels); err != nil {
			return connectors.Subscription{}, err
		}
	}
	if channels, err = s.stopChannels(ctx, channels, func(c channel) bool { return c.Old }); err != nil {
		return connectors.Subscription{}, err
	}
	subscription := connectors.Subscription{ID: address}
	for _, c := range channels {
		if subscription.Expires.IsZero() || c.Expires.Before(subscription.Expires) {
			subscription.Expires = c.Expires
		}
	}
	return subscription, nil
}

// Unsubscribe implements [connectors.Subscriber].
func (s *source) Unsubscribe(ctx context.Context, _ connectors.Subscription) error {
	if err := s.checkOpen(ctx); err != nil {
		return err
	}
	channels, err := s.readChannels(ctx)
	if err != nil {
		return err
	}
	_, err = s.stopChannels(ctx, channels, func(channel) bool { return true })
	return err
}

func (s *source) readChannels(ctx context.Context) (channels []channel, err error) {
	_, err = connectors.GetJSON(ctx, s.state, channelsKey, &channels)
	return channels, err
}

// stopChannels stops the channels that are to be stopped, and saves the others.
func (s *source) stopChannels(ctx context.Context, channels []channel, stop func(channel) bool) ([]channel, error) {
	var kept []channel
	var failed error
	for _, c := range channels {
		if !stop(c) {
			kept = append(kept, c)
			continue
		}
		body := map[string]any{"id": c.ID, "resourceId": c.Resource}
		err := s.api.send(ctx, c.Subject, restapi.Request{Method: http.MethodPost, Path: "drive/" + apiVersion + "/channels/stop", Body: body}, nil)
		if err != nil && !isInvisible(err) && s.now().Before(c.Expires) {
			kept, failed = append(kept, c), fmt.Errorf("stop a notification channel: %w", err)
		}
	}
	return kept, errors.Join(failed, connectors.PutJSON(ctx, s.state, channelsKey, kept))
}

func (s *source) createChannel(ctx context.Context, stream, subject, address, secret string) (channel, error) {
	position, err := s.startToken(ctx, stream, subject)
	if err != nil {
		return channel{}, err
	}
	random := make([]byte, 8)
	_, _ = rand.Read(random) // documented never to fail
	prefix := s.settings.ConnectorID
	if uuid.Validate(prefix) != nil {
		prefix = uuid.NewString()
	}
	now := s.now()
	made := channel{ID: prefix + "-" + hex.EncodeToString(random), Stream: stream, Subject: subject, Address: address, Created: now}
	query := streamQuery(stream)
	query.Set("pageToken", position)
	query.Set("includeItemsFromAllDrives", "true")
	query.Set("includeRemoved", "true")
	var answer struct {
		ID, ResourceID string
		Expiration     json.Number
	}
	err = s.api.send(ctx, subject, restapi.Request{
		Method: http.MethodPost, Path: "drive/" + apiVersion + "/changes/watch", Query: query, RequiredFields: []string{"id", "resourceId"},
		Body: map[string]any{
			"id": made.ID, "type": "web_hook", "address": address, "token": secret, "expiration": strconv.FormatInt(now.Add(channelLifetime).UnixMilli(), 10),
		},
	}, &answer)
	if err != nil {
		return channel{}, channelError(err)
	}
	made.Resource, made.Expires = answer.ResourceID, now.Add(time.Hour)
	if expires, err := answer.Expiration.Int64(); err == nil && expires > 0 {
		made.Expires = time.UnixMilli(expires).UTC()
	}
	return made, nil
}

// channelError explains why Google does not create a channel.
func channelError(err error) error {
	switch {
	case hasReason(err, "push.webhookUrlNotHttps", "webhookUrlNotHttps"):
		return connectors.Fatal(fmt.Errorf("%s delivers to https addresses with a valid certificate only; set the service's public address", platform))
	case hasReason(err, "push.webhookUrlUnauthorized", "webhookUrlUnauthorized"):
		return connectors.NeedsAuth(fmt.Errorf("%s does not deliver to this domain; verify it in the Search Console and add it to the Google Cloud project", platform))
	}
	return fmt.Errorf("create a notification channel: %w", err)
}
