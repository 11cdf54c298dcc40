package platform

import (
	"bytes"
	"context"
	"encoding/json"
	"encoding/xml"
	"errors"
	"io"
	"strings"
	"time"

	"github.com/magpie-search/magpie/connectors"
	"github.com/magpie-search/magpie/internal/event"
)

// Salesforce returns the provider of Salesforce's outbound messages and flow callouts.
func Salesforce() event.Provider {
	return event.Provider{
		Family: event.Events, Name: "salesforce", Title: "Salesforce", Description: "Records of flows and of outbound messages.",
		Documentation: "https://developer.salesforce.com/docs/atlas.en-us.api.meta/api/sforce_api_om_outboundmessaging.htm",
		Options: []connectors.Option{{
			Name: "organization_id", Title: "Organization id", Type: connectors.TypeString, Required: true, Example: "00D5g000004xyzAEAQ",
			Help: "Setup, Company Information. Outbound messages of another organization are refused.",
			Check: func(v any) error {
				if text, _ := v.(string); len(text) != 15 && len(text) != 18 {
					return errors.New("must have 15 or 18 characters")
				}
				return nil
			},
		}},
		Credentials: []connectors.Option{secretOption("Token", "The token of the address, and the bearer token of callouts. Leave it empty to have one made.")},
		Secret:      secretName, Generated: true, TokenInQuery: true,
		Hint: "Outbound message: paste the address, which has the token, as endpoint. Flow: an HTTP callout to the address without ?token=, with the header Authorization: Bearer and the token, and a body with organizationId, id, type and the fields.",
		Keys: func(s connectors.Settings) []string { return keys(shortID(s.String("organization_id"))) },
		Route: func(r *event.Request) ([]string, error) {
			all, err := readSalesforce(r.Body)
			if err != nil || len(all) == 0 {
				return nil, event.ErrDelivery
			}
			return keys(shortID(all[0].Organization)), nil
		},
		Verify: verifySalesforce, Receive: receiveSalesforce,
		Read: func(p event.Payload) (event.Content, error) {
			var n notification
			err := decode(p.Body, &n)
			return event.Content{Object: n.object()}, err
		},
	}
}

// shortID returns the 15 characters of an id that identify it; the others are a checksum.
func shortID(id string) string {
	if id = strings.TrimSpace(id); len(id) == 18 {
		return id[:15]
	}
	return id
}

func verifySalesforce(_ context.Context, r *event.Request, s connectors.Settings, secret string, _ time.Time) error {
	given := event.Bearer(r.Header)
	if given == "" {
		given = r.Query.Get("token")
	}
	if given == "" {
		return event.Refuse("the token is missing")
	}
	if !event.Same(given, secret) {
		return event.Refuse("the token does not match")
	}
	all, err := readSalesforce(r.Body)
	if err != nil {
		return nil //nolint:nilerr // Receive reports it
	}
	for _, n := range all {
		if shortID(n.Organization) != shortID(s.String("organization_id")) {
			return event.Refuse("the message is of another organization")
		}
	}
	return nil
}

// notification is one record of a message, in the form that is kept.
type notification struct {
	Organization string         `json:"organizationId"`
	ID           string         `json:"notificationId"`
	Type         string         `json:"type"`
	Record       string         `json:"id"`
	Action       string         `json:"action,omitempty"`
	Fields       map[string]any `json:"fields,omitempty"`
}

// Limits of outbound messages: Salesforce sends at most 100 notifications.
const (
	maxNotifications = 200
	maxXMLDepth      = 12
	maxXMLFields     = 2000
)

// readSalesforce reads an outbound message or the JSON of a callout.
func readSalesforce(body []byte) ([]notification, error) {
	if trimmed := bytes.TrimSpace(body); len(trimmed) == 0 || trimmed[0] != '<' {
		var n notification
		if err := decode(body, &n); err != nil {
			return nil, err
		}
		return []notification{n}, nil
	}
	return readOutboundMessage(body)
}

// element is a part of an XML document. encoding/xml expands no entities of a document.
type element struct {
	name     string
	typ      string // the attribute xsi:type
	text     strings.Builder
	children []*element
}

