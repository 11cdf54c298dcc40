package webhook_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/magpie-search/magpie/agents/integration/webhook"
	"github.com/magpie-search/magpie/agents/policy"
	"github.com/magpie-search/magpie/internal/apierr"
)

const deskSpec = `
openapi: 3.0.3
info: {title: Desk, version: "1"}
paths:
  /tickets/{id}:
    parameters:
      - {name: id, in: path, required: true, schema: {type: integer}, description: The number of the ticket.}
    get:
      operationId: getTicket
      summary: Read a ticket
      parameters:
        - {name: fields, in: query, schema: {type: array, items: {type: string}}}
        - {name: X-Trace, in: header, schema: {type: string}}
      responses: {"200": {description: ok}}
    delete:
      operationId: DeleteTicket
      responses: {"204": {description: gone}}
  /tickets:
    post:
      operationId: create-ticket
      description: Creates a ticket.
      requestBody:
        required: true
        content:
          application/json:
            schema: {$ref: "#/components/schemas/Ticket"}
      responses: {"201": {description: made}}
    put:
      summary: Replace all
      requestBody:
        content:
          application/json:
            schema: {type: array, items: {$ref: "#/components/schemas/Ticket"}}
      responses: {"200": {description: ok}}
  /files:
    post:
      operationId: upload
      requestBody: {required: true, content: {multipart/form-data: {schema: {type: object}}}}
      responses: {"200": {description: ok}}
  /secret:
    get:
      operationId: secret
      parameters: [{name: X-Key, in: header, required: true, schema: {type: string}}]
      responses: {"200": {description: ok}}
components:
  schemas:
    Ticket:
      type: object
      required: [title, id]
      properties:
        id: {type: integer, readOnly: true}
        title: {type: string, maxLength: 200}
        parent: {$ref: "#/components/schemas/Ticket"}
        state: {type: string, enum: [open, closed], nullable: true}
`

func TestOperationsOfADocumentBecomeTools(t *testing.T) {
	t.Parallel()
	got, skipped, err := webhook.Import([]byte(deskSpec))
	if err != nil {
		t.Fatal(err)
	}
	byName := map[string]webhook.Operation{}
	var names []string
	for _, o := range got {
		byName[o.Name] = o
		names = append(names, o.Name)
	}
	if strings.Join(names, " ") != "create_ticket delete_ticket get_ticket put_tickets" {
		t.Errorf("the tools are %v", names)
	}
	if all := strings.Join(skipped, "\n"); !strings.Contains(all, "POST /files: its body is no JSON") || !strings.Contains(all, "GET /secret: it needs the header parameter X-Key") || len(skipped) != 2 {
		t.Errorf("skipped: %q", skipped)
	}
	for name, want := range map[string]policy.Risk{"create_ticket": policy.Write, "delete_ticket": policy.Delete, "get_ticket": policy.Read, "put_tickets": policy.Write} {
		if byName[name].Risk != want || want.Default() == policy.Allow && want != policy.Read {
			t.Errorf("%s has the risk %q", name, byName[name].Risk)
		}
	}
	read := byName["get_ticket"]
	if read.Title != "Read a ticket" || read.Endpoint.Path != "/tickets/{id}" || strings.Join(read.Endpoint.Query, " ") != "fields" {
		t.Errorf("%+v", read)
	}
	made := byName["create_ticket"]
	properties, _ := made.Schema["properties"].(map[string]any)
	if strings.Join(made.Endpoint.Body, " ") != "parent state title" || properties["id"] != nil {
		t.Errorf("%+v", made)
	}
	text, err := json.Marshal(made.Schema)
	if err != nil || strings.Contains(string(text), "$ref") || !strings.Contains(string(text), `"required":["title"]`) || !strings.Contains(string(text), `["string","null"]`) {
		t.Errorf("the schema is %s, %v", text, err)
	}
	if whole := byName["put_tickets"].Endpoint.Whole; whole != "body" {
		t.Errorf("the body is %q", whole)
	}
}

func TestDocumentsThatCannotBeUsedAreRefused(t *testing.T) {
	t.Parallel()
	outside := strings.Replace(deskSpec, `$ref: "#/components/schemas/Ticket"`, `$ref: "https://evil.example/schema.yaml#/Ticket"`, 1)
	file := strings.Replace(deskSpec, `$ref: "#/components/schemas/Ticket"`, `$ref: "/etc/passwd"`, 1)
	for name, document := range map[string]string{
		"nothing": "", "no YAML": "\t{", "version 2": `{"swagger":"2.0","info":{"title":"x","version":"1"},"paths":{}}`,
		"no paths": "openapi: 3.0.3\ninfo: {title: x, version: '1'}", "a reference to another host": outside, "a reference to a file": file,
		"too large": strings.Repeat("#", webhook.MaxDocument+1), "no operations": "openapi: 3.0.3\ninfo: {title: x, version: '1'}\npaths: {}",
	} {
		_, _, err := webhook.Import([]byte(document))
		if e := apierr.From(err); err == nil || e.Code != apierr.InvalidRequest || !strings.HasPrefix(e.Message, "spec: ") {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestTheDocumentOfMagpieItselfIsImported(t *testing.T) {
	t.Parallel()
	document, err := os.ReadFile(filepath.Join("..", "..", "..", "rest", "testdata", "openapi.json"))
	if err != nil {
		t.Fatal(err)
	}
	got, skipped, err := webhook.Import(document)
	if err != nil || len(got) < 100 {
		t.Fatalf("%d operations, %d skipped, %v", len(got), len(skipped), err)
	}
	for _, o := range got {
		schema, err := json.Marshal(o.Schema)
		if err != nil {
			t.Fatal(err)
		}
		if err := o.Endpoint.Check(schema); err != nil {
			t.Errorf("%s: %v", o.Name, err)
		}
	}
}

func FuzzImport(f *testing.F) {
	f.Add([]byte(deskSpec))
	f.Add([]byte(`{"openapi":"3.1.0","info":{"title":"x","version":"1"},"paths":{"/{a}":{"get":{"parameters":[{"name":"a","in":"path","required":true,"schema":{"$ref":"#/components/schemas/A"}}],"responses":{}}}},"components":{"schemas":{"A":{"allOf":[{"$ref":"#/components/schemas/A"}]}}}}`))
	f.Fuzz(func(t *testing.T, document []byte) {
		operations, _, err := webhook.Import(document)
		if err != nil && apierr.From(err).Code != apierr.InvalidRequest {
			t.Errorf("another error: %v", err)
		}
		for _, o := range operations {
			schema, err := json.Marshal(o.Schema)
			if err != nil || o.Endpoint.Check(schema) != nil {
				t.Errorf("%+v: %v", o, err)
			}
		}
	})
}
