package arguments_test

import (
	"encoding/json"
	"reflect"
	"strings"
	"testing"

	"github.com/magpie-search/magpie/agents/arguments"
	"github.com/magpie-search/magpie/internal/apierr"
)

type input struct {
	Title  string            `json:"title" rule:"required,min=1,max=10" about:"One line."`
	Kind   string            `json:"kind" rule:"enum=bug|task"`
	Limit  int               `json:"limit" rule:"min=1,max=20"`
	Score  float64           `json:"score" rule:"min=0"`
	Draft  bool              `json:"draft"`
	Labels []string          `json:"labels" rule:"min=1,max=2"`
	Fields map[string]string `json:"fields" rule:"max=2"`
	Window struct {
		Start string `json:"start" rule:"required"`
	} `json:"window"`
}

func TestArgumentsBecomeAStruct(t *testing.T) {
	t.Parallel()
	got, err := arguments.Decode[input](json.RawMessage(`{"title":"A","kind":"bug","limit":"3","score":0.5,"draft":"true","labels":"one","fields":{"a":1,"b":true},"window":{"start":"now"}}`))
	if err != nil {
		t.Fatal(err)
	}
	want := input{Title: "A", Kind: "bug", Limit: 3, Score: 0.5, Draft: true, Labels: []string{"one"}, Fields: map[string]string{"a": "1", "b": "true"}}
	want.Window.Start = "now"
	if !reflect.DeepEqual(got, want) {
		t.Errorf("got %+v, want %+v", got, want)
	}
}

func TestWrongArgumentsAreNamed(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		`[]`: "one JSON object", `{"title":"A"} {}`: "one JSON object", `{}`: "title: is required", `{"title":" "}`: "title: must not be blank",
		`{"title":"A","kind":"x"}`: "kind: must be one of bug, task", `{"title":"A","limit":21}`: "limit: must be between 1 and 20",
		`{"title":"A","limit":1.5}`: "limit: must be a whole number", `{"title":"A","score":-1}`: "score: must be at least 0",
		`{"title":"A","labels":[]}`: "labels: must have at least 1 items", `{"title":"A","labels":["a","b","c"]}`: "labels: must have at most 2 items",
		`{"title":"A","fields":{"a":{}}}`: "fields: must be an object whose values are strings; wrong is a", `{"title":"A","fields":{"a":1,"b":1,"c":1}}`: "fields: must have at most 2 fields",
		`{"title":"A","window":{}}`: "window.start: is required", `{"title":"A","window":{"start":"now","end":1}}`: "window.end: is not known; known are start",
	} {
		_, err := arguments.Decode[input](json.RawMessage(text))
		if e := apierr.From(err); err == nil || e.Code != apierr.InvalidRequest || !strings.Contains(e.Message, want) {
			t.Errorf("%s: got %v, want %q", text, err, want)
		}
	}
}

func TestTheSchemaOfAnInputAcceptsWhatItDecodes(t *testing.T) {
	t.Parallel()
	schema := arguments.Schema[input]()
	if err := arguments.CheckSchema(schema); err != nil {
		t.Fatal(err)
	}
	for text, ok := range map[string]bool{
		`{"title":"A","labels":["x"],"fields":{"a":"b"},"window":{"start":"now"}}`: true,
		`{"title":"A","limit":0}`: false, `{"title":""}`: false, `{"title":"A","fields":{"a":1}}`: false, `{"title":"A","other":1}`: false, `{"title":"A","labels":[]}`: false,
	} {
		if err := arguments.Validate(schema, json.RawMessage(text)); (err == nil) != ok {
			t.Errorf("%s: %v", text, err)
		}
	}
}

