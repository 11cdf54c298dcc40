package client

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"iter"
	"mime"
	"net/http"
	"strings"
)

// maxEventBytes is the longest line of a stream.
const maxEventBytes = 8 << 20

// Event is an event of a stream: its name, such as content, and its data as JSON.
type Event struct {
	Name string
	Data json.RawMessage
}

// Events returns the events of a streamed response, such as that of RunAgent, and closes
// its body. It ends with an error if the stream breaks off, is no stream, or has the
// event error, which is a *ResponseError.
func Events(response *http.Response) iter.Seq2[Event, error] {
	return func(yield func(Event, error) bool) {
		defer func() { _ = response.Body.Close() }()
		if kind, _, _ := mime.ParseMediaType(response.Header.Get("Content-Type")); kind != "text/event-stream" {
			yield(Event{}, fmt.Errorf("client: the response is %q instead of a stream of events", kind))
			return
		}
		lines := bufio.NewScanner(response.Body)
		lines.Buffer(nil, maxEventBytes)
		var name string
		var data []string
		for lines.Scan() {
			field, value, _ := strings.Cut(lines.Text(), ":")
			value = strings.TrimPrefix(value, " ")
			switch {
			case field == "event":
				name = value
			case field == "data":
				data = append(data, value)
			case lines.Text() != "" || data == nil: // a comment, or a blank line after one
			default:
				event := Event{Name: name, Data: json.RawMessage(strings.Join(data, "\n"))}
				name, data = "", nil
				if event.Name == "error" {
					yield(event, streamError(event.Data))
					return
				}
				if !yield(event, nil) {
					return
				}
			}
		}
		if err := lines.Err(); err != nil {
			yield(Event{}, fmt.Errorf("client: read the stream: %w", err))
		} else if name != "" || data != nil {
			yield(Event{}, fmt.Errorf("client: read the stream: %w", io.ErrUnexpectedEOF))
		}
	}
}

func streamError(data json.RawMessage) error {
	var body Error
	if err := json.Unmarshal(data, &body); err != nil {
		return fmt.Errorf("client: decode the error of the stream: %w", err)
	}
	return &ResponseError{Code: body.Error.Code, Message: body.Error.Message}
}

// ChatPart is the next part of an answer. One of its fields is set.
type ChatPart struct {
	Content   string             // the next text: Markdown, in which [1] cites the first source
	Sources   []ChatSourceOfChat // the cited documents
	Questions []string           // suggested next questions
	Done      *ChatDone          // the answer is complete; it has the id of the conversation
}

// Chat asks a question and returns the parts of the answer as they arrive. The last one
// has Done, unless an error ends the answer. The request is sent when the parts are read,
// each time; breaking off the loop ends the answer.
func (a *API) Chat(ctx context.Context, question StreamChatRequest) iter.Seq2[ChatPart, error] {
	return func(yield func(ChatPart, error) bool) {
		ctx, cancel := context.WithCancel(ctx)
		defer cancel()
		response, err := a.StreamChat(ctx, question)
		if err != nil {
			yield(ChatPart{}, err)
			return
		}
		for event, err := range Events(response) {
			var part ChatPart
			if err == nil {
				part, err = chatPart(event)
			}
			if !yield(part, err) || err != nil || part.Done != nil {
				return
			}
		}
		yield(ChatPart{}, errors.New("client: the answer broke off"))
	}
}

func chatPart(event Event) (part ChatPart, err error) {
	switch event.Name {
	case "content":
		var content ChatContent
		err = json.Unmarshal(event.Data, &content)
		part.Content = content.Delta
	case "sources":
		var sources ChatSources
		err = json.Unmarshal(event.Data, &sources)
		part.Sources = sources.Sources
	case "follow_up":
		var next ChatFollowUp
		err = json.Unmarshal(event.Data, &next)
		part.Questions = next.Questions
	case "done":
		part.Done = &ChatDone{}
		err = json.Unmarshal(event.Data, part.Done)
	}
	if err != nil {
		err = fmt.Errorf("client: decode the event %s: %w", event.Name, err)
	}
	return part, err
}
