package weaviate

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"

	"github.com/magpie-search/magpie/internal/index"
	"github.com/magpie-search/magpie/internal/search/engine"
	"github.com/magpie-search/magpie/internal/search/rank"
)

// The properties of an object.
const (
	propertyID           = "_id" // the engine's own
	propertyTitle        = "title"
	propertyHeading      = "heading"
	propertyPath         = "path"
	propertyBody         = "body"
	propertyDocument     = "doc"
	propertyChange       = "change"
	propertyTime         = "time" // microseconds since 1970: the dates of the engine end in 2262
	propertyEveryone     = "everyone"
	propertyReaders      = "readers"
	propertyUnrestricted = "unrestricted"
	propertyRestriction  = "restricted"
)

// textProperties are those of the fields.
var textProperties = [index.FieldCount]string{propertyTitle, propertyHeading, propertyPath, propertyBody}

// weighted are the properties that words are searched in, with the weights of package rank.
var weighted = [index.FieldCount]string{
	propertyTitle + "^" + weight(rank.WeightTitle), propertyHeading + "^" + weight(rank.WeightHeading),
	propertyPath + "^" + weight(rank.WeightPath), propertyBody,
}

func weight(w float64) string { return strconv.FormatFloat(w, 'g', -1, 64) }

// propertyOf returns the property of a facet.
func propertyOf(f rank.Facet) string {
	return [rank.FacetCount]string{"section", "version", "language", "doctype", "source", "connector", "tags"}[f]
}

// schemaClass is a class in REST.
type schemaClass struct {
	Class             string           `json:"class"`
	Description       string           `json:"description,omitempty"`
	Vectorizer        string           `json:"vectorizer,omitempty"`
	VectorIndexType   string           `json:"vectorIndexType,omitempty"`
	VectorIndexConfig map[string]any   `json:"vectorIndexConfig,omitempty"`
	InvertedIndex     map[string]any   `json:"invertedIndexConfig,omitempty"`
	Replication       map[string]any   `json:"replicationConfig,omitempty"`
	MultiTenancy      map[string]any   `json:"multiTenancyConfig,omitempty"`
	Properties        []schemaProperty `json:"properties,omitempty"`
}

type schemaProperty struct {
	Name         string   `json:"name"`
	DataType     []string `json:"dataType"`
	Tokenization string   `json:"tokenization,omitempty"`
	Filterable   bool     `json:"indexFilterable"`
	Searchable   bool     `json:"indexSearchable"`
	Range        bool     `json:"indexRangeFilters"`
}

// describe and described keep the dimensions and the number of shards of a class in its
// description.
func describe(c engine.Class) string {
	return fmt.Sprintf("Magpie, %d dimensions, %d shards", c.Dimensions, c.Shards)
}

func described(description string) (info classInfo, ok bool) {
	_, err := fmt.Sscanf(description, "Magpie, %d dimensions, %d shards", &info.dimensions, &info.shards)
	return info, err == nil && info.dimensions >= 0 && info.shards > 0
}

// schemaOf returns what the engine is asked to create.
func schemaOf(c engine.Class) *schemaClass {
	out := &schemaClass{
		Class: c.Name, Description: describe(c), Vectorizer: "none",
		VectorIndexType: "hnsw", VectorIndexConfig: map[string]any{"distance": "dot", "skip": c.Dimensions == 0},
		InvertedIndex: map[string]any{
			"bm25": map[string]any{"k1": rank.K1, "b": rank.B}, "stopwords": map[string]any{"preset": "none"},
			"indexNullState": false, "indexPropertyLength": false, "indexTimestamps": false,
		},
		// Deletions and writes that a replica missed are ordered by their time: a passage that was
		// written again after its deletion stays.
		Replication:  map[string]any{"factor": c.Replicas, "asyncEnabled": c.Replicas > 1, "deletionStrategy": "TimeBasedResolution"},
		MultiTenancy: map[string]any{"enabled": true},
	}
	for _, name := range textProperties {
		out.Properties = append(out.Properties, schemaProperty{Name: name, DataType: []string{"text"}, Tokenization: "whitespace", Searchable: true})
	}
	for f := range rank.FacetCount {
		kind := "text"
		if f == rank.FacetTag {
			kind = "text[]"
		}
		out.Properties = append(out.Properties, schemaProperty{Name: propertyOf(f), DataType: []string{kind}, Tokenization: "field", Filterable: true})
	}
	for _, name := range []string{propertyReaders, propertyRestriction} {
		out.Properties = append(out.Properties, schemaProperty{Name: name, DataType: []string{"text[]"}, Tokenization: "field", Filterable: true})
	}
	for _, name := range []string{propertyEveryone, propertyUnrestricted} {
		out.Properties = append(out.Properties, schemaProperty{Name: name, DataType: []string{"boolean"}, Filterable: true})
	}
	for _, name := range []string{propertyChange, propertyTime} {
		out.Properties = append(out.Properties, schemaProperty{Name: name, DataType: []string{"int"}, Range: true})
	}
	out.Properties = append(out.Properties, schemaProperty{Name: propertyDocument, DataType: []string{"uuid"}, Filterable: true})
	return out
}

