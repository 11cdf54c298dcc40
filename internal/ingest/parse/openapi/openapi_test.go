package openapi_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/magpie-search/magpie/internal/ingest/parse/parsetest"
)

const ordersAPI = `{"openapi": "3.1.0", "info": {"title": "Orders", "version": "2.3", "description": "Place orders.\n\n## Limits\n\nTen a second."},
"servers": [{"url": "https://example.com/v2", "description": "production"}],
"paths": {"/orders/{id}": {
  "parameters": [{"name": "id", "in": "path", "required": true, "schema": {"type": "string", "format": "uuid"}, "description": "of the order"}],
  "get": {"operationId": "getOrder", "summary": "One order", "tags": ["orders"], "description": "Returns *one* order.",
    "parameters": [{"$ref": "#/components/parameters/Fields"}],
    "responses": {"200": {"description": "The order.", "content": {"application/json": {"schema": {"$ref": "#/components/schemas/Order"}, "example": {"id": "a"}}}}, "404": {"$ref": "#/components/responses/Missing"}},
    "x-rate": 5},
  "put": {"requestBody": {"required": true, "content": {"application/json": {"schema": {"type": "object", "required": ["note"], "properties": {"note": {"type": "string", "maxLength": 80}}}}}}, "responses": {"204": {"description": "Changed."}}}}},
"components": {"parameters": {"Fields": {"name": "fields", "in": "query", "schema": {"type": "array", "items": {"type": "string", "enum": ["id", "lines"]}}}},
 "responses": {"Missing": {"description": "There is none."}},
 "securitySchemes": {"key": {"type": "apiKey", "in": "header", "name": "X-Key"}},
 "schemas": {"Order": {"allOf": [{"$ref": "#/components/schemas/Base"}, {"type": "object", "properties": {"lines": {"type": "array", "items": {"$ref": "#/components/schemas/Line"}}, "self": {"$ref": "#/components/schemas/Order"}}}]},
  "Base": {"type": "object", "required": ["id"], "properties": {"id": {"type": "string", "description": "Its number"}}},
  "Line": {"oneOf": [{"type": "string"}, {"$ref": "#/components/schemas/Base"}]}}}}`

func TestInterfaceDescription(t *testing.T) {
	t.Parallel()
	doc := parsetest.Read(t, "openapi.json", ordersAPI)
	if doc.Title != "Orders" || doc.Version != "2.3" || doc.DocType != "api" {
		t.Errorf("title %q, version %q, type %q", doc.Title, doc.Version, doc.DocType)
	}
	want := strings.TrimSpace(`
Place orders.

### Limits

Ten a second.

| Server | Description |
| --- | --- |
| https://example.com/v2 | production |

## GET /orders/{id} — One order

Operation: getOrder. Tags: orders.

Returns *one* order.

| Parameter | In | Type | Required | Description |
| --- | --- | --- | --- | --- |
| id | path | string (uuid) | yes | of the order |
| fields | query | string[] |  |  |

| Response | Description | Content |
| --- | --- | --- |
| 200 | The order. | application/json: Order |
| 404 | There is none. |  |

` + "```json\n{\n  \"id\": \"a\"\n}\n```" + `

get /orders/{id}.x-rate: 5

## PUT /orders/{id}

| Parameter | In | Type | Required | Description |
| --- | --- | --- | --- | --- |
| id | path | string (uuid) | yes | of the order |

Request body, required, application/json: object

| Field | Type | Required | Description |
| --- | --- | --- | --- |
| note | string | yes | Longest: 80. |

| Response | Description |
| --- | --- |
| 204 | Changed. |

## Security

| Scheme | Type | In |
| --- | --- | --- |
| key | apiKey | header X-Key |

## Schema Order

| Field | Type | Required | Description |
| --- | --- | --- | --- |
| id | string | yes | Its number |
| lines | Line[] |  |  |
| self | Order |  |  |

## Schema Base

| Field | Type | Required | Description |
| --- | --- | --- | --- |
| id | string | yes | Its number |

## Schema Line

string | Base`)
	if diff := cmp.Diff(want, doc.Markdown()); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func FuzzInterface(f *testing.F) {
	parsetest.Fuzz(f, "a.json", ordersAPI, `{"swagger":"2.0","host":"h","paths":{"/a":{"get":{"parameters":[{"in":"body","schema":{"$ref":"#/definitions/A"}}]}}},"definitions":{"A":{"allOf":[{"$ref":"#/definitions/A"}]}}}`)
}

func TestInterfaceDescriptionInYAML(t *testing.T) {
	t.Parallel()
	doc := parsetest.Read(t, "openapi.yaml", "openapi: 3.1.0\ninfo: {title: Trees, version: \"1\"}\npaths:\n  /trees:\n    get: &get\n      summary: All trees\n      responses: {\"200\": {description: Fine}}\n    head: *get\n")
	want := []string{"## GET /trees — All trees #get-trees--all-trees", "## HEAD /trees — All trees #head-trees--all-trees"}
	if diff := cmp.Diff(want, parsetest.Headings(doc)); diff != "" || doc.Title != "Trees" || doc.DocType != "api" {
		t.Errorf("title %q, type %q (-want +got):\n%s", doc.Title, doc.DocType, diff)
	}
	bomb := "openapi: 3.1.0\npaths: {}\na: &a [x,x,x,x,x,x,x,x,x]\nb: &b [*a,*a,*a,*a,*a,*a,*a,*a]\nc: &c [*b,*b,*b,*b,*b,*b,*b,*b]\nd: &d [*c,*c,*c,*c,*c,*c,*c]\ne: &e [*d,*d,*d,*d,*d,*d]\nf: [*e,*e,*e,*e,*e,*e]\n"
	if doc := parsetest.Read(t, "openapi.yaml", bomb); len(doc.Markdown()) > 4*len(bomb) {
		t.Errorf("aliases were written out: %d bytes", len(doc.Markdown()))
	}
}
