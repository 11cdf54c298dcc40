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

// maxEventLine is the longest line of a stream that is read.
const maxEventLine = 4 << 20

type linesKey struct{}

// eventLines stands between the response and the client library and passes on the lines with data only. The library
// takes comments and event names for parts of an error message, loses errors that come as plain text, and does not tell
// the end of a stream from the end of a connection.
type eventLines struct {
	body    io.ReadCloser
	reader  *bufio.Reader
	pending []byte
	done    bool   // the mark of the end was seen
	problem []byte // what stood in an error event
}

// newEventLines puts the eventLines of the request's context before a body.
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
			return 0, io.EOF // nothing of use follows, and the service may leave the connection open
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

// keep reports whether the library should see a line, and takes from it what the library would miss.
func (l *eventLines) keep(line []byte) bool {
	trimmed := bytes.TrimSpace(line)
	data, found := bytes.CutPrefix(trimmed, []byte("data:"))
	if !found {
		if len(trimmed) > 0 && trimmed[0] == '{' {
			l.problem = problemIn(trimmed) // an error in place of a stream
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

// failure returns the error that the stream told of, nil when it told of none.
func (l *eventLines) failure(key string) error {
	if l.problem == nil {
		return nil
	}
	var said struct {
		Message string `json:"message"`
		Type    string `json:"type"`
		Code    any    `json:"code"`
	}
	if json.Unmarshal(l.problem, &said) != nil {
		_ = json.Unmarshal(l.problem, &said.Message) // some services send a sentence
	}
	return provider.FromStream("chat", said.Code, said.Type, said.Message, key)
}

// Close implements io.Closer.
func (l *eventLines) Close() error { return l.body.Close() }
