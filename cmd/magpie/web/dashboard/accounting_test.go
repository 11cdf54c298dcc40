package dashboard_test

import (
	"maps"
	"slices"
	"testing"

	"github.com/vektah/gqlparser/v2/ast"
)

// elsewhere are the mutations that no operation of the site has, with the reason.
func elsewhere() map[string]string {
	const cookie = "returns tokens: the site calls its REST route, which keeps the refresh token in a cookie"
	const browser = "the site calls its REST route, which puts the secret of the browser into a cookie"
	return map[string]string{
		"startOAuth":               browser,
		"authorizeToolIntegration": browser,
		"signIn":                   cookie,
		"signUp":                   cookie,
		"refreshSession":           cookie,
		"acceptInvitation":         cookie,
		"resetPassword":            cookie,
		"switchWorkspace":          cookie,
		"finishOIDCSignIn":         cookie,
		"startOIDCSignIn":          "belongs to finishOIDCSignIn: the site calls its REST route",
		"answerOIDCSignIn":         "the provider sends the browser to its REST route",
		"finishSAMLSignIn":         cookie,
		"startSAMLSignIn":          "belongs to finishSAMLSignIn: the site calls its REST route",
		"answerSAMLSignIn":         "the provider lets the browser post it to its own address",
		"signOut":                  "the site calls its REST route, which also clears the cookie",
		"signOutEverywhere":        "the site calls its REST route, which also clears the cookie",
		"recordEvents":             "is for the public API",
		"recordVisitorEvent":       "is for the widget",
	}
}

// A person needs nothing but the browser.
func TestEveryMutationIsReachableFromSomePage(t *testing.T) {
	t.Parallel()
	schema, document := schemaOfMagpie(t), operationsOfTheSite(t)
	used := map[string]bool{}
	for _, operation := range document.Operations {
		if operation.Operation == ast.Mutation {
			for _, selection := range operation.SelectionSet {
				if field, ok := selection.(*ast.Field); ok {
					used[field.Name] = true
				}
			}
		}
	}
	reasons := elsewhere()
	for _, field := range schema.Mutation.Fields {
		switch _, excused := reasons[field.Name]; {
		case used[field.Name] && excused:
			t.Errorf("%s is used: remove it from the list of those that are not", field.Name)
		case !used[field.Name] && !excused:
			t.Errorf("no page of the site has %s", field.Name)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(reasons)) {
		if schema.Mutation.Fields.ForName(name) == nil {
			t.Errorf("there is no mutation %s", name)
		}
	}
}
