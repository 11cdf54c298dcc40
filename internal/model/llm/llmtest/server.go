package llmtest

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"

	"github.com/magpie-search/magpie/internal/model/llm"
)

// A Reply is the response to one request.
type Reply struct {
	// Status, Header and Body are a response without a stream, if Status is not 0.
	Status int
	Header map[string]string
	Body   string
	// Hold delays the response until it is closed or the client disconnects.
	Hold <-chan struct{}
	// Parts are the pieces of text of a stream, and Usage its token counts.
	Parts []string
	Usage *[2]int
	// Calls are the tool calls after the parts.
	Calls []llm.ToolCall
	// Raw replaces the stream of Parts.
	Raw string
	// Pieces is the number of bytes of each write.
	Pieces int
	// Cut closes the connection before the end of the stream.
	Cut bool
	// HoldAfter delays the end of the stream.
	HoldAfter <-chan struct{}
}

// A Request is a request to the server.
type Request struct {
	Path string
	// Authorization is the header of that name, and APIKey the header of Anthropic's protocol.
	Authorization, APIKey string
	Header                http.Header
	Body                  map[string]any
}

// A Server sends replies in order and repeats the last one. It has the OpenAI chat completions protocol, and Anthropic's on
// paths that end in /messages.
type Server struct {
	// URL is the base URL for a client, including the version.
	URL string

	mu       sync.Mutex
	replies  []Reply
	requests []Request
	gone     chan struct{}
}

// NewServer starts a server on a loopback port. It stops at the end of the test.
func NewServer(t testing.TB, replies ...Reply) *Server {
	t.Helper()
	s := &Server{replies: replies, gone: make(chan struct{}, 16)}
	server := httptest.NewServer(http.HandlerFunc(s.serve))
	t.Cleanup(server.Close)
	s.URL = server.URL + "/v1"
	return s
}

// Requests returns the requests so far.
func (s *Server) Requests() []Request {
	s.mu.Lock()
	defer s.mu.Unlock()
	return append([]Request(nil), s.requests...)
}

// Gone receives a value for each request whose client disconnected early.
func (s *Server) Gone() <-chan struct{} { return s.gone }

