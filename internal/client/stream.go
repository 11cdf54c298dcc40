package client

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"time"
)

// maxEvent is the maximum size of an event.
const maxEvent = 16 << 20

// Subscribe implements Executor. A stream that ends before the server has said so is an
// error.
func (r *Remote) Subscribe(ctx context.Context, operation string, variables Variables, each func(json.RawMessage) error) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	silent := time.AfterFunc(r.o.Silence, func() { cancel(cutError{fmt.Errorf("%s has sent nothing for %s", r.o.URL, r.o.Silence)}) })
	defer silent.Stop()
	response, err := r.send(ctx, operation, variables, "text/event-stream")
	if err != nil {
		return err
	}
	defer func() { _ = response.Body.Close() }() // only read
	complete := false
	broken, err := readEvents(response.Body, maxEvent, func() { silent.Reset(r.o.Silence) }, func(event string, data []byte) (last bool, err error) {
		if complete = event == "complete"; complete || len(data) == 0 {
			return complete, nil
		}
		return false, r.read(operation, data, each)
	})
	switch {
	case err != nil || complete:
		return err
	case errors.Is(broken, bufio.ErrTooLong):
		return fmt.Errorf("an event of %s is larger than %d MiB", r.o.URL, maxEvent>>20)
	case broken != nil:
		return r.broken(ctx, broken)
	}
	return r.cutOff()
}

// readEvents reads server-sent events, whose data is one line of at most so many bytes. It calls heard for each
// line, comments among them, and each for each event, until one is the last or gives an
// error, which it returns. broken is the error of reading.
func readEvents(from io.Reader, most int, heard func(), each func(event string, data []byte) (last bool, err error)) (broken, err error) {
	lines := bufio.NewScanner(from)
	lines.Buffer(nil, most)
	event, data := "", []byte(nil)
	for lines.Scan() {
		heard()
		name, value, _ := bytes.Cut(lines.Bytes(), []byte(":"))
		value = bytes.TrimPrefix(value, []byte(" "))
		switch {
		case len(lines.Bytes()) == 0: // the event is whole
			if event != "" || len(data) > 0 {
				if last, err := each(event, data); last || err != nil {
					return nil, err
				}
			}
			event, data = "", data[:0]
		case string(name) == "event":
			event = string(value)
		case string(name) == "data":
			data = append(data[:0], value...)
		}
	}
	return lines.Err(), nil
}
