package openapi_test

import (
	"encoding/json"
	"testing"

	"github.com/magpie-search/magpie/rest/openapi"
)

func text(t *testing.T, value any) string {
	t.Helper()
	raw, err := json.Marshal(value)
	if err != nil {
		t.Fatal(err)
	}
	return string(raw)
}

func TestAMapKeepsItsOrder(t *testing.T) {
	t.Parallel()
	var m openapi.Map[any]
	if got := text(t, m); got != "{}" || !m.IsZero() {
		t.Errorf("an empty map is %s", got)
	}
	m.Set("z", 1)
	m.Set("a", openapi.MapOf("<\n\"", "x"))
	m.Set("z", nil)
	if got := text(t, m); got != `{"z":null,"a":{"\u003c\n\"":"x"}}` {
		t.Errorf("written as %s", got)
	}
	if _, ok := m.Get("b"); ok {
		t.Error("there is a b")
	}
	if _, err := json.Marshal(openapi.MapOf("f", func() {})); err == nil {
		t.Error("a function is written")
	}
}

func TestNullableLeavesTheSchemaAsItIs(t *testing.T) {
	t.Parallel()
	choice := openapi.Of(openapi.String)
	choice.Enum = []any{"a"}
	for _, c := range []struct {
		schema *openapi.Schema
		want   string
	}{
		{openapi.Of(openapi.Integer), `{"type":["integer","null"]}`},
		{choice, `{"type":["string","null"],"enum":["a",null]}`},
		{openapi.Refer("Thing"), `{"oneOf":[{"$ref":"#/components/schemas/Thing"},{"type":"null"}]}`},
		{&openapi.Schema{}, `{}`},
	} {
		before := text(t, c.schema)
		if got := text(t, openapi.Nullable(c.schema)); got != c.want {
			t.Errorf("%s became %s, want %s", before, got, c.want)
		}
		if after := text(t, c.schema); after != before {
			t.Errorf("%s itself became %s", before, after)
		}
	}
}

func TestSamplesFitTheirSchemas(t *testing.T) {
	t.Parallel()
	low := 3.0
	bounded := openapi.Of(openapi.Number)
	bounded.Minimum = &low
	choice := openapi.Of(openapi.String)
	choice.Enum = []any{"first", "second"}
	id := openapi.Of(openapi.String)
	id.Format = "uuid"
	old := openapi.Of(openapi.String)
	old.Deprecated = true
	inner := openapi.Of(openapi.Object)
	inner.Properties.Set("n", bounded)
	inner.Properties.Set("old", old)
	list := openapi.Of(openapi.Array)
	list.Items = openapi.Refer("Inner")
	samples := openapi.Samples{"name": "Ada", "choice": "second", "other": "third", "gone": nil}
	for _, c := range []struct {
		name   string
		schema *openapi.Schema
		want   string
	}{
		{"name", openapi.Of(openapi.String), `"Ada"`},
		{"name", id, `"018f3c2a-5b7e-8a91-b0c4-2d6e8f0a1b3c"`},
		{"name", openapi.Of(openapi.Integer), `1`},
		{"gone", openapi.Of(openapi.String), `"text"`},
		{"gone", openapi.Nullable(openapi.Of(openapi.String)), `null`},
		{"choice", choice, `"second"`},
		{"other", choice, `"first"`},
		{"", list, `[{"n":3}]`},
		{"", &openapi.Schema{Const: "x"}, `"x"`},
		{"", openapi.Nullable(openapi.Refer("Inner")), `{"n":3}`},
	} {
		if got := text(t, samples.Of(c.name, c.schema, openapi.MapOf("Inner", inner))); got != c.want {
			t.Errorf("%s of %s is %s, want %s", c.name, text(t, c.schema), got, c.want)
		}
	}
}