func TestArgumentsAreCheckedAgainstSchemasOfOthers(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ schema, arguments, want string }{
		{`{}`, `{"a":1}`, ""},
		{`{"type":"object","properties":{"a":{"type":["string","null"]}}}`, `{"a":null}`, ""},
		{`{"properties":{"a":{"type":["string","null"]}}}`, `{"a":1}`, "a: must be string or null"},
		{`{"properties":{"a":{"type":"integer"}}}`, `{"a":2.0}`, ""},
		{`{"properties":{"a":{"type":"integer"}}}`, `{"a":2.5}`, "a: must be integer"},
		{`{"properties":{"a":{"enum":["x",1,null]}}}`, `{"a":1.0}`, ""},
		{`{"properties":{"a":{"enum":["x",1]}}}`, `{"a":"y"}`, "a: must be one of x, 1"},
		{`{"properties":{"a":{"const":{"b":[1]}}}}`, `{"a":{"b":[1]}}`, ""},
		{`{"properties":{"a":{"const":{"b":[1]}}}}`, `{"a":{"b":[2]}}`, `a: must be {"b":[1]}`},
		{`{"properties":{"a":{"minimum":1,"exclusiveMaximum":5,"multipleOf":0.1}}}`, `{"a":4.3}`, ""},
		{`{"properties":{"a":{"exclusiveMaximum":5}}}`, `{"a":5}`, "a: must be less than 5"},
		{`{"properties":{"a":{"exclusiveMinimum":5}}}`, `{"a":5}`, "a: must be more than 5"},
		{`{"properties":{"a":{"maximum":5}}}`, `{"a":6}`, "a: must be at most 5"},
		{`{"properties":{"a":{"multipleOf":3}}}`, `{"a":7}`, "a: must be a multiple of 3"},
		{`{"properties":{"a":{"minimum":3}}}`, `{"a":1e999}`, "a: must be a smaller number"},
		{`{"properties":{"a":{"minLength":2}}}`, `{"a":"é"}`, "a: must have at least 2 characters"},
		{`{"properties":{"a":{"maxLength":2}}}`, `{"a":"éüö"}`, "a: must have at most 2 characters"},
		{`{"properties":{"a":{"pattern":"^[a-z]+$"}}}`, `{"a":"A"}`, "a: must match the pattern ^[a-z]+$"},
		{`{"properties":{"a":{"pattern":"(?!x)"}}}`, `{"a":"x"}`, ""},
		{`{"required":["a"]}`, `{}`, "a: is required"},
		{`{"properties":{"o":{"required":["a"]}}}`, `{"o":{}}`, "o.a: is required"},
		{`{"properties":{"a":{}},"additionalProperties":false}`, `{"b":1}`, "b: is not known; known are a"},
		{`{"additionalProperties":{"type":"string"}}`, `{"b":1}`, "b: must be string"},
		{`{"patternProperties":{"^x-":{"type":"string"}},"additionalProperties":false}`, `{"x-a":"1"}`, ""},
		{`{"patternProperties":{"^x-":{"type":"string"}}}`, `{"x-a":1}`, "x-a: must be string"},
		{`{"propertyNames":{"maxLength":1}}`, `{"ab":1}`, "ab: has a name that is not allowed"},
		{`{"minProperties":1}`, `{}`, "must have at least 1 fields"},
		{`{"maxProperties":1}`, `{"a":1,"b":1}`, "must have at most 1 fields"},
		{`{"dependentRequired":{"a":["b"]}}`, `{"a":1}`, "b: is required with a"},
		{`{"dependentSchemas":{"a":{"required":["c"]}}}`, `{"a":1}`, "c: is required"},
		{`{"properties":{"a":{"items":{"type":"string"}}}}`, `{"a":["x",1]}`, "a[1]: must be string"},
		{`{"properties":{"a":{"prefixItems":[{"type":"string"}],"items":false}}}`, `{"a":["x",1]}`, "a[1]: is not allowed"},
		{`{"properties":{"a":{"items":[{"type":"string"}],"additionalItems":{"type":"number"}}}}`, `{"a":["x","y"]}`, "a[1]: must be number"},
		{`{"properties":{"a":{"minItems":2}}}`, `{"a":[1]}`, "a: must have at least 2 items"},
		{`{"properties":{"a":{"maxItems":1}}}`, `{"a":[1,2]}`, "a: must have at most 1 items"},
		{`{"properties":{"a":{"uniqueItems":true}}}`, `{"a":[1,"1"]}`, ""},
		{`{"properties":{"a":{"uniqueItems":true}}}`, `{"a":[{"b":1},{"b":1}]}`, "a: must not have the same item twice"},
		{`{"properties":{"a":{"contains":{"const":1}}}}`, `{"a":[2]}`, "a: lacks an item that it must contain"},
		{`{"properties":{"a":{"anyOf":[{"type":"string"},{"type":"number"}]}}}`, `{"a":true}`, "a: has none of the allowed forms; in one of them it must be string"},
		{`{"properties":{"a":{"oneOf":[{"type":"integer"},{"type":"number"}]}}}`, `{"a":1}`, "a: must have exactly one of the allowed forms; it has 2"},
		{`{"properties":{"a":{"oneOf":[{"type":"string"},{"required":["b"]}]}}}`, `{"a":{}}`, "a.b: is required"},
		{`{"properties":{"a":{"not":{"const":1}}}}`, `{"a":1}`, "a: has a form that is not allowed"},
		{`{"if":{"required":["a"]},"then":{"required":["b"]},"else":{"required":["c"]}}`, `{"a":1}`, "b: is required"},
		{`{"if":{"required":["a"]},"then":{"required":["b"]},"else":{"required":["c"]}}`, `{}`, "c: is required"},
		{`{"$defs":{"n/o":{"type":"string"}},"properties":{"a":{"$ref":"#/$defs/n~1o"}}}`, `{"a":1}`, "a: must be string"},
		{`{"properties":{"child":{"$ref":"#"},"n":{"type":"number"}}}`, `{"child":{"child":{"n":"x"}}}`, "child.child.n: must be number"},
		{`{"properties":{"a":{"$ref":"https://other.example/schema"}}}`, `{"a":1}`, "refers to something that is not in it"},
		{`{"properties":{"a":{"$ref":"#/$defs/none"}}}`, `{"a":1}`, "refers to something that is not in it"},
		{`{"type":"array"}`, `{}`, "not that of an object"},
		{`[]`, `{}`, "not a JSON object"},
		{`{}`, `[]`, "one JSON object"},
		{`{}`, `{} 1`, "one JSON object"},
		{`{"properties":{"a":false}}`, "{\"a\":1}", "a: is not allowed"},
		{`{"additionalProperties":false}`, "{\"a\\u202eb\\n\":1}", "is not known"},
	} {
		err := arguments.Validate(json.RawMessage(c.schema), json.RawMessage(c.arguments))
		switch {
		case c.want == "" && err != nil:
			t.Errorf("%s with %s: %v", c.schema, c.arguments, err)
		case c.want != "" && (err == nil || apierr.From(err).Code != apierr.InvalidRequest || !strings.Contains(err.Error(), c.want)):
			t.Errorf("%s with %s: got %v, want %q", c.schema, c.arguments, err, c.want)
		}
		if err != nil && strings.ContainsAny(err.Error(), "\u202e\n") {
			t.Errorf("%q has characters that change a page", err.Error())
		}
	}
}

