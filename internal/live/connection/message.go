package live

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

// maxID bounds the id that a client gives an operation.
const maxID = 256

// message is what goes both ways.
type message struct {
	ID      string          `json:"id,omitempty"`
	Type    string          `json:"type"`
	Payload json.RawMessage `json:"payload,omitempty"`
}

// decode reads a message of a client's.
func decode(b []byte) (message, error) {
	if body.CheckDepth(b) != nil {
		return message{}, fmt.Errorf("Invalid message received: it is nested more than %d levels deep", body.MaxDepth) //nolint:staticcheck // goes to the client as it is
	}
	var m struct {
		ID      *string         `json:"id"`
		Type    string          `json:"type"`
		Payload json.RawMessage `json:"payload"`
	}
	if err := json.Unmarshal(b, &m); err != nil {
		return message{}, errors.New("Invalid message received: it must be a JSON object with a type") //nolint:staticcheck // goes to the client as it is
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

// object reads a payload that is an object, null or left out.
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

// operation reads the payload of a subscribe message.
func operation(payload json.RawMessage) (*graphql.RawParams, error) {
	var given struct {
		Query         *string        `json:"query"`
		OperationName string         `json:"operationName"`
		Variables     map[string]any `json:"variables"`
		Extensions    map[string]any `json:"extensions"`
	}
	// Numbers stay as they are written: an id or a large count must not become a float.
	decoder := json.NewDecoder(bytes.NewReader(payload))
	decoder.UseNumber()
	if err := decoder.Decode(&given); err != nil || given.Query == nil || *given.Query == "" {
		return nil, errors.New("Invalid message received: subscribe needs a payload with a query, and objects as variables and extensions") //nolint:staticcheck // as above
	}
	return &graphql.RawParams{
		Query: *given.Query, OperationName: given.OperationName, Variables: given.Variables, Extensions: given.Extensions,
	}, nil
}

// encode writes a message around a payload that is JSON already.
func encode(kind, id string, payload []byte) []byte {
	quoted, err := json.Marshal(id)
	if err != nil {
		quoted = []byte(`""`) // no text fails
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
