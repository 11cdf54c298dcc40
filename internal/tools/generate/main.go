// Command generate generates the ent client, its GraphQL types and the gqlgen
// server from ent/schema, schema.graphql, graph/schema and gqlgen.yml. Its
// working directory must be the root of the module.
package main

import (
	"log"
	"maps"
	"path/filepath"
	"strings"
	"time"

	"entgo.io/contrib/entgql"
	"entgo.io/ent/entc"
	"entgo.io/ent/entc/gen"
	"github.com/99designs/gqlgen/api"
	"github.com/99designs/gqlgen/codegen/config"
	"github.com/vektah/gqlparser/v2/ast"
)

const (
	module = "github.com/magpie-search/magpie"
	target = "ent"
)

func main() {
	log.SetFlags(0)
	if err := run(); err != nil {
		log.Fatal(err)
	}
}

func run() error {
	start := time.Now()
	extension, err := entgql.NewExtension(
		entgql.WithConfigPath("gqlgen.yml"),
		entgql.WithSchemaGenerator(),
		entgql.WithSchemaPath(filepath.Join(target, "ent.graphql")),
		entgql.WithWhereInputs(false),
		entgql.WithRelaySpec(true),
		entgql.WithSchemaHook(guardNodeQueries),
	)
	if err != nil {
		return err
	}
	err = entc.Generate("./ent/schema", &gen.Config{
		Target:  target,
		Package: module + "/" + target,
		Features: []gen.Feature{
			gen.FeaturePrivacy, gen.FeatureIntercept, gen.FeatureExecQuery, gen.FeatureLock,
			gen.FeatureVersionedMigration, gen.FeatureNamedEdges,
		},
		Hooks: []gen.Hook{nameIDs},
	}, entc.Extensions(extension))
	if err != nil {
		return err
	}
	log.Printf("ent: %s", time.Since(start).Round(time.Millisecond))

	start = time.Now()
	cfg, err := config.LoadConfig("gqlgen.yml")
	if err != nil {
		return err
	}
	if err := api.Generate(cfg); err != nil {
		return err
	}
	log.Printf("gqlgen: %s", time.Since(start).Round(time.Millisecond))
	return nil
}

// nameIDs gives the fields of the GraphQL types that name another object the names that
// hand-written fields have: connectorId for connector_id, where entgql writes connectorID.
func nameIDs(next gen.Generator) gen.Generator {
	return gen.GenerateFunc(func(g *gen.Graph) error {
		for _, node := range g.Nodes {
			for _, f := range node.Fields {
				words := strings.Split(f.Name, "_")
				if last := words[len(words)-1]; last != "id" || len(words) == 1 {
					continue
				}
				annotation, _ := f.Annotations[entgql.Annotation{}.Name()].(map[string]any)
				annotation = maps.Clone(annotation)
				if annotation == nil {
					annotation = map[string]any{}
				}
				annotation["Mapping"] = []string{camel(words)}
				if f.Annotations == nil {
					f.Annotations = gen.Annotations{}
				}
				f.Annotations[entgql.Annotation{}.Name()] = annotation
			}
		}
		return next.Generate(g)
	})
}

// camel returns words as one name: camelCase.
func camel(words []string) string {
	var name strings.Builder
	for i, word := range words {
		if i > 0 {
			word = strings.ToUpper(word[:1]) + word[1:]
		}
		name.WriteString(word)
	}
	return name.String()
}

// guardNodeQueries adds the directives @surface and @group, which every hand-written
// root field has, to the generated root fields node and nodes.
func guardNodeQueries(_ *gen.Graph, s *ast.Schema) error {
	query := s.Types["Query"]
	if query == nil {
		return nil
	}
	for _, f := range query.Fields {
		f.Directives = append(f.Directives, &ast.Directive{
			Name: "surface",
			Arguments: ast.ArgumentList{{
				Name: "on",
				Value: &ast.Value{Kind: ast.ListValue, Children: ast.ChildValueList{
					{Value: &ast.Value{Kind: ast.EnumValue, Raw: "DASHBOARD"}},
					{Value: &ast.Value{Kind: ast.EnumValue, Raw: "INTERNAL"}},
				}},
			}},
		}, &ast.Directive{
			Name:      "group",
			Arguments: ast.ArgumentList{{Name: "name", Value: &ast.Value{Kind: ast.EnumValue, Raw: "BASIC"}}},
		})
	}
	return nil
}
