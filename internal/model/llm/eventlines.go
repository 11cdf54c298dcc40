package llm

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"net/http"

	"github.com/magpie-search/magpie/internal/model/llm/provider"
)

// maxEventLine is the largest number of bytes of a line of a stream.
const maxEventLine = 4 << 20

type linesKey struct{}

// An eventLines filters the lines of a response for the client library and passes on only lines with data. The library
// would treat comments and event names as parts of an error message. It also loses errors in plain text, and does not
// distinguish the end of a stream from the end of a connection.
type eventLines struct {
	body    io.ReadCloser
	reader  *bufio.Reader
	pending []byte
	done    bool   // the end of the stream was read
	problem []byte // the value of an error event
}

// newEventLines returns the body filtered by the eventLines in the context of the request.
func newEventLines(request *http.Request, body io.ReadCloser) io.ReadCloser {
	lines, ok := request.Context().Value(linesKey{}).(*eventLines)
	if !ok {
		return body
	}
	lines.body, lines.reader = body, bufio.NewReader(body)
	return lines
}

// Read implements io.Reader.
func (l *eventLines) Read(p []byte) (int, error) {
	for len(l.pending) == 0 {
		if l.problem != nil {
			return 0, io.EOF // the service may leave the connection open
		}
		line, err := l.line()
		if l.keep(line) {
			l.pending = line
		}
		if err != nil && len(l.pending) == 0 {
			return 0, err
		}
	}
	n := copy(p, l.pending)
	l.pending = l.pending[n:]
	return n, nil
}

func (l *eventLines) line() ([]byte, error) {
	var line []byte
	for {
		part, err := l.reader.ReadSlice('\n')
		line = append(line, part...)
		if len(line) > maxEventLine {
			return nil, errors.New("a line of the stream is too long")
		}
		if !errors.Is(err, bufio.ErrBufferFull) {
			return line, err
		}
	}
}

// keep reports whether the library reads a line. It sets done and problem from the line.
func (l *eventLines) keep(line []byte) bool {
	trimmed := bytes.TrimSpace(line)
	data, found := bytes.CutPrefix(trimmed, []byte("data:"))
	if !found {
		if len(trimmed) > 0 && trimmed[0] == '{' {
			l.problem = problemIn(trimmed) // an error instead of a stream
		}
		return false
	}
	data = bytes.TrimSpace(data)
	if string(data) == "[DONE]" {
		l.done = true
		return true
	}
	if problem := problemIn(data); problem != nil {
		l.problem = problem
		return false
	}
	return len(data) > 0
}

// problemIn returns the value of a top-level "error" that is not null.
func problemIn(data []byte) []byte {
	if !bytes.Contains(data, []byte(`"error"`)) {
		return nil
	}
	var event struct {
		Error json.RawMessage `json:"error"`
	}
	if json.Unmarshal(data, &event) != nil || len(event.Error) == 0 || string(event.Error) == "null" {
		return nil
	}
	return event.Error
}

// failure returns the error in the stream, or nil.
func (l *eventLines) failure(key string) error {
	if l.problem == nil {
		return nil
	}
	var body struct {
		Message string `json:"message"`
		Type    string `json:"type"`
		Code    any    `json:"code"`
	}
	if json.Unmarshal(l.problem, &body) != nil {
		_ = json.Unmarshal(l.problem, &body.Message) // some services send a sentence
	}
	return provider.FromStream("chat", body.Code, body.Type, body.Message, key)
}

// Close implements io.Closer.
func (l *eventLines) Close() error { return l.body.Close() }
