package client

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"
)

// maxEvent is the maximum size of an event.
const maxEvent = 16 << 20

// Subscribe implements Executor. A stream that ends before the server has said so is an
// error.
func (r *Remote) Subscribe(ctx context.Context, operation string, variables Variables, each func(json.RawMessage) error) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	silent := time.AfterFunc(r.o.Silence, func() { cancel(fmt.Errorf("%s has sent nothing for %s", r.o.URL, r.o.Silence)) })
	defer silent.Stop()
	response, err := r.send(ctx, operation, variables, "text/event-stream")
	if err != nil {
		return err
	}
	defer func() { _ = response.Body.Close() }() // only read
	lines := bufio.NewScanner(response.Body)
	lines.Buffer(nil, maxEvent)
	event, data := "", []byte(nil)
	for lines.Scan() {
		silent.Reset(r.o.Silence)
		name, value, _ := bytes.Cut(lines.Bytes(), []byte(":"))
		value = bytes.TrimPrefix(value, []byte(" "))
		switch {
		case len(lines.Bytes()) > 0 && string(name) == "event":
			event = string(value)
		case len(lines.Bytes()) > 0 && string(name) == "data":
			data = append(data[:0], value...)
		case len(lines.Bytes()) > 0: // a comment
		case event == "complete":
			return nil
		case len(data) > 0: // the event is whole
			if err := r.read(operation, data, each); err != nil {
				return err
			}
			event, data = "", data[:0]
		}
	}
	if err := lines.Err(); err != nil && !errors.Is(err, bufio.ErrTooLong) {
		return r.broken(ctx, err)
	} else if err != nil {
		return fmt.Errorf("an event of %s is larger than %d MiB", r.o.URL, maxEvent>>20)
	}
	return fmt.Errorf("the connection to %s was cut off", r.o.URL)
}
