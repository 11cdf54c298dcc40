package rest_test

import (
	"bytes"
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"github.com/magpie-search/magpie/rest"
)

// sameParts compares the parts of a JSON text with those that encoding/json
// finds. A text that is none has to end in peace.
func sameParts(t *testing.T, raw []byte) {
	t.Helper()
	keys, values, err := rest.Parts(raw)
	if !json.Valid(raw) {
		return
	}
	kind := bytes.TrimSpace(raw)
	switch {
	case string(raw) == "null":
		if err != nil || len(values) != 0 {
			t.Fatalf("null: %q, %v", values, err)
		}
	case kind[0] == '{':
		var want map[string]json.RawMessage
		if json.Unmarshal(raw, &want) != nil {
			t.Fatalf("%s: encoding/json cannot read it", raw)
		}
		if slices.ContainsFunc(keys, func(key string) bool { return strings.Contains(key, `\`) || !json.Valid([]byte(`"`+key+`"`)) }) {
			return // the executor has no such keys
		}
		if err != nil || len(values) < len(want) {
			t.Fatalf("%s: %q, %v", raw, values, err)
		}
		for i, key := range keys {
			if other, ok := want[key]; !slices.Contains(keys[i+1:], key) && (!ok || !bytes.Equal(values[i], other)) && strings.ToValidUTF8(key, "") == key {
				t.Fatalf("%s: %s is %q, want %q", raw, key, values[i], other)
			}
		}
	case kind[0] == '[':
		var want []json.RawMessage
		if json.Unmarshal(raw, &want) != nil {
			t.Fatalf("%s: encoding/json cannot read it", raw)
		}
		if err != nil || !slices.EqualFunc(values, want, func(a []byte, b json.RawMessage) bool { return bytes.Equal(a, b) }) {
			t.Fatalf("%s: %q, %v; want %q", raw, values, err, want)
		}
	case err == nil:
		t.Fatalf("%s has the parts %q", raw, values)
	}
}

func partTexts() []string {
	return []string{
		`{}`, `[]`, `null`, ` { } `, `[ ]`, `{"a":1}`, `{"a":1,"b":[2,{"c":"}"}],"d":"\"","e":"\\","f":"\\\"","g":null}`,
		"{\"a\" : 1 ,\n\"b\": { \"c\" : [ ] }\n}", `[1,"a,b",[],{},true,false,null,-1.5e+3]`, "[ 1 , 2 ]", `["[",{"a":"]"}]`,
		`7`, `"x"`, `true`, ``, ` `, `{`, `[`, `{"a"`, `{"a":`, `{"a":1`, `{"a":1,`, `{"a":"`, `{"a":"\`, `{a:1}`, `[1`, `[1,`, `[}`, `{]`, `[1}2]`, `{"a":}`, `{:}`,
	}
}

func TestPartsAreThoseOfTheText(t *testing.T) {
	t.Parallel()
	for _, raw := range partTexts() {
		sameParts(t, []byte(raw))
	}
	for _, raw := range []string{`{"a":1`, `{"a"`, `[1`, `[1,`, `{"a":"`, `{a:1}`, `"x"`, `7`, `{`} {
		if _, values, err := rest.Parts([]byte(raw)); err == nil {
			t.Errorf("%s has the parts %q", raw, values)
		}
	}
}

func FuzzParts(f *testing.F) {
	for _, raw := range partTexts() {
		f.Add([]byte(raw))
	}
	f.Fuzz(sameParts)
}
