package datatree

import (
	"context"
	"errors"
	"fmt"

	"gopkg.in/yaml.v3"

	"github.com/magpie-search/magpie/internal/ingest/parse/charset"
)

// ErrYAML is the error for YAML that cannot be decoded, or is too large or too deeply nested for a tree.
var ErrYAML = errors.New("YAML is malformed, too large or too deeply nested")

// FromYAML returns the values of the first document of a YAML text, whose root is the first node. The tree is empty if the
// document is. The error is ErrYAML, or wraps that of the context.
func FromYAML(ctx context.Context, text string, maxDepth int) (Tree, error) {
	var node yaml.Node
	if err := decodeYAML(text, &node); err != nil {
		return nil, err
	}
	c := yamlConverter{ctx: ctx, maxDepth: maxDepth, aliasBudget: maxAliased}
	if err := c.add(&node, "", 0); err != nil {
		return nil, err
	}
	return c.tree, nil
}

func decodeYAML(text string, node *yaml.Node) (err error) {
	defer func() {
		// A decoder that panics must not cost the document its text.
		if cause := recover(); cause != nil {
			err = fmt.Errorf("%w: %v", ErrYAML, cause)
		}
	}()
	if err := yaml.Unmarshal([]byte(text), node); err != nil {
		return fmt.Errorf("%w: %w", ErrYAML, err)
	}
	return nil
}

// Bounds of aliases, each of which may repeat many values.
const (
	maxAliased      = 10_000 // values
	maxAliasNesting = 8
)

// yamlConverter adds YAML nodes to a tree.
type yamlConverter struct {
	ctx         context.Context
	maxDepth    int
	tree        Tree
	aliasBudget int // how many more values may come from aliases
	aliasDepth  int // how many aliases enclose the current value
}

func (c *yamlConverter) add(node *yaml.Node, key string, depth int) error {
	if len(c.tree)%4096 == 0 && c.ctx.Err() != nil {
		return fmt.Errorf("parse YAML: %w", c.ctx.Err())
	}
	if c.aliasDepth > 0 {
		c.aliasBudget--
	}
	if depth > c.maxDepth || len(c.tree) >= MaxValues || c.aliasBudget < 0 {
		return ErrYAML
	}
	switch node.Kind {
	case yaml.DocumentNode:
		if len(node.Content) == 0 {
			return nil
		}
		return c.add(node.Content[0], key, depth)
	case yaml.AliasNode:
		if node.Alias == nil || c.aliasDepth > maxAliasNesting {
			return ErrYAML
		}
		c.aliasDepth++
		err := c.add(node.Alias, key, depth+1)
		c.aliasDepth--
		return err
	case yaml.ScalarNode:
		kind := String
		switch node.Tag {
		case "!!null":
			kind = Null
		case "!!bool":
			kind = Bool
		case "!!int", "!!float":
			kind = Number
		}
		c.tree = append(c.tree, Node{Kind: kind, Key: key, Text: charset.Clean(node.Value)})
		return nil
	case yaml.SequenceNode, yaml.MappingNode:
		return c.collection(node, key, depth)
	}
	return nil
}

// collection adds a sequence or a mapping.
func (c *yamlConverter) collection(node *yaml.Node, key string, depth int) error {
	at := len(c.tree)
	kind, step := Array, 1
	if node.Kind == yaml.MappingNode {
		kind, step = Object, 2
	}
	c.tree = append(c.tree, Node{Kind: kind, Key: key})
	last := -1
	for i := step - 1; i < len(node.Content); i += step {
		name := ""
		if step == 2 {
			name = charset.Clean(node.Content[i-1].Value)
		}
		child := len(c.tree)
		if err := c.add(node.Content[i], name, depth+1); err != nil {
			return err
		}
		if child == len(c.tree) {
			continue
		}
		if last < 0 {
			c.tree[at].First = int32(child) //nolint:gosec // at most MaxValues
		} else {
			c.tree[last].Next = int32(child) //nolint:gosec // at most MaxValues
		}
		last = child
	}
	return nil
}
