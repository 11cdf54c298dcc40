// Command generateclient generates the Go client in the folder client from the golden
// OpenAPI document, with oapi-codegen. Its working directory must be the root of the
// module.
package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"log"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
)

const (
	document  = "rest/testdata/openapi.json"
	generator = "internal/tools/oapicodegen"
	target    = "client/api.gen.go"
)

// configuration has oapi-codegen keep the types of events, which only streams have, and
// begin the names of enum values with their type.
const configuration = `
package: client
generate: {models: true, client: true}
compatibility: {always-prefix-enum-values: true}
output-options: {skip-prune: true}
`

func main() {
	log.SetFlags(0)
	if err := run(); err != nil {
		log.Fatal(err)
	}
}

func run() error {
	raw, err := os.ReadFile(document)
	if err != nil {
		return err
	}
	simple, err := simplify(raw)
	if err != nil {
		return fmt.Errorf("%s: %w", document, err)
	}
	folder, err := os.MkdirTemp("", "magpie-client-*")
	if err != nil {
		return err
	}
	defer os.RemoveAll(folder)
	input := filepath.Join(folder, "openapi.json")
	if err := os.WriteFile(input, simple, 0o600); err != nil {
		return err
	}
	settings := filepath.Join(folder, "settings.yaml")
	if err := os.WriteFile(settings, []byte(configuration), 0o600); err != nil {
		return err
	}
	command := exec.Command("go", "tool", "oapi-codegen", "-config", settings, input)
	command.Dir = generator
	command.Env = append(command.Environ(), "GOWORK=off")
	var problems bytes.Buffer
	command.Stderr = &problems
	code, err := command.Output()
	if err != nil {
		return fmt.Errorf("oapi-codegen: %w\n%s", err, problems.String())
	}
	return os.WriteFile(target, code, 0o644) //nolint:gosec // a source file
}

// simplify removes from a document what the package client handles for all operations:
// header parameters, error responses and response headers.
func simplify(raw []byte) ([]byte, error) {
	var doc map[string]any
	if err := json.Unmarshal(raw, &doc); err != nil {
		return nil, err
	}
	for _, item := range doc["paths"].(map[string]any) {
		for _, one := range item.(map[string]any) {
			operation := one.(map[string]any)
			parameters, _ := operation["parameters"].([]any)
			kept := slices.DeleteFunc(parameters, func(p any) bool {
				parameter := p.(map[string]any)
				return parameter["$ref"] != nil || parameter["in"] == "header"
			})
			if delete(operation, "parameters"); len(kept) > 0 {
				operation["parameters"] = kept
			}
			responses := operation["responses"].(map[string]any)
			for status, response := range responses {
				if strings.HasPrefix(status, "4") || strings.HasPrefix(status, "5") {
					delete(responses, status)
				} else {
					delete(response.(map[string]any), "headers")
				}
			}
		}
	}
	components := doc["components"].(map[string]any)
	for _, unused := range []string{"responses", "parameters", "headers"} {
		delete(components, unused)
	}
	return json.Marshal(doc)
}