func (e *element) child(name string) *element {
	for _, c := range e.children {
		if c.name == name {
			return c
		}
	}
	return &element{}
}

func (e *element) value() string { return strings.TrimSpace(e.text.String()) }

// parseXML reads a document of limited depth and size.
func parseXML(body []byte) (*element, error) {
	d := xml.NewDecoder(bytes.NewReader(body))
	root := &element{}
	stack := []*element{root}
	count := 0
	for {
		token, err := d.Token()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return nil, event.ErrDelivery
		}
		top := stack[len(stack)-1]
		switch token := token.(type) {
		case xml.Directive:
			return nil, event.ErrDelivery // a document type
		case xml.StartElement:
			if count++; len(stack) > maxXMLDepth || count > maxNotifications*maxXMLFields {
				return nil, event.ErrDelivery
			}
			e := &element{name: token.Name.Local}
			for _, a := range token.Attr {
				if a.Name.Local == "type" {
					_, e.typ, _ = strings.Cut(a.Value, ":")
				}
			}
			top.children = append(top.children, e)
			stack = append(stack, e)
		case xml.EndElement:
			stack = stack[:len(stack)-1]
		case xml.CharData:
			_, _ = top.text.Write(token)
		}
	}
	return root, nil
}

func readOutboundMessage(body []byte) ([]notification, error) {
	root, err := parseXML(body)
	if err != nil {
		return nil, err
	}
	message := root.child("Envelope").child("Body").child("notifications")
	organization := message.child("OrganizationId").value()
	if organization == "" {
		return nil, event.ErrDelivery
	}
	var out []notification
	for _, c := range message.children {
		if c.name != "Notification" {
			continue
		}
		object := c.child("sObject")
		n := notification{Organization: organization, ID: c.child("Id").value(), Type: object.typ, Fields: map[string]any{}}
		for _, field := range object.children {
			if field.name == "Id" {
				n.Record = field.value()
				continue
			}
			n.Fields[field.name] = field.value()
		}
		if out = append(out, n); len(out) > maxNotifications || n.ID == "" {
			return nil, event.ErrDelivery
		}
	}
	if len(out) == 0 {
		return nil, event.ErrDelivery
	}
	return out, nil
}

// ack is the response without which Salesforce sends an outbound message again.
const ack = `<?xml version="1.0" encoding="UTF-8"?>
<soapenv:Envelope xmlns:soapenv="http://schemas.xmlsoap.org/soap/envelope/"><soapenv:Body><notificationsResponse xmlns="http://soap.sforce.com/2005/09/outbound"><Ack>true</Ack></notificationsResponse></soapenv:Body></soapenv:Envelope>
`

func receiveSalesforce(_ context.Context, r *event.Request, _ connectors.Settings, _ string) (event.Delivery, error) {
	all, err := readSalesforce(r.Body)
	if err != nil {
		return event.Delivery{}, err
	}
	var d event.Delivery
	if trimmed := bytes.TrimSpace(r.Body); trimmed[0] == '<' {
		d.Answer = &event.Answer{ContentType: "text/xml; charset=utf-8", Body: []byte(ack)}
	}
	for _, n := range all {
		body, err := json.Marshal(n)
		if err != nil {
			return event.Delivery{}, event.ErrDelivery
		}
		if n.ID == "" {
			n.ID = digest(string(r.Body))
		}
		o := n.object()
		d.Events = append(d.Events, event.Event{ID: n.ID, Type: o.Kind + "." + o.Action, Summary: summary(o.Kind, o.ID, o.Action+":", o.Title), Body: body})
	}
	return d, nil
}

func (n notification) object() *event.Object {
	o := &event.Object{Kind: orElse(n.Type, "record"), ID: n.Record, Action: orElse(n.Action, "changed"), Fields: n.Fields, Parent: n.Organization}
	for _, name := range []string{"Name", "Subject", "CaseNumber"} {
		if text, ok := n.Fields[name].(string); ok && o.Title == "" {
			o.Title = text
		}
	}
	o.Text, _ = n.Fields["Description"].(string)
	return o
}
