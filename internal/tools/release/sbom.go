package main

import (
	"debug/buildinfo"
	"encoding/json"
	"fmt"
	"net/url"
	"runtime/debug"
	"strings"
	"time"
)

// The parts of CycloneDX 1.6 that a list of Go modules needs.
type (
	bom struct {
		Format       string       `json:"bomFormat"`
		SpecVersion  string       `json:"specVersion"`
		Version      int          `json:"version"`
		Metadata     metadata     `json:"metadata"`
		Components   []component  `json:"components"`
		Dependencies []dependency `json:"dependencies"`
	}
	metadata struct {
		Timestamp  string     `json:"timestamp"`
		Component  component  `json:"component"`
		Properties []property `json:"properties,omitempty"`
	}
	component struct {
		Type       string     `json:"type"`
		Ref        string     `json:"bom-ref"`
		Name       string     `json:"name"`
		Version    string     `json:"version"`
		Purl       string     `json:"purl"`
		Hashes     []hash     `json:"hashes,omitempty"`
		Properties []property `json:"properties,omitempty"`
	}
	hash struct {
		Algorithm string `json:"alg"`
		Content   string `json:"content"`
	}
	property struct {
		Name  string `json:"name"`
		Value string `json:"value"`
	}
	dependency struct {
		Ref       string   `json:"ref"`
		DependsOn []string `json:"dependsOn"`
	}
)

// billOfMaterials lists the modules that a program was linked from, by what the
// linker recorded in it.
func billOfMaterials(program, version string, at time.Time) ([]byte, error) {
	info, err := buildinfo.ReadFile(program)
	if err != nil {
		return nil, fmt.Errorf("read what the program was built from: %w", err)
	}
	sum, err := sumOf(program)
	if err != nil {
		return nil, err
	}
	main := module("application", info.Main.Path, version)
	main.Hashes = []hash{{Algorithm: "SHA-256", Content: sum}}
	out := bom{
		Format: "CycloneDX", SpecVersion: "1.6", Version: 1,
		Metadata:   metadata{Timestamp: at.Format(time.RFC3339), Component: main},
		Components: []component{module("library", "stdlib", strings.TrimPrefix(info.GoVersion, "go"))},
	}
	for _, s := range info.Settings {
		out.Metadata.Properties = append(out.Metadata.Properties, property{"go:build:" + s.Key, s.Value})
	}
	for _, d := range info.Deps {
		out.Components = append(out.Components, linked(d))
	}
	uses := dependency{Ref: main.Ref}
	for _, c := range out.Components {
		uses.DependsOn = append(uses.DependsOn, c.Ref)
	}
	out.Dependencies = []dependency{uses}
	text, err := json.MarshalIndent(out, "", "  ")
	if err != nil {
		return nil, fmt.Errorf("write the list of modules: %w", err)
	}
	return append(text, '\n'), nil
}

// linked describes a module of the program: the one that replaced it, with the sum of go.sum, or itself if a folder
// did, which has neither a version nor a sum.
func linked(d *debug.Module) component {
	if d.Replace != nil && d.Replace.Sum == "" {
		c := module("library", d.Path, d.Version)
		c.Properties = []property{{"go:replace", d.Replace.Path}}
		return c
	}
	if d.Replace != nil {
		d = d.Replace
	}
	c := module("library", d.Path, d.Version)
	c.Properties = []property{{"go:sum", d.Sum}}
	return c
}

// module describes a Go module with its package URL.
func module(kind, path, version string) component {
	parts := strings.Split(path, "/")
	for i, part := range parts {
		parts[i] = url.PathEscape(part)
	}
	purl := "pkg:golang/" + strings.Join(parts, "/") + "@" + strings.ReplaceAll(url.PathEscape(version), "+", "%2B")
	return component{Type: kind, Ref: purl, Name: path, Version: version, Purl: purl}
}
