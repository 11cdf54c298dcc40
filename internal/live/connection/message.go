package connection

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/99designs/gqlgen/graphql"

	"github.com/magpie-search/magpie/internal/request/body"
)

// The types of messages of the graphql-transport-ws protocol
// (github.com/enisdenjo/graphql-ws, PROTOCOL.md).
const (
	typeInit      = "connection_init"
	typeAck       = "connection_ack"
	typePing      = "ping"
	typePong      = "pong"
	typeSubscribe = "subscribe"
	typeNext      = "next"
	typeError     = "error"
	typeComplete  = "complete"
)

// maxID bounds the id of an operation.
const maxID = 256

// A message is a message of the protocol, in either direction.
type message struct {
	ID      string          `json:"id,omitempty"`
	Type    string          `json:"type"`
	Payload json.RawMessage `json:"payload,omitempty"`
}

// decode decodes a message of a client.
func decode(b []byte) (message, error) {
	if body.CheckDepth(b) != nil {
		return message{}, fmt.Errorf("Invalid message received: it is nested more than %d levels deep", body.MaxDepth) //nolint:staticcheck // the client sees the text
	}
	var m struct {
		ID      *string         `json:"id"`
		Type    string          `json:"type"`
		Payload json.RawMessage `json:"payload"`
	}
	if err := json.Unmarshal(b, &m); err != nil {
		return message{}, errors.New("Invalid message received: it must be a JSON object with a type") //nolint:staticcheck // the client sees the text
	}
	out := message{Type: m.Type, Payload: m.Payload}
	if m.ID != nil {
		out.ID = *m.ID
	}
	switch {
	case out.Type == "":
		return message{}, errors.New("Invalid message received: it has no type") //nolint:staticcheck // as above
	case (out.Type == typeSubscribe || out.Type == typeComplete) && (out.ID == "" || len(out.ID) > maxID):
		return message{}, fmt.Errorf("Invalid message received: %s needs an id of 1 to %d bytes", out.Type, maxID) //nolint:staticcheck // as above
	}
	return out, nil
}

// object decodes a payload that is an object, null or missing.
func object(payload json.RawMessage) (map[string]any, error) {
	if len(payload) == 0 || bytes.Equal(payload, []byte("null")) {
		return map[string]any{}, nil
	}
	var o map[string]any
	if err := json.Unmarshal(payload, &o); err != nil {
		return nil, errors.New("Invalid message received: the payload must be an object") //nolint:staticcheck // as above
	}
	return o, nil
}

// operation decodes the payload of a subscribe message.
func operation(payload json.RawMessage) (*graphql.RawParams, error) {
	var request struct {
		Query         *string        `json:"query"`
		OperationName string         `json:"operationName"`
		Variables     map[string]any `json:"variables"`
		Extensions    map[string]any `json:"extensions"`
	}
	// A large id or count must not become a float.
	decoder := json.NewDecoder(bytes.NewReader(payload))
	decoder.UseNumber()
	if err := decoder.Decode(&request); err != nil || request.Query == nil || *request.Query == "" {
		return nil, errors.New("Invalid message received: subscribe needs a payload with a query, and objects as variables and extensions") //nolint:staticcheck // as above
	}
	return &graphql.RawParams{
		Query: *request.Query, OperationName: request.OperationName, Variables: request.Variables, Extensions: request.Extensions,
	}, nil
}

// encode encodes a message with an encoded payload.
func encode(kind, id string, payload []byte) []byte {
	quoted, err := json.Marshal(id)
	if err != nil {
		quoted = []byte(`""`) // a string has no encoding error
	}
	b := make([]byte, 0, len(quoted)+len(payload)+len(`{"id":,"type":"","payload":}`)+len(kind))
	b = append(b, '{')
	if id != "" {
		b = append(append(append(b, `"id":`...), quoted...), ',')
	}
	b = append(append(append(b, `"type":"`...), kind...), '"')
	if len(payload) > 0 {
		b = append(append(b, `,"payload":`...), payload...)
	}
	return append(b, '}')
}
