package llmtest

import (
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/magpie-search/magpie/internal/model/llm"
)

// pieceSize is the number of bytes of a piece of arguments.
const pieceSize = 7

func quoted(text string) string {
	out, _ := json.Marshal(text) // a string cannot fail
	return string(out)
}

func pieces(text string) []string {
	var all []string
	for part := range slices.Chunk([]rune(text), pieceSize) {
		all = append(all, string(part))
	}
	return all
}

// CallStream returns the encoded events of an answer with tool calls, and those of its end. As in real services, the id and
// the name of a call come first, then its arguments in pieces; the pieces of several calls may be interleaved.
func CallStream(parts []string, calls []llm.ToolCall, usage *[2]int) (events, ending string) {
	events, ending = Stream(parts, usage)
	var b strings.Builder
	event := func(call string) {
		fmt.Fprintf(&b, "data: {\"id\":\"c1\",\"object\":\"chat.completion.chunk\",\"created\":1,\"model\":\"m\",\"choices\":[{\"index\":0,\"delta\":{\"tool_calls\":[%s]},\"finish_reason\":null}]}\n\n", call)
	}
	for i, call := range calls {
		event(fmt.Sprintf(`{"index":%d,"id":%s,"type":"function","function":{"name":%s,"arguments":""}}`, i, quoted(call.ID), quoted(call.Name)))
	}
	for i, call := range calls {
		for _, piece := range pieces(call.Arguments) {
			event(fmt.Sprintf(`{"index":%d,"function":{"arguments":%s}}`, i, quoted(piece)))
		}
	}
	return events + b.String(), strings.Replace(ending, `"finish_reason":"stop"`, `"finish_reason":"tool_calls"`, 1)
}

// AnthropicCallStream is CallStream in Anthropic's protocol.
func AnthropicCallStream(parts []string, calls []llm.ToolCall, usage *[2]int) (events, ending string) {
	events, ending = AnthropicStream(parts, usage)
	closing := "event: content_block_stop\ndata: {\"type\":\"content_block_stop\",\"index\":0}\n\n"
	ending = strings.Replace(strings.TrimPrefix(ending, closing), `"stop_reason":"end_turn"`, `"stop_reason":"tool_use"`, 1)
	var b strings.Builder
	event := func(kind, fields string) {
		fmt.Fprintf(&b, "event: %s\ndata: {\"type\":\"%s\"%s}\n\n", kind, kind, fields)
	}
	for i, call := range calls {
		event("content_block_start", fmt.Sprintf(`,"index":%d,"content_block":{"type":"tool_use","id":%s,"name":%s,"input":{}}`, i+1, quoted(call.ID), quoted(call.Name)))
		for _, piece := range append([]string{""}, pieces(call.Arguments)...) {
			event("content_block_delta", fmt.Sprintf(`,"index":%d,"delta":{"type":"input_json_delta","partial_json":%s}`, i+1, quoted(piece)))
		}
		event("content_block_stop", fmt.Sprintf(`,"index":%d`, i+1))
	}
	return events + closing + b.String(), ending
}

// refusal returns the error of a service for a request with invalid tool messages, or "".
func refusal(path string, body map[string]any) string {
	if strings.HasSuffix(path, "/messages") {
		return anthropicRefusal(body)
	}
	return openaiRefusal(body)
}

func list(v any) []any {
	all, _ := v.([]any)
	return all
}

func object(v any) map[string]any {
	fields, _ := v.(map[string]any)
	return fields
}

func text(v any) string {
	s, _ := v.(string)
	return s
}

// openaiRefusal checks the rules of chat completions: the results of all calls follow their turn, there are no other
// results, and arguments are JSON.
func openaiRefusal(body map[string]any) string {
	if _, given := body["tool_choice"]; given && len(list(body["tools"])) == 0 {
		return "'tool_choice' is only allowed when 'tools' are specified."
	}
	for _, tool := range list(body["tools"]) {
		function := object(object(tool)["function"])
		if wrong := wrongTool(text(function["name"]), object(function["parameters"])); wrong != "" {
			return wrong
		}
	}
	open := map[string]bool{}
	for _, m := range list(body["messages"]) {
		message := object(m)
		if message["role"] == "tool" {
			id := text(message["tool_call_id"])
			if !open[id] {
				return "messages with role 'tool' must be a response to a preceding message with 'tool_calls'."
			}
			if text(message["content"]) == "" {
				return "a tool message needs content"
			}
			delete(open, id)
			continue
		}
		if len(open) > 0 {
			return "An assistant message with 'tool_calls' must be followed by tool messages responding to each 'tool_call_id'."
		}
		for _, c := range list(message["tool_calls"]) {
			call := object(c)
			id := text(call["id"])
			if id == "" || open[id] || !json.Valid([]byte(text(object(call["function"])["arguments"]))) || call["type"] != "function" {
				return "a tool call is not in order"
			}
			open[id] = true
		}
	}
	if len(open) > 0 {
		return "a tool call was not answered"
	}
	return ""
}

// anthropicRefusal checks the rules of the Messages API: turns alternate, ids are unique, and the results of the calls come
// first in the next turn.
func anthropicRefusal(body map[string]any) string {
	for _, t := range list(body["tools"]) {
		tool := object(t)
		if wrong := wrongTool(text(tool["name"]), object(tool["input_schema"])); wrong != "" {
			return wrong
		}
	}
	seen, open, before := map[string]bool{}, map[string]bool{}, ""
	idForm := regexp.MustCompile(`^[a-zA-Z0-9_-]+$`)
	for _, m := range list(body["messages"]) {
		message := object(m)
		if message["role"] == before {
			return "messages: roles must alternate"
		}
		before = text(message["role"])
		results := before == "user"
		for _, b := range list(message["content"]) {
			block := object(b)
			switch block["type"] {
			case "tool_result":
				id := text(block["tool_use_id"])
				if !results || !open[id] {
					return "messages: unexpected `tool_use_id` found in `tool_result` blocks: " + id
				}
				delete(open, id)
				continue
			case "tool_use":
				id := text(block["id"])
				_, isObject := block["input"].(map[string]any)
				if seen[id] || !idForm.MatchString(id) || !isObject || len(list(body["tools"])) == 0 {
					return "messages: `tool_use` ids must be unique, inputs objects and tools given: " + id
				}
				seen[id], open[id] = true, true
				continue
			}
			results = false
			if before == "user" && len(open) > 0 {
				return "messages: `tool_use` ids were found without `tool_result` blocks immediately after"
			}
		}
		if before == "user" && len(open) > 0 {
			return "messages: `tool_use` ids were found without `tool_result` blocks immediately after"
		}
	}
	if len(open) > 0 {
		return "messages: a `tool_use` was not answered"
	}
	return ""
}

func wrongTool(name string, schema map[string]any) string {
	if !regexp.MustCompile(`^[a-zA-Z0-9_-]{1,64}$`).MatchString(name) || schema["type"] != "object" {
		return "a tool is not in order: " + name
	}
	return ""
}