func (s *Server) next(r *http.Request) Reply {
	request := Request{Path: r.URL.Path, Authorization: r.Header.Get("Authorization"), APIKey: r.Header.Get("X-Api-Key"), Header: r.Header}
	content, err := io.ReadAll(r.Body)
	if err == nil {
		err = json.Unmarshal(content, &request.Body)
	}
	if err != nil {
		return Reply{Status: http.StatusBadRequest, Body: `{"error":{"message":"the body is no JSON","type":"invalid_request_error"}}`}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.requests = append(s.requests, request)
	if wrong := refusal(r.URL.Path, request.Body); wrong != "" {
		return Reply{Status: http.StatusBadRequest, Body: `{"error":{"message":` + quoted(wrong) + `,"type":"invalid_request_error"}}`}
	}
	if len(s.replies) == 0 {
		return Reply{Status: http.StatusNotFound}
	}
	reply := s.replies[0]
	if len(s.replies) > 1 {
		s.replies = s.replies[1:]
	}
	return reply
}

func (s *Server) serve(w http.ResponseWriter, r *http.Request) {
	reply := s.next(r)
	if !s.wait(r, reply.Hold) {
		return
	}
	for key, value := range reply.Header {
		w.Header().Set(key, value)
	}
	if reply.Status != 0 {
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(reply.Status)
		_, _ = io.WriteString(w, reply.Body)
		return
	}
	w.Header().Set("Content-Type", "text/event-stream")
	w.WriteHeader(http.StatusOK)
	stream, ending := reply.Raw, ""
	if stream == "" {
		anthropic := strings.HasSuffix(r.URL.Path, "/messages")
		switch {
		case anthropic && reply.Calls != nil:
			stream, ending = AnthropicCallStream(reply.Parts, reply.Calls, reply.Usage)
		case anthropic:
			stream, ending = AnthropicStream(reply.Parts, reply.Usage)
		case reply.Calls != nil:
			stream, ending = CallStream(reply.Parts, reply.Calls, reply.Usage)
		default:
			stream, ending = Stream(reply.Parts, reply.Usage)
		}
	}
	write(w, stream, reply.Pieces)
	if !s.wait(r, reply.HoldAfter) {
		return
	}
	if reply.Cut {
		panic(http.ErrAbortHandler)
	}
	write(w, ending, reply.Pieces)
}

// wait waits for hold and reports whether the client is still connected.
func (s *Server) wait(r *http.Request, hold <-chan struct{}) bool {
	if hold == nil {
		return true
	}
	select {
	case <-hold:
		return true
	case <-r.Context().Done():
		s.gone <- struct{}{}
		return false
	}
}

func write(w http.ResponseWriter, text string, pieces int) {
	if pieces <= 0 {
		pieces = max(len(text), 1)
	}
	flusher := http.NewResponseController(w)
	for text != "" {
		n := min(pieces, len(text))
		_, _ = io.WriteString(w, text[:n])
		_ = flusher.Flush()
		text = text[n:]
	}
}

// Stream returns the encoded events of an answer, and those of its end.
func Stream(parts []string, usage *[2]int) (events, ending string) {
	var b strings.Builder
	event := func(choices string) {
		fmt.Fprintf(&b, "data: {\"id\":\"c1\",\"object\":\"chat.completion.chunk\",\"created\":1,\"model\":\"m\",\"choices\":[%s]}\n\n", choices)
	}
	event(`{"index":0,"delta":{"role":"assistant","content":""},"finish_reason":null}`)
	for _, part := range parts {
		quoted, _ := json.Marshal(part)
		event(fmt.Sprintf(`{"index":0,"delta":{"content":%s},"finish_reason":null}`, quoted))
	}
	events = b.String()
	b.Reset()
	event(`{"index":0,"delta":{},"finish_reason":"stop"}`)
	if usage != nil {
		fmt.Fprintf(&b, "data: {\"id\":\"c1\",\"object\":\"chat.completion.chunk\",\"created\":1,\"model\":\"m\",\"choices\":[],"+
			"\"usage\":{\"prompt_tokens\":%d,\"completion_tokens\":%d,\"total_tokens\":%d}}\n\n", usage[0], usage[1], usage[0]+usage[1])
	}
	b.WriteString("data: [DONE]\n\n")
	return events, b.String()
}

// AnthropicStream is Stream in Anthropic's protocol.
func AnthropicStream(parts []string, usage *[2]int) (events, ending string) {
	if usage == nil {
		usage = &[2]int{9, len(parts)}
	}
	var b strings.Builder
	event := func(kind, fields string) {
		fmt.Fprintf(&b, "event: %s\ndata: {\"type\":\"%s\"%s}\n\n", kind, kind, fields)
	}
	event("message_start", fmt.Sprintf(`,"message":{"id":"msg_1","type":"message","role":"assistant","model":"m","content":[],"stop_reason":null,`+
		`"stop_sequence":null,"usage":{"input_tokens":%d,"cache_creation_input_tokens":0,"cache_read_input_tokens":0,"output_tokens":1}}`, usage[0]))
	event("content_block_start", `,"index":0,"content_block":{"type":"text","text":""}`)
	event("ping", "")
	for _, part := range parts {
		quoted, _ := json.Marshal(part)
		event("content_block_delta", fmt.Sprintf(`,"index":0,"delta":{"type":"text_delta","text":%s}`, quoted))
	}
	events = b.String()
	b.Reset()
	event("content_block_stop", `,"index":0`)
	event("message_delta", fmt.Sprintf(`,"delta":{"stop_reason":"end_turn","stop_sequence":null},"usage":{"output_tokens":%d}`, usage[1]))
	event("message_stop", "")
	return events, b.String()
}
