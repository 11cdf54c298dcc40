package parse

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"gopkg.in/yaml.v3"

	"github.com/magpie-search/magpie/internal/ingest/document"
)

// maxYAML is the longest YAML, in bytes, that is read as what it means; longer one is read as the text it is.
const maxYAML = 8 << 20

// readYAML reads YAML. It is text that people write for programs, and its comments are what they write for each other: so
// it stays as it is, cut at its keys, which are the headings. Only a description of an interface is read as what it means.
// Broken YAML is still text.
func readYAML(ctx context.Context, r request) (*document.Draft, bool, error) {
	if len(r.text) > maxYAML || !hasInterfaceKey(r.text) {
		return nil, false, nil
	}
	var node yaml.Node
	if err := decodeYAML(r.text, &node); err != nil {
		return nil, false, nil // it is read as text instead
	}
	c := yamlConverter{ctx: ctx, maxDepth: r.limits.MaxDepth, free: maxAliased}
	if err := c.add(&node, "", 0); err != nil || len(c.tree) == 0 || !c.tree.isInterface(0) {
		return nil, false, contextError(err)
	}
	found, err := readInterface(ctx, r, c.tree, 0)
	return found, true, err
}

// contextError passes on that the time is up; of all else the text is read all the same.
func contextError(err error) error {
	if errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded) {
		return err
	}
	return nil
}

// hasInterfaceKey reports a text with the key at its left margin that descriptions of interfaces have.
func hasInterfaceKey(text string) bool {
	head := document.Truncate(text, 64<<10)
	for _, key := range []string{"openapi:", "swagger:", `"openapi":`, `"swagger":`} {
		if strings.HasPrefix(head, key) || strings.Contains(head, "\n"+key) {
			return true
		}
	}
	return false
}

func decodeYAML(text string, node *yaml.Node) (err error) {
	defer func() {
		// A decoder that panics must not cost the document its text.
		if cause := recover(); cause != nil {
			err = fmt.Errorf("read YAML: %v", cause)
		}
	}()
	if err := yaml.Unmarshal([]byte(text), node); err != nil {
		return fmt.Errorf("read YAML: %w", err)
	}
	return nil
}

// maxAliased is how many values may come from aliases, each of which may stand for many.
const maxAliased = 10_000

// yamlConverter makes a tree of values of YAML nodes.
type yamlConverter struct {
	ctx      context.Context
	maxDepth int
	tree     jsonTree
	free     int // values that may still come from aliases
	aliased  int // how many aliases the value stands in
}

var errYAMLTooLarge = errors.New("YAML is too large or too deep")

// add adds a node to the tree.
func (c *yamlConverter) add(node *yaml.Node, key string, depth int) error {
	if len(c.tree)%4096 == 0 && c.ctx.Err() != nil {
		return fmt.Errorf("parse YAML: %w", c.ctx.Err())
	}
	if c.aliased > 0 {
		c.free--
	}
	if depth > c.maxDepth || len(c.tree) >= maxValues || c.free < 0 {
		return errYAMLTooLarge
	}
	switch node.Kind {
	case yaml.DocumentNode:
		if len(node.Content) == 0 {
			return nil
		}
		return c.add(node.Content[0], key, depth)
	case yaml.AliasNode:
		if node.Alias == nil || c.aliased > 8 {
			return errYAMLTooLarge
		}
		c.aliased++
		err := c.add(node.Alias, key, depth+1)
		c.aliased--
		return err
	case yaml.ScalarNode:
		kind := jsonString
		switch node.Tag {
		case "!!null":
			kind = jsonNull
		case "!!bool":
			kind = jsonBool
		case "!!int", "!!float":
			kind = jsonNumber
		}
		c.tree = append(c.tree, jsonNode{kind: kind, key: key, text: clean(node.Value)})
		return nil
	case yaml.SequenceNode, yaml.MappingNode:
		return c.collection(node, key, depth)
	}
	return nil
}

func (c *yamlConverter) collection(node *yaml.Node, key string, depth int) error {
	at := len(c.tree)
	kind, step := jsonArray, 1
	if node.Kind == yaml.MappingNode {
		kind, step = jsonObject, 2
	}
	c.tree = append(c.tree, jsonNode{kind: kind, key: key})
	last := -1
	for i := step - 1; i < len(node.Content); i += step {
		name := ""
		if step == 2 {
			name = clean(node.Content[i-1].Value)
		}
		child := len(c.tree)
		if err := c.add(node.Content[i], name, depth+1); err != nil {
			return err
		}
		if child == len(c.tree) {
			continue
		}
		if last < 0 {
			c.tree[at].first = int32(child) //nolint:gosec // at most maxValues
		} else {
			c.tree[last].next = int32(child) //nolint:gosec // at most maxValues
		}
		last = child
	}
	return nil
}

// documentKind is the kind of a document of several in one file of YAML.
const documentKind = ":document"

// yamlDocuments cuts a file of several documents, nil when it has one.
func (o *codeOutline) yamlDocuments() []codeItem {
	if o.grammar.name != "yaml" {
		return nil
	}
	var items []codeItem
	from, filled := 0, false
	end := func(to int) {
		if filled {
			items = append(items, codeItem{from: from, to: to, sign: from, kind: documentKind})
			from, filled = to, false
		}
	}
	for i := range o.lines {
		line := o.line(i)
		if line == "---" || strings.HasPrefix(line, "--- ") {
			end(i)
			continue
		}
		filled = filled || !o.lines[i].comment && strings.TrimSpace(line) != ""
	}
	end(len(o.lines))
	if len(items) < 2 {
		return nil
	}
	items[len(items)-1].to = len(o.lines)
	for i := range items {
		item := &items[i]
		text := o.span(item.from, item.to)
		item.runes = runesOf(text)
		item.name = yamlDocumentName(text)
		for item.sign < item.to-1 && (o.lines[item.sign].comment || o.blank(item.sign) || strings.HasPrefix(o.line(item.sign), "---")) {
			item.sign++
		}
	}
	return items
}

// yamlDocumentName names a document by what it says its kind and its name are, as objects of Kubernetes do.
func yamlDocumentName(text string) string {
	var kind, name string
	metadata := false
	for line := range strings.Lines(text) {
		trimmed := strings.TrimSpace(line)
		value := func(key string) string {
			rest, _ := strings.CutPrefix(trimmed, key)
			rest, _, _ = strings.Cut(rest, " #")
			return strings.Trim(strings.TrimSpace(rest), `"'`)
		}
		switch {
		case strings.HasPrefix(line, "kind:") && kind == "":
			kind = value("kind:")
		case strings.HasPrefix(line, "name:") && name == "":
			name = value("name:")
		case strings.HasPrefix(line, "metadata:"):
			metadata = true
		case metadata && name == "" && (strings.HasPrefix(line, "  name:") || strings.HasPrefix(line, "    name:")):
			name = value("name:")
		case line != "" && line[0] != ' ' && line[0] != '#' && line[0] != '\n':
			metadata = false
		}
	}
	return document.Truncate(strings.TrimSpace(kind+" "+name), 120)
}