// Create implements engine.Backend. Without a number of shards the class gets two for each
// node, so that twice as many nodes can share them.
func (b *Backend) Create(ctx context.Context, c engine.Class) error {
	if err := c.Validate(); err != nil {
		return err
	}
	if c.Shards == 0 {
		c.Shards = 2 * len(b.nodes)
	}
	body, err := json.Marshal(schemaOf(c))
	if err != nil {
		return fmt.Errorf("describe class %s: %w", c.Name, err)
	}
	b.forget(c.Name)
	err = b.rest(ctx, http.MethodPost, "/v1/schema", body, nil)
	if err != nil {
		// A class that exists is refused like one that is wrong. It may lack shards if its creation
		// was interrupted.
		info, look := b.lookup(ctx, c.Name)
		if look != nil {
			return fmt.Errorf("create class %s: %w", c.Name, err)
		}
		return b.addShards(ctx, c.Name, info.shards)
	}
	if err := b.settleClass(ctx, c.Name, true); err != nil {
		return err
	}
	return b.addShards(ctx, c.Name, c.Shards)
}

// Drop implements engine.Backend.
func (b *Backend) Drop(ctx context.Context, class string) error {
	if !engine.ValidName(class) {
		return ctx.Err()
	}
	defer b.forget(class)
	err := b.rest(ctx, http.MethodDelete, "/v1/schema/"+class, nil, nil)
	if err != nil && statusOf(err) != http.StatusNotFound {
		return fmt.Errorf("drop class %s: %w", class, err)
	}
	return b.settleClass(ctx, class, false)
}

// Classes implements engine.Backend.
func (b *Backend) Classes(ctx context.Context, prefix string) ([]string, error) {
	var schema struct {
		Classes []schemaClass `json:"classes"`
	}
	if err := b.rest(ctx, http.MethodGet, "/v1/schema", nil, &schema); err != nil {
		return nil, fmt.Errorf("list the classes: %w", err)
	}
	var names []string
	for i := range schema.Classes {
		if name := schema.Classes[i].Class; strings.HasPrefix(name, prefix) {
			names = append(names, name)
		}
	}
	return names, nil
}

// Nodes implements engine.Backend.
func (b *Backend) Nodes(ctx context.Context) ([]engine.Node, error) {
	var reply struct {
		Nodes []struct {
			Name    string `json:"name"`
			Version string `json:"version"`
			Status  string `json:"status"`
		} `json:"nodes"`
	}
	if err := b.rest(ctx, http.MethodGet, "/v1/nodes?output=minimal", nil, &reply); err != nil {
		return nil, fmt.Errorf("list the nodes: %w", err)
	}
	out := make([]engine.Node, 0, len(reply.Nodes))
	for _, n := range reply.Nodes {
		out = append(out, engine.Node{Name: n.Name, Version: n.Version, Healthy: n.Status == "HEALTHY"})
	}
	slices.SortFunc(out, func(x, y engine.Node) int { return strings.Compare(x.Name, y.Name) })
	return out, nil
}
