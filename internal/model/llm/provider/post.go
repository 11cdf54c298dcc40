package provider

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
)

// maxResponse is the largest number of bytes of a response that Call.Do reads.
const maxResponse = 64 << 20

// A Call is a request with a JSON body, for services without a client library.
type Call struct {
	Client *http.Client
	// Op is the operation of errors, and Key the secret that their texts must not have.
	Op, Key string
	URL     string
	Header  map[string]string
	Body    any
	// Mute leaves the service's message out of errors, which may contain texts of the request.
	Mute bool
}

// Do posts the body and reads the response, which must be JSON, into out. Its errors are *Error.
func (c Call) Do(ctx context.Context, out any) error {
	encoded, err := json.Marshal(c.Body)
	if err != nil {
		return c.invalid("the request cannot be written", 0)
	}
	noted, note := WithNote(ctx)
	request, err := http.NewRequestWithContext(noted, http.MethodPost, c.URL, bytes.NewReader(encoded))
	if err != nil {
		return c.invalid("the request cannot be made", 0)
	}
	request.Header.Set("Content-Type", "application/json")
	request.Header.Set("Accept", "application/json")
	for name, value := range c.Header {
		request.Header.Set(name, value)
	}
	response, err := (&Doer{Client: c.Client}).Do(request)
	if err != nil {
		return Classify(noted, c.Op, err, note, c.Key)
	}
	defer func() { _ = response.Body.Close() }() // the response was read
	content, err := io.ReadAll(io.LimitReader(response.Body, maxResponse+1))
	switch {
	case response.StatusCode >= http.StatusBadRequest:
		return c.refusal(response.StatusCode, content, note)
	case err != nil:
		return Classify(noted, c.Op, err, note, c.Key)
	case response.StatusCode != http.StatusOK:
		return c.invalid("this is no answer", response.StatusCode)
	case len(content) > maxResponse:
		return c.invalid("the answer is too long", 0)
	}
	if err := json.Unmarshal(content, out); err != nil {
		return c.invalid("the service sent a response that cannot be read", 0)
	}
	return nil
}

func (c Call) invalid(message string, status int) error {
	return &Error{Kind: KindInvalid, Op: c.Op, Status: status, Message: message}
}

// refusal returns the error of a failed response.
func (c Call) refusal(status int, content []byte, note *Note) error {
	names, message := refusalText(content)
	if c.Mute || message == "" {
		message = http.StatusText(status)
	}
	return FromResponse(c.Op, status, names, message, note, c.Key)
}

// refusalText returns the service's names of a failure and its message, in the forms of the services that Magpie knows:
// {error: {message, status}}, {error, error_type}, {message} and {detail}.
func refusalText(content []byte) (names, message string) {
	var body struct {
		Error     json.RawMessage `json:"error"`
		ErrorType string          `json:"error_type"`
		Message   string          `json:"message"`
		Detail    any             `json:"detail"`
	}
	if trimmed := bytes.TrimSpace(content); len(trimmed) > 0 && trimmed[0] == '[' { // a list of one error
		var list []json.RawMessage
		if json.Unmarshal(trimmed, &list) != nil || len(list) == 0 {
			return "", ""
		}
		content = list[0]
	}
	if json.Unmarshal(content, &body) != nil {
		return "", ""
	}
	names, message = body.ErrorType, body.Message
	var object struct {
		Message string `json:"message"`
		Status  string `json:"status"`
		Type    string `json:"type"`
	}
	var text string
	switch {
	case json.Unmarshal(body.Error, &object) == nil && object.Message != "":
		return object.Status + " " + object.Type, object.Message
	case json.Unmarshal(body.Error, &text) == nil && text != "":
		message = text
	case message == "" && body.Detail != nil:
		message = fmt.Sprint(body.Detail)
	}
	return names, message
}
