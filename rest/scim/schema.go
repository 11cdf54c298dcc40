package scim

import (
	"net/http"
	"strings"

	"github.com/magpie-search/magpie/internal/apierr"
)

// describe sends what the interface can do, its kinds of resources or their attributes.
func (x *exchange) describe(kind, id string) error {
	if x.r.Method != http.MethodGet {
		return x.notAllowed("GET")
	}
	if x.r.URL.Query().Get("filter") != "" {
		return apierr.New(apierr.Forbidden, "This list has no filters") // RFC 7644, section 4
	}
	switch kind {
	case "ServiceProviderConfig":
		if id != "" {
			return apierr.NotFound("Resource")
		}
		return x.send(http.StatusOK, x.config())
	case "ResourceTypes":
		return x.described(x.resourceTypes(), "name", id)
	default:
		return x.described(x.schemas(), "id", id)
	}
}

// described sends a list of descriptions, or the one with a name.
func (x *exchange) described(all []map[string]any, key, id string) error {
	resources := make([]any, 0, len(all))
	for _, d := range all {
		if id != "" && strings.EqualFold(d[key].(string), id) {
			return x.send(http.StatusOK, d)
		}
		resources = append(resources, d)
	}
	if id != "" {
		return apierr.NotFound("Resource")
	}
	return x.sendList(resources, 1, len(resources))
}

func (x *exchange) config() map[string]any {
	no := map[string]any{"supported": false}
	return map[string]any{
		"schemas": []string{"urn:ietf:params:scim:schemas:core:2.0:ServiceProviderConfig"},
		"patch":   map[string]any{"supported": true}, "changePassword": no, "sort": no, "etag": no,
		"bulk":   map[string]any{"supported": false, "maxOperations": 0, "maxPayloadSize": 0},
		"filter": map[string]any{"supported": true, "maxResults": maxResults},
		"authenticationSchemes": []any{map[string]any{
			"type": "oauthbearertoken", "name": "Service token", "description": "A service token of Magpie with the role admin and the group SCIM", "primary": true,
		}},
		"meta": map[string]any{"resourceType": "ServiceProviderConfig", "location": x.h.opt.BaseURL + Root + "/ServiceProviderConfig"},
	}
}

func (x *exchange) resourceTypes() []map[string]any {
	one := func(name, schema string) map[string]any {
		return map[string]any{
			"schemas": []string{"urn:ietf:params:scim:schemas:core:2.0:ResourceType"}, "id": name, "name": name, "endpoint": "/" + name + "s", "schema": schema,
			"meta": map[string]any{"resourceType": "ResourceType", "location": x.h.opt.BaseURL + Root + "/ResourceTypes/" + name},
		}
	}
	return []map[string]any{one("User", coreUser), one("Group", coreGroup)}
}

// attribute describes an attribute.
func attribute(name, kind, mutability string, more map[string]any) map[string]any {
	out := map[string]any{
		"name": name, "type": kind, "multiValued": false, "required": false, "caseExact": false, "mutability": mutability, "returned": "default", "uniqueness": "none",
	}
	for key, value := range more {
		out[key] = value
	}
	return out
}

func (x *exchange) schemas() []map[string]any {
	one := func(id, name string, attributes ...map[string]any) map[string]any {
		return map[string]any{
			"schemas": []string{"urn:ietf:params:scim:schemas:core:2.0:Schema"}, "id": id, "name": name, "attributes": attributes,
			"meta": map[string]any{"resourceType": "Schema", "location": x.h.opt.BaseURL + Root + "/Schemas/" + id},
		}
	}
	values := func(mutability string, names ...string) map[string]any {
		var parts []map[string]any
		for _, name := range names {
			kind := "string"
			switch name {
			case "primary":
				kind = "boolean"
			case "$ref":
				kind = "reference"
			}
			parts = append(parts, attribute(name, kind, mutability, nil))
		}
		return map[string]any{"multiValued": true, "subAttributes": parts}
	}
	const write, read, once = "readWrite", "readOnly", "immutable"
	return []map[string]any{
		one(coreUser, "User",
			attribute("userName", "string", write, map[string]any{"required": true, "uniqueness": "server"}),
			attribute("name", "complex", write, map[string]any{"subAttributes": []map[string]any{
				attribute("formatted", "string", read, nil), attribute("givenName", "string", write, nil), attribute("familyName", "string", write, nil),
			}}),
			attribute("displayName", "string", write, nil),
			attribute("active", "boolean", write, nil),
			attribute("emails", "complex", once, values(once, "value", "type", "primary")),
			attribute("roles", "complex", read, values(read, "value", "primary")),
			attribute("groups", "complex", read, values(read, "value", "$ref", "display", "type")),
		),
		one(coreGroup, "Group",
			attribute("displayName", "string", write, map[string]any{"required": true, "uniqueness": "server"}),
			attribute("members", "complex", write, values(once, "value", "$ref", "display", "type")),
		),
	}
}
