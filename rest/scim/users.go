package scim

import (
	"net/http"
	"strings"
	"time"

	"github.com/google/uuid"

	"github.com/magpie-search/magpie/internal/identity/people"
)

// userBody is a user as it is sent.
type userBody struct {
	Schemas     []string    `json:"schemas"`
	ID          string      `json:"id"`
	ExternalID  string      `json:"externalId,omitempty"`
	UserName    string      `json:"userName"`
	Name        *nameBody   `json:"name,omitempty"`
	DisplayName string      `json:"displayName,omitempty"`
	Active      bool        `json:"active"`
	Emails      []valueBody `json:"emails,omitempty"`
	Roles       []valueBody `json:"roles,omitempty"`
	Groups      []valueBody `json:"groups,omitempty"`
	Meta        metaBody    `json:"meta"`
}

type nameBody struct {
	Formatted  string `json:"formatted,omitempty"`
	GivenName  string `json:"givenName,omitempty"`
	FamilyName string `json:"familyName,omitempty"`
}

type valueBody struct {
	Value   string `json:"value"`
	Ref     string `json:"$ref,omitempty"`
	Display string `json:"display,omitempty"`
	Type    string `json:"type,omitempty"`
	Primary bool   `json:"primary,omitempty"`
}

type metaBody struct {
	ResourceType string    `json:"resourceType"`
	Created      time.Time `json:"created,omitzero"`
	LastModified time.Time `json:"lastModified,omitzero"`
	Location     string    `json:"location"`
}

func (x *exchange) userBody(u people.DirectoryUser) userBody {
	out := userBody{
		Schemas: []string{coreUser}, ID: u.ID.String(), ExternalID: u.ExternalID, UserName: u.UserName, DisplayName: u.DisplayName, Active: u.Active,
		Emails: []valueBody{{Value: u.Email, Type: "work", Primary: true}}, Roles: []valueBody{{Value: string(u.Role), Primary: true}},
		Meta: metaBody{ResourceType: "User", Created: u.CreatedAt.UTC(), LastModified: u.UpdatedAt.UTC(), Location: x.location("Users", u.ID)},
	}
	if u.GivenName != "" || u.FamilyName != "" {
		out.Name = &nameBody{Formatted: strings.TrimSpace(u.GivenName + " " + u.FamilyName), GivenName: u.GivenName, FamilyName: u.FamilyName}
	}
	if !x.excludes("groups") {
		for _, g := range u.Groups {
			out.Groups = append(out.Groups, valueBody{Value: g.ID.String(), Ref: x.location("Groups", g.ID), Display: g.Name, Type: "direct"})
		}
	}
	return out
}

func (x *exchange) sendUser(status int, u people.DirectoryUser, err error) error {
	if err != nil {
		return err
	}
	if status == http.StatusCreated {
		x.w.Header().Set("Location", x.location("Users", u.ID))
	}
	return x.sendResource(status, x.userBody(u))
}

func (x *exchange) listUsers() error {
	start, count, err := x.page()
	if err != nil {
		return err
	}
	compared, err := parseFilter(x.r.URL.Query().Get("filter"))
	if err != nil {
		return err
	}
	var f people.DirectoryUserFilter
	for name, value := range compared {
		switch name {
		case "username":
			f.UserName = value
		case "externalid":
			f.ExternalID = value
		case "emails", "emails.value":
			f.Email = value
		case "emails.type":
			if !strings.EqualFold(value, "work") {
				return x.sendList(nil, start, 0)
			}
		case "id":
			id, err := uuid.Parse(value)
			if err != nil {
				return x.sendList(nil, start, 0)
			}
			f.ID = &id
		default:
			return filterError("Users are found by userName, externalId, emails.value and id")
		}
		if value == "" {
			return x.sendList(nil, start, 0) // nobody has an empty one
		}
	}
	rows, total, err := x.h.opt.Directory.Users(x.r.Context(), f, start-1, count)
	if err != nil {
		return err
	}
	resources := make([]any, len(rows))
	for i, u := range rows {
		resources[i] = x.userBody(u)
	}
	return x.sendList(resources, start, total)
}

func (x *exchange) getUser(id uuid.UUID) error {
	u, err := x.h.opt.Directory.User(x.r.Context(), id)
	return x.sendUser(http.StatusOK, u, err)
}

