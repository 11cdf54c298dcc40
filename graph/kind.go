package graph

import (
	"github.com/magpie-search/magpie/connectors"
	"github.com/magpie-search/magpie/graph/model"
)

// kinds describes the kinds of connectors, so that forms can be drawn from it.
func kinds(registry *connectors.Registry) []*model.ConnectorKind {
	var out []*model.ConnectorKind
	for _, k := range registry.Kinds() {
		out = append(out, &model.ConnectorKind{
			Name: k.Name, Title: k.Title, Description: k.Description, Category: category(k), Aliases: append([]string{}, k.Aliases...),
			Options: options(k.AllOptions()), Credentials: options(k.Credentials), AcceptsFiles: k.AcceptsFiles,
			Enumerates: k.Enumerates, Permissions: k.Permissions, Webhooks: k.Webhook != nil, Database: k.AttachesDatabase(),
			OauthProvider: unlessEmpty(k.OAuth), Documentation: unlessEmpty(k.Documentation),
			APIVersion: unlessEmpty(k.APIVersion), Feeds: k.Feeds,
		})
	}
	return out
}

func category(k connectors.Kind) string {
	if k.Category == "" {
		return string(connectors.CategoryStorage)
	}
	return string(k.Category)
}

func options(in []connectors.Option) []*model.ConnectorOption {
	out := make([]*model.ConnectorOption, len(in))
	for i, o := range in {
		out[i] = &model.ConnectorOption{
			Name: o.Name, Title: o.Title, Help: o.Help, Type: string(o.Type), Format: unlessEmpty(string(o.Format)),
			Required: o.Required, Sensitive: o.Sensitive, Multiline: o.Multiline, Default: o.Default, Example: unlessEmpty(o.Example),
			Choices: append([]string{}, o.Choices...), Group: unlessEmpty(o.Group), Advanced: o.Advanced,
			DependsOn: dependencies(o.DependsOn), Fields: options(o.Fields),
		}
		if o.Max > o.Min {
			out[i].Min, out[i].Max = &o.Min, &o.Max
		}
	}
	return out
}

func dependencies(in []connectors.Dependency) []*model.OptionDependency {
	out := make([]*model.OptionDependency, len(in))
	for i, d := range in {
		out[i] = &model.OptionDependency{Option: d.Option, Values: append([]any{}, d.Values...)}
	}
	return out
}

func unlessEmpty(text string) *string {
	if text == "" {
		return nil
	}
	return &text
}