// A schema is written by a server that nobody vouches for.
func TestTheCostOfASchemaIsBounded(t *testing.T) {
	t.Parallel()
	doubling := `{"allOf":[{"$ref":"#/$defs/0"}],"$defs":{`
	for i := range 60 {
		if i > 0 {
			doubling += ","
		}
		next := "#/$defs/" + string(rune('0'+i%10))
		doubling += `"` + string(rune('0'+i%10)) + strings.Repeat("x", i/10) + `":{"anyOf":[{"$ref":"` + next + `"},{"$ref":"` + next + `"}]}`
	}
	doubling += `}}`
	for name, c := range map[string]struct{ schema, arguments string }{
		"a loop":       {`{"$ref":"#"}`, `{}`},
		"a loop of 2":  {`{"allOf":[{"$ref":"#/$defs/a"}],"$defs":{"a":{"anyOf":[{"$ref":"#"},{"$ref":"#"}]}}}`, `{}`},
		"doubling":     {doubling, `{}`},
		"deep":         {`{"additionalProperties":{"$ref":"#"}}`, strings.Repeat(`{"a":`, 200) + "1" + strings.Repeat("}", 200)},
		"many items":   {`{"properties":{"a":{"items":{"anyOf":[{"type":"string"},{"type":"null"},{"type":"number"}]}}}}`, `{"a":[` + strings.Repeat("1,", 60_000) + `1]}`},
		"a big schema": {`{"description":"` + strings.Repeat("x", 128<<10) + `"}`, `{}`},
		"big values":   {`{}`, `{"a":"` + strings.Repeat("x", 1<<20) + `"}`},
	} {
		if err := arguments.Validate(json.RawMessage(c.schema), json.RawMessage(c.arguments)); err == nil || apierr.From(err).Code != apierr.InvalidRequest {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func FuzzValidate(f *testing.F) {
	f.Add(`{"type":"object","properties":{"a":{"type":"string","pattern":"^a"}},"required":["a"]}`, `{"a":"b"}`)
	f.Add(`{"$ref":"#/$defs/a","$defs":{"a":{"oneOf":[{"$ref":"#"},{"items":[true,false]}]}}}`, `{"x":[[1]]}`)
	f.Add(`{"if":{"not":{"contains":{}}},"then":false,"multipleOf":0}`, `{"a":1e400}`)
	f.Fuzz(func(t *testing.T, schema, values string) {
		err := arguments.Validate(json.RawMessage(schema), json.RawMessage(values))
		if err != nil && apierr.From(err).Code != apierr.InvalidRequest {
			t.Errorf("%v is no error of the arguments", err)
		}
		if _, err := arguments.Decode[input](json.RawMessage(values)); err != nil && apierr.From(err).Code != apierr.InvalidRequest {
			t.Errorf("%v is no error of the arguments", err)
		}
	})
}
