package scim

import (
	"net/http"
	"slices"
	"strings"

	"github.com/google/uuid"

	"github.com/magpie-search/magpie/internal/identity/people"
)

// groupBody is a group as it is sent.
type groupBody struct {
	Schemas     []string    `json:"schemas"`
	ID          string      `json:"id"`
	ExternalID  string      `json:"externalId,omitempty"`
	DisplayName string      `json:"displayName"`
	Members     []valueBody `json:"members,omitempty"`
	Meta        metaBody    `json:"meta"`
}

func (x *exchange) groupBody(g people.DirectoryGroup) groupBody {
	out := groupBody{
		Schemas: []string{coreGroup}, ID: g.ID.String(), ExternalID: g.ExternalID, DisplayName: g.Name,
		Meta: metaBody{ResourceType: "Group", Created: g.CreatedAt.UTC(), LastModified: g.UpdatedAt.UTC(), Location: x.location("Groups", g.ID)},
	}
	if !x.excludes("members") {
		for _, m := range g.Members {
			out.Members = append(out.Members, valueBody{Value: m.ID.String(), Ref: x.location("Users", m.ID), Display: m.Name, Type: "User"})
		}
	}
	return out
}

func (x *exchange) sendGroup(status int, g people.DirectoryGroup, err error) error {
	if err != nil {
		return err
	}
	if status == http.StatusCreated {
		x.w.Header().Set("Location", x.location("Groups", g.ID))
	}
	return x.sendResource(status, x.groupBody(g))
}

func (x *exchange) listGroups() error {
	start, count, err := x.page()
	if err != nil {
		return err
	}
	compared, err := parseFilter(x.r.URL.Query().Get("filter"))
	if err != nil {
		return err
	}
	var f people.DirectoryGroupFilter
	for name, value := range compared {
		switch name {
		case "displayname":
			f.Name = value
		case "externalid":
			f.ExternalID = value
		case "id", "members", "members.value":
			id, err := uuid.Parse(value)
			if err != nil {
				return x.sendList(nil, start, 0)
			}
			if name == "id" {
				f.ID = &id
			} else {
				f.Member = &id
			}
		default:
			return filterError("Groups are found by displayName, externalId, members.value and id")
		}
		if value == "" {
			return x.sendList(nil, start, 0)
		}
	}
	rows, total, err := x.h.opt.Directory.Groups(x.r.Context(), f, start-1, count, !x.excludes("members"))
	if err != nil {
		return err
	}
	resources := make([]any, len(rows))
	for i, g := range rows {
		resources[i] = x.groupBody(g)
	}
	return x.sendList(resources, start, total)
}

func (x *exchange) getGroup(id uuid.UUID) error {
	g, err := x.h.opt.Directory.Group(x.r.Context(), id)
	return x.sendGroup(http.StatusOK, g, err)
}

func (x *exchange) createGroup() error {
	body, err := x.read()
	if err != nil {
		return err
	}
	var draft people.DirectoryGroupDraft
	if err := fillGroup(body, &draft); err != nil {
		return err
	}
	g, err := x.h.opt.Directory.CreateGroup(x.r.Context(), draft)
	return x.sendGroup(http.StatusCreated, g, err)
}

func (x *exchange) replaceGroup(id uuid.UUID) error {
	body, err := x.read()
	if err != nil {
		return err
	}
	g, err := x.h.opt.Directory.UpdateGroup(x.r.Context(), id, func(draft *people.DirectoryGroupDraft) error {
		*draft = people.DirectoryGroupDraft{}
		return fillGroup(body, draft)
	})
	return x.sendGroup(http.StatusOK, g, err)
}

func (x *exchange) patchGroup(id uuid.UUID) error {
	body, err := x.read()
	if err != nil {
		return err
	}
	changes, err := operationsOf(body)
	if err != nil {
		return err
	}
	g, err := x.h.opt.Directory.UpdateGroup(x.r.Context(), id, func(draft *people.DirectoryGroupDraft) error {
		for _, o := range changes {
			if err := changeGroup(draft, o); err != nil {
				return err
			}
		}
		return nil
	})
	return x.sendGroup(http.StatusOK, g, err)
}

func (x *exchange) deleteGroup(id uuid.UUID) error {
	if err := x.h.opt.Directory.DeleteGroup(x.r.Context(), id); err != nil {
		return err
	}
	x.w.WriteHeader(http.StatusNoContent)
	return nil
}

func fillGroup(body object, draft *people.DirectoryGroupDraft) error {
	for key, value := range body {
		if strings.HasPrefix(strings.ToLower(key), "urn:") {
			continue // an extension
		}
		if err := changeGroup(draft, operation{op: "replace", attribute: strings.ToLower(key), value: value}); err != nil {
			return err
		}
	}
	return nil
}

// changeGroup applies an operation. Attributes that Magpie does not keep are ignored.
func changeGroup(draft *people.DirectoryGroupDraft, o operation) error {
	switch o.attribute {
	case "displayname":
		value, err := o.text()
		if err == nil {
			draft.Name = value
		}
		return err
	case "externalid":
		value, err := o.text()
		if err == nil {
			draft.ExternalID = value
		}
		return err
	case "members":
		return changeMembers(draft, o)
	}
	return nil
}

func changeMembers(draft *people.DirectoryGroupDraft, o operation) error {
	if o.selector != nil { // members[value eq "…"], which Okta and Entra ID remove
		compared := map[string]string{}
		if err := comparisons(o.selector, "", compared); err != nil {
			return err
		}
		id, err := uuid.Parse(compared["value"])
		if o.op != "remove" || len(compared) != 1 {
			return pathError(`Members are selected by members[value eq "…"], and only to remove them`)
		}
		if err == nil { // nobody has another text
			draft.Members = slices.DeleteFunc(draft.Members, func(m uuid.UUID) bool { return m == id })
		}
		return nil
	}
	ids, err := memberIDs(o)
	if err != nil {
		return err
	}
	switch {
	case o.op == "add":
		draft.Members = append(draft.Members, ids...)
	case o.op == "replace":
		draft.Members = ids
	case o.value == nil:
		draft.Members = nil
	default:
		draft.Members = slices.DeleteFunc(draft.Members, func(m uuid.UUID) bool { return slices.Contains(ids, m) })
	}
	return nil
}

// memberIDs returns the IDs in a value: a list of objects with value, or one of them.
func memberIDs(o operation) ([]uuid.UUID, error) {
	list, ok := o.value.([]any)
	if !ok && o.value != nil {
		list = []any{o.value}
	}
	ids := make([]uuid.UUID, 0, len(list))
	for _, item := range list {
		text, _ := item.(string)
		if fields, ok := item.(map[string]any); ok {
			value, _ := object(fields).get("value")
			text, _ = value.(string)
		}
		id, err := uuid.Parse(text)
		if err != nil {
			if o.op == "remove" {
				continue // it is no member
			}
			return nil, valueError("members must have the ids of users as their values")
		}
		ids = append(ids, id)
	}
	return ids, nil
}
