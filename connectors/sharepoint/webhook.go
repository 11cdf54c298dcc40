package sharepoint

import (
	"crypto/rand"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"
	"unicode"

	"github.com/google/uuid"

	"github.com/magpie-search/magpie/connectors"
)

// maxValidation is the longest validation token that is returned.
const maxValidation = 4096

func webhook() *connectors.Webhook {
	return &connectors.Webhook{
		Secret: credentialWebhook, Subscribes: true, ProbesAddress: true,
		Keys: webhookKeys, Route: route, Challenge: challenge, Verify: verify, Parse: parseDelivery,
	}
}

// webhookKeys returns the tenant, and the connector if it is in the clientState.
func webhookKeys(s connectors.Settings) (keys []string) {
	if tenant := s.Credentials[credentialTenant]; tenant != "" {
		keys = append(keys, "tenant:"+strings.ToLower(tenant))
	}
	if clientState(s, "") != "" {
		keys = append(keys, "connector:"+strings.ToLower(s.ConnectorID))
	}
	return keys
}

// clientState returns the clientState of subscriptions: the secret. Notifications
// name the tenant by its id. If the settings do not have that id, the connector's id
// is before the secret.
func clientState(s connectors.Settings, secret string) string {
	state := s.ConnectorID + "." + secret
	if uuid.Validate(s.Credentials[credentialTenant]) == nil || uuid.Validate(s.ConnectorID) != nil || len(state) > maxClientState {
		return secret
	}
	return state
}

// splitState returns the connector and the secret of a clientState.
func splitState(state string) (connector, secret string) {
	if id, rest, found := strings.Cut(state, "."); found && uuid.Validate(id) == nil {
		return strings.ToLower(id), rest
	}
	return "", state
}

// A notification says that something in a library changed or, with a lifecycle
// event, that the subscription needs attention.
type notification struct {
	SubscriptionID string `json:"subscriptionId"`
	ClientState    string `json:"clientState"`
	TenantID       string `json:"tenantId"`
	Resource       string `json:"resource"`
	LifecycleEvent string `json:"lifecycleEvent"`
}

// The lifecycle events of Graph.
const (
	lifecycleReauthorize = "reauthorizationRequired"
	lifecycleRemoved     = "subscriptionRemoved"
	lifecycleMissed      = "missed"
)

func decodeNotifications(body []byte) ([]notification, error) {
	var batch struct {
		Value []notification `json:"value"`
	}
	if json.Unmarshal(body, &batch) != nil || len(batch.Value) == 0 {
		return nil, fmt.Errorf("%w: the body has no notifications", connectors.ErrDelivery)
	}
	for _, n := range batch.Value {
		if n.SubscriptionID == "" {
			return nil, fmt.Errorf("%w: a notification has no subscription", connectors.ErrDelivery)
		}
	}
	return batch.Value, nil
}

// challenge answers Graph's validation of the address: a POST with a token in the
// query and no content.
func challenge(query url.Values, _ http.Header, body []byte) (string, bool) {
	token := query.Get("validationToken")
	if token == "" || len(token) > maxValidation || len(strings.TrimSpace(string(body))) > 0 ||
		strings.ContainsFunc(token, func(r rune) bool { return !unicode.IsPrint(r) }) {
		return "", false
	}
	return token, true
}

func route(_ http.Header, body []byte) ([]string, error) {
	notifications, err := decodeNotifications(body)
	if err != nil {
		return nil, err
	}
	var keys []string
	for _, n := range notifications {
		if n.TenantID != "" {
			keys = append(keys, "tenant:"+strings.ToLower(n.TenantID))
		}
		if connector, _ := splitState(n.ClientState); connector != "" {
			keys = append(keys, "connector:"+connector)
		}
	}
	if len(keys) == 0 {
		return nil, fmt.Errorf("%w: it names no tenant or connector", connectors.ErrDelivery)
	}
	slices.Sort(keys)
	return slices.Compact(keys), nil
}

// verify compares the clientState of all notifications with the secret, in constant
// time.
func verify(secret string, _ http.Header, body []byte, _ time.Time) error {
	notifications, err := decodeNotifications(body)
	if err != nil || secret == "" {
		return connectors.ErrSignature
	}
	want := sha256.Sum256([]byte(secret))
	equal := 1
	for _, n := range notifications {
		_, rest := splitState(n.ClientState)
		whole, behind := sha256.Sum256([]byte(n.ClientState)), sha256.Sum256([]byte(rest))
		equal &= subtle.ConstantTimeCompare(want[:], whole[:]) | subtle.ConstantTimeCompare(want[:], behind[:])
	}
	if equal != 1 {
		return connectors.ErrSignature
	}
	return nil
}

// parseDelivery reads notifications. They name a subscription, not a file. Two
// notifications of different changes may be equal, so each delivery gets an id of
// its own.
func parseDelivery(_ http.Header, body []byte) (connectors.Delivery, error) {
	notifications, err := decodeNotifications(body)
	if err != nil {
		return connectors.Delivery{}, err
	}
	d := connectors.Delivery{ID: rand.Text()}
	for _, n := range notifications {
		switch n.LifecycleEvent {
		case lifecycleReauthorize:
			d.RenewSubscription = true
		case lifecycleRemoved:
			d.RenewSubscription, d.AllChanged = true, true
		case "", lifecycleMissed:
			d.AllChanged = true
		}
	}
	return d, nil
}
