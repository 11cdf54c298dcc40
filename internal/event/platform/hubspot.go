package platform

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"strconv"
	"strings"
	"time"

	"github.com/magpie-search/magpie/connectors"
	"github.com/magpie-search/magpie/internal/event"
)

// HubSpot returns the provider of HubSpot's webhooks of apps and workflows.
func HubSpot() event.Provider {
	return event.Provider{
		Family: event.Events, Name: "hubspot", Title: "HubSpot", Description: "Contacts, companies, deals and tickets.",
		Documentation: "https://developers.hubspot.com/docs/apps/developer-platform/build-apps/authentication/request-validation",
		Options: []connectors.Option{{
			Name: "portal_id", Title: "Account id", Type: connectors.TypeString, Example: "62515",
			Help: "The number of the HubSpot account. It finds the integration for deliveries to the address without an id.",
		}},
		Credentials: []connectors.Option{secretOption("Client secret", "The client secret of the app, under Auth.")},
		Secret:      secretName,
		Hint:        "In the app: Webhooks, paste the address as target, add subscriptions. Then paste the client secret of the app here. Apps that read the webhook journal send nothing.",
		Keys:        func(s connectors.Settings) []string { return keys(s.String("portal_id")) },
		Route: func(r *event.Request) ([]string, error) {
			all, err := readHubSpot(r.Body)
			if err != nil {
				return nil, err
			}
			var portals []string
			for _, e := range all[:min(len(all), 20)] {
				portals = append(portals, string(e.PortalID))
			}
			return keys(portals...), nil
		},
		Verify: verifyHubSpot, Receive: receiveHubSpot,
		Read: func(p event.Payload) (event.Content, error) {
			all, err := readHubSpot(p.Body)
			if err != nil || len(all) == 0 {
				return event.Content{}, event.ErrDelivery
			}
			return event.Content{Object: all[0].object()}, nil
		},
	}
}

// verifyHubSpot checks the signature of version 3, which apps send, or of version 2, which
// workflows send. Version 1 does not cover the address and is refused.
func verifyHubSpot(_ context.Context, r *event.Request, _ connectors.Settings, secret string, now time.Time) error {
	if signature := r.Header.Get("X-Hubspot-Signature-V3"); signature != "" {
		stamp := r.Header.Get("X-Hubspot-Request-Timestamp")
		if err := event.VerifyBase64(signature, secret, []byte("POST"+unescapeHubSpot(r.URL)), r.Body, []byte(stamp)); err != nil {
			return err
		}
		ms, err := strconv.ParseInt(stamp, 10, 64)
		if err != nil {
			return event.Refuse("the timestamp of the signature is malformed")
		}
		return event.CheckTime(time.UnixMilli(ms), now, event.Window)
	}
	switch r.Header.Get("X-Hubspot-Signature-Version") {
	case "v2":
		sum := sha256.Sum256([]byte(secret + "POST" + r.URL + string(r.Body)))
		if !event.Same(strings.ToLower(r.Header.Get("X-Hubspot-Signature")), hex.EncodeToString(sum[:])) || secret == "" {
			return event.Refuse("the signature does not match")
		}
		return nil
	case "v1":
		return event.Refuse("signatures of version 1 do not cover the address; only versions 2 and 3 are accepted")
	default:
		return event.Refuse("the signature is missing")
	}
}

// unescapeHubSpot decodes the escapes that HubSpot decodes before it signs an address.
func unescapeHubSpot(address string) string {
	return strings.NewReplacer("%3A", ":", "%2F", "/", "%3F", "?", "%40", "@", "%21", "!", "%24", "$", "%27", "'", "%28", "(", "%29", ")",
		"%2A", "*", "%2C", ",", "%3B", ";", "%3a", ":", "%2f", "/", "%3f", "?", "%2a", "*", "%2c", ",", "%3b", ";").Replace(address)
}

type hubSpotEvent struct {
	ObjectID         id     `json:"objectId"`
	PropertyName     string `json:"propertyName"`
	PropertyValue    any    `json:"propertyValue"`
	ChangeSource     string `json:"changeSource"`
	EventID          id     `json:"eventId"`
	SubscriptionID   id     `json:"subscriptionId"`
	PortalID         id     `json:"portalId"`
	OccurredAt       int64  `json:"occurredAt"`
	SubscriptionType string `json:"subscriptionType"`
	SourceID         string `json:"sourceId"`

	// Of a workflow, which sends the object itself.
	VID        id             `json:"vid"`
	Properties map[string]any `json:"properties"`

	raw []byte
}

const maxHubSpotEvents = 1000

// readHubSpot reads a list of events or a single one.
func readHubSpot(body []byte) ([]hubSpotEvent, error) {
	var raws []json.RawMessage
	if json.Unmarshal(body, &raws) != nil {
		raws = []json.RawMessage{body}
	}
	if len(raws) > maxHubSpotEvents {
		return nil, event.ErrDelivery
	}
	out := make([]hubSpotEvent, 0, len(raws))
	for _, raw := range raws {
		e := hubSpotEvent{}
		if err := decode(raw, &e); err != nil {
			return nil, err
		}
		e.raw = raw
		out = append(out, e)
	}
	return out, nil
}

func receiveHubSpot(_ context.Context, r *event.Request, _ connectors.Settings, _ string) (event.Delivery, error) {
	all, err := readHubSpot(r.Body)
	if err != nil {
		return event.Delivery{}, err
	}
	var d event.Delivery
	for _, h := range all {
		o := h.object()
		e := event.Event{Type: h.name(), Summary: summary(o.Kind, o.ID, o.Action, h.PropertyName), Body: h.raw}
		if h.SubscriptionType == "" {
			// A workflow names no event; its body is the object.
			e.ID = digest("workflow", string(h.raw))
		} else {
			// eventId alone is not unique.
			e.ID = strings.Join([]string{string(h.PortalID), string(h.SubscriptionID), string(h.EventID), strconv.FormatInt(h.OccurredAt, 10)}, ":")
			if len(e.ID) > 150 {
				e.ID = digest(e.ID)
			}
		}
		if h.OccurredAt > 0 {
			e.At = time.UnixMilli(h.OccurredAt).UTC()
		}
		d.Events = append(d.Events, e)
	}
	return d, nil
}

func (h hubSpotEvent) name() string { return orElse(h.SubscriptionType, "workflow") }

func (h hubSpotEvent) object() *event.Object {
	kind, action, _ := strings.Cut(h.name(), ".")
	o := &event.Object{Kind: kind, Action: action, ID: string(h.ObjectID), Actor: event.Actor{ID: h.SourceID}, Fields: map[string]any{}}
	if h.SubscriptionType == "" {
		o.Kind, o.Action, o.ID, o.Fields = "object", "workflow", orElse(string(h.ObjectID), string(h.VID)), h.Properties
		return o
	}
	if h.PropertyName != "" {
		o.Fields["property"], o.Fields["value"] = h.PropertyName, h.PropertyValue
	}
	if h.ChangeSource != "" {
		o.Fields["changeSource"] = h.ChangeSource
	}
	o.Parent = string(h.PortalID)
	return o
}