func (x *exchange) createUser() error {
	body, err := x.read()
	if err != nil {
		return err
	}
	draft := people.DirectoryUserDraft{Active: true}
	if err := fillUser(body, &draft); err != nil {
		return err
	}
	u, err := x.h.opt.Directory.CreateUser(x.r.Context(), draft)
	return x.sendUser(http.StatusCreated, u, err)
}

func (x *exchange) replaceUser(id uuid.UUID) error {
	body, err := x.read()
	if err != nil {
		return err
	}
	u, err := x.h.opt.Directory.UpdateUser(x.r.Context(), id, func(draft *people.DirectoryUserDraft) error {
		*draft = people.DirectoryUserDraft{Email: draft.Email, Active: draft.Active}
		return fillUser(body, draft)
	})
	return x.sendUser(http.StatusOK, u, err)
}

func (x *exchange) patchUser(id uuid.UUID) error {
	body, err := x.read()
	if err != nil {
		return err
	}
	changes, err := operationsOf(body)
	if err != nil {
		return err
	}
	u, err := x.h.opt.Directory.UpdateUser(x.r.Context(), id, func(draft *people.DirectoryUserDraft) error {
		for _, o := range changes {
			if err := changeUser(draft, o); err != nil {
				return err
			}
		}
		return nil
	})
	return x.sendUser(http.StatusOK, u, err)
}

func (x *exchange) deleteUser(id uuid.UUID) error {
	if err := x.h.opt.Directory.DeleteUser(x.r.Context(), id); err != nil {
		return err
	}
	x.w.WriteHeader(http.StatusNoContent)
	return nil
}

// fillUser copies the attributes of a whole user.
func fillUser(body object, draft *people.DirectoryUserDraft) error {
	for key, value := range body {
		if strings.HasPrefix(strings.ToLower(key), "urn:") {
			continue // an extension
		}
		if strings.EqualFold(key, "emails") {
			draft.Email = emailOf(value)
			continue
		}
		if err := changeUser(draft, operation{op: "replace", attribute: strings.ToLower(key), value: value}); err != nil {
			return err
		}
	}
	return nil
}

// emailOf returns the primary one of the addresses, or else the one for work or the
// first.
func emailOf(value any) string {
	list, _ := value.([]any)
	best, rank := "", 0
	for _, item := range list {
		fields, ok := item.(map[string]any)
		if !ok {
			continue
		}
		of := object(fields)
		address, _ := of.get("value")
		text, _ := address.(string)
		kind, _ := of.get("type")
		name, _ := kind.(string)
		primary, _ := of.get("primary")
		first, _ := boolean("primary", primary)
		score := 1
		switch {
		case first:
			score = 3
		case strings.EqualFold(name, "work"):
			score = 2
		}
		if text != "" && score > rank {
			best, rank = text, score
		}
	}
	return best
}

// changeUser applies an operation. Attributes that Magpie does not keep are ignored, and
// so is the email address, which belongs to the account.
func changeUser(draft *people.DirectoryUserDraft, o operation) error {
	text := map[string]*string{
		"username": &draft.UserName, "externalid": &draft.ExternalID, "displayname": &draft.DisplayName,
		"name.givenname": &draft.GivenName, "name.familyname": &draft.FamilyName,
	}
	if into := text[o.attribute]; into != nil {
		value, err := o.text()
		if err == nil {
			*into = value
		}
		return err
	}
	switch o.attribute {
	case "active":
		if o.op == "remove" {
			return valueError("active cannot be removed; replace it with false")
		}
		active, err := boolean("active", o.value)
		if err == nil {
			draft.Active = active
		}
		return err
	case "name":
		if o.op == "remove" || o.value == nil {
			draft.GivenName, draft.FamilyName = "", ""
			return nil
		}
		fields, ok := o.value.(map[string]any)
		if !ok {
			return valueError("name must be an object")
		}
		for key, value := range fields {
			if err := changeUser(draft, operation{op: o.op, attribute: "name." + strings.ToLower(key), value: value}); err != nil {
				return err
			}
		}
	case "name.formatted":
		if value, err := o.text(); err == nil && draft.DisplayName == "" {
			draft.DisplayName = value
		}
	}
	return nil
}
