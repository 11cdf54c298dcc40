package sharepointserver

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"
)

func (c *call) user(name string) *User {
	for _, u := range c.users {
		if u.ID == name || strings.EqualFold(u.UPN, name) {
			return u
		}
	}
	return nil
}

func userObject(u *User) object {
	out := object{"@odata.type": "#microsoft.graph.user", "id": u.ID, "displayName": u.DisplayName, "mail": nil, "userPrincipalName": u.UPN}
	if u.Mail != "" {
		out["mail"] = u.Mail
	}
	return out
}

func (c *call) serveUsers(rest string) {
	name, action, _ := strings.Cut(rest, "/")
	switch u := c.user(unescape(name)); {
	case rest == "":
		if !c.allows("User.Read.All") {
			return
		}
		var all []any
		for _, u := range c.users {
			all = append(all, userObject(u))
		}
		c.page(all, c.path)
	case u == nil:
		c.refuse(http.StatusNotFound, "Request_ResourceNotFound", "Resource does not exist or one of its queried reference-property objects are not present.")
	case action == "drive":
		c.oneDrive(u)
	case action == "":
		if c.allows("User.Read.All") {
			c.answer(http.StatusOK, userObject(u))
		}
	default:
		c.notFound()
	}
}

func (c *call) oneDrive(u *User) {
	for _, d := range c.drives {
		if d.owner == u.ID {
			c.answer(http.StatusOK, c.driveObject(d))
			return
		}
	}
	c.refuse(http.StatusNotFound, "ResourceNotFound", "User's mysite not found.")
}

func (c *call) serveMe(rest string) {
	u := c.user(c.token.user)
	if u == nil || rest != "drive" {
		c.notFound()
		return
	}
	c.oneDrive(u)
}

func (c *call) group(id string) *Group {
	for _, g := range c.groups {
		if strings.EqualFold(g.ID, id) {
			return g
		}
	}
	return nil
}

func (c *call) serveGroups(rest string) {
	id, action, _ := strings.Cut(rest, "/")
	if !c.allows("GroupMember.Read.All") {
		return
	}
	g := c.group(unescape(id))
	if g == nil {
		c.refuse(http.StatusNotFound, "Request_ResourceNotFound", "Resource '"+id+"' does not exist or one of its queried reference-property objects are not present.")
		return
	}
	var all []any
	if action == "owners" {
		for _, id := range g.Owners {
			if u := c.user(id); u != nil {
				all = append(all, userObject(u))
			}
		}
		c.page(all, c.path)
		return
	}
	seen := map[string]bool{g.ID: true}
	var add func(g *Group)
	add = func(g *Group) {
		for _, id := range g.Members {
			if seen[id] {
				continue
			}
			seen[id] = true
			if u := c.user(id); u != nil {
				all = append(all, userObject(u))
			} else if nested := c.group(id); nested != nil {
				all = append(all, object{"@odata.type": "#microsoft.graph.group", "id": nested.ID, "displayName": nested.Name, "mail": nested.Name + "@acme.example"})
				if action == "transitiveMembers" {
					add(nested)
				}
			}
		}
	}
	add(g)
	c.page(all, c.path)
}

// A Subscription is a registration for notifications.
type Subscription struct {
	ID, Resource, NotificationURL, LifecycleURL, ClientState string
	Expires                                                  time.Time
	app                                                      *App
}

// Subscriptions returns the subscriptions.
func (s *Server) Subscriptions() []Subscription {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	var all []Subscription
	for _, one := range s.subscriptions {
		all = append(all, *one)
	}
	return all
}

// RemoveSubscriptions ends all subscriptions, as the platform may.
func (s *Server) RemoveSubscriptions() {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	s.subscriptions = nil
}

func (sub *Subscription) object() object {
	return object{
		"id": sub.ID, "resource": sub.Resource, "changeType": "updated", "notificationUrl": sub.NotificationURL, "lifecycleNotificationUrl": sub.LifecycleURL,
		"expirationDateTime": sub.Expires.UTC().Format("2006-01-02T15:04:05.0000000Z"), "clientState": nil, "applicationId": sub.app.ClientID,
	}
}

// maxSubscription is the longest life of a subscription to a library.
const maxSubscription = 42_300 * time.Minute

// serveSubscriptions answers without the lock while it validates an address.
func (c *call) serveSubscriptions(id string) {
	var in struct {
		ChangeType, NotificationURL, LifecycleNotificationURL, Resource, ClientState string
		ExpirationDateTime                                                           time.Time
	}
	if (c.r.Method == http.MethodPost || c.r.Method == http.MethodPatch) && json.Unmarshal(c.body, &in) != nil {
		c.refuse(http.StatusBadRequest, "BadRequest", "Unable to read JSON request payload.")
		return
	}
	tooLong := time.Until(in.ExpirationDateTime) > maxSubscription
	if c.r.Method == http.MethodPost && id == "" {
		switch {
		case in.ChangeType != "updated" || in.NotificationURL == "" || !strings.HasSuffix(in.Resource, "/root"):
			c.refuse(http.StatusBadRequest, "InvalidRequest", "Subscription is not valid.")
			return
		case tooLong || in.ExpirationDateTime.IsZero():
			c.refuse(http.StatusBadRequest, "InvalidRequest", "Subscription expiration can only be 42300 minutes in the future.")
			return
		case len(in.ClientState) > 128:
			c.refuse(http.StatusBadRequest, "InvalidRequest", "clientState is too long.")
			return
		}
		for _, address := range []string{in.NotificationURL, in.LifecycleNotificationURL} {
			if address != "" && !c.validates(address) {
				c.refuse(http.StatusBadRequest, "ValidationError", "Subscription validation request failed. Notification endpoint must respond with 200 OK to validation request.")
				return
			}
		}
	}
	c.mutex.Lock()
	defer c.mutex.Unlock()
	index := slices.IndexFunc(c.subscriptions, func(sub *Subscription) bool { return sub.ID == id })
	switch {
	case c.r.Method == http.MethodGet && id == "":
		var all []any
		for _, sub := range c.subscriptions {
			all = append(all, sub.object())
		}
		c.page(all, "subscriptions")
	case c.r.Method == http.MethodPost && id == "":
		drive := strings.TrimSuffix(strings.TrimPrefix(strings.TrimPrefix(in.Resource, "/"), "drives/"), "/root")
		d := c.drives[drive]
		if d == nil {
			c.notFound()
			return
		}
		if status := c.lockOf(d); status != 0 {
			c.locked(status)
			return
		}
		sub := &Subscription{
			ID: fmt.Sprintf("77777777-0000-4000-8000-%012d", c.next()), Resource: in.Resource, NotificationURL: in.NotificationURL, LifecycleURL: in.LifecycleNotificationURL,
			ClientState: in.ClientState, Expires: in.ExpirationDateTime, app: c.token.app,
		}
		c.subscriptions = append(c.subscriptions, sub)
		c.answer(http.StatusCreated, sub.object())
	case index < 0:
		c.refuse(http.StatusNotFound, "ResourceNotFound", "The object was not found.")
	case c.r.Method == http.MethodPatch && !tooLong:
		c.subscriptions[index].Expires = in.ExpirationDateTime
		c.answer(http.StatusOK, c.subscriptions[index].object())
	case c.r.Method == http.MethodDelete:
		c.subscriptions = slices.Delete(c.subscriptions, index, index+1)
		c.w.WriteHeader(http.StatusNoContent)
	default:
		c.refuse(http.StatusBadRequest, "InvalidRequest", "Subscription is not valid.")
	}
}

// validates reports whether an address returns the validation token as plain text.
func (c *call) validates(address string) bool {
	const token = "Validation: Testing client application reachability for subscription Request-Id: 522a8e7e-096a-494c-aaf1-ac0dcfca45b7"
	target := address + "?validationToken=" + url.QueryEscape(token)
	request, err := http.NewRequestWithContext(c.r.Context(), http.MethodPost, target, http.NoBody)
	if err != nil {
		return false
	}
	request.Header.Set("Content-Type", "text/plain; charset=utf-8")
	response, err := c.client.Do(request)
	if err != nil {
		return false
	}
	defer func() { _ = response.Body.Close() }()
	text, err := io.ReadAll(io.LimitReader(response.Body, 4096))
	return err == nil && response.StatusCode == http.StatusOK && string(text) == token && strings.HasPrefix(response.Header.Get("Content-Type"), "text/plain")
}

// Notifications returns the bodies of the notifications of a change in a library, by
// address.
func (s *Server) Notifications(drive string) map[string][]byte {
	return s.notifications(func(sub *Subscription) (string, object) {
		if sub.Resource != "/drives/"+drive+"/root" {
			return "", nil
		}
		return sub.NotificationURL, object{
			"subscriptionId": sub.ID, "clientState": sub.ClientState, "expirationDateTime": sub.Expires.UTC().Format("2006-01-02T15:04:05.0000000Z"),
			"resource": strings.TrimPrefix(sub.Resource, "/"), "tenantId": Tenant, "changeType": "updated", "resourceData": object{"@odata.type": "#Microsoft.Graph.DriveItem"},
		}
	})
}

// Lifecycle returns the bodies of a lifecycle event of all subscriptions, by address.
func (s *Server) Lifecycle(event string) map[string][]byte {
	return s.notifications(func(sub *Subscription) (string, object) {
		return sub.LifecycleURL, object{
			"subscriptionId": sub.ID, "subscriptionExpirationDateTime": sub.Expires.UTC().Format(time.RFC3339), "tenantId": Tenant,
			"clientState": sub.ClientState, "lifecycleEvent": event,
		}
	})
}

func (s *Server) notifications(of func(sub *Subscription) (string, object)) map[string][]byte {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	values := map[string][]object{}
	for _, sub := range s.subscriptions {
		if address, value := of(sub); value != nil {
			values[address] = append(values[address], value)
		}
	}
	bodies := map[string][]byte{}
	for address, list := range values {
		bodies[address], _ = json.Marshal(object{"value": list})
	}
	return bodies
}

// Deliver sends bodies to their addresses.
func (s *Server) Deliver(ctx context.Context, bodies map[string][]byte) error {
	for address, body := range bodies {
		request, err := http.NewRequestWithContext(ctx, http.MethodPost, address, bytes.NewReader(body))
		if err != nil {
			return fmt.Errorf("make a delivery: %w", err)
		}
		request.Header.Set("Content-Type", "application/json; charset=utf-8")
		response, err := s.client.Do(request)
		if err != nil {
			return fmt.Errorf("deliver: %w", err)
		}
		_ = response.Body.Close()
		if response.StatusCode/100 != 2 {
			return fmt.Errorf("the delivery was answered with %d", response.StatusCode)
		}
	}
	return nil
}

// SetExpiry sets when a subscription expires.
func (s *Server) SetExpiry(id string, expires time.Time) {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	for _, sub := range s.subscriptions {
		if sub.ID == id {
			sub.Expires = expires
		}
	}
}
