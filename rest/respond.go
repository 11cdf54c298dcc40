package rest

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"net/http"
	"strconv"
	"time"

	"github.com/magpie-search/magpie/internal/apierr"
	"github.com/magpie-search/magpie/internal/request/requestid"
)

// errorBody returns the JSON of an error.
func errorBody(code apierr.Code, message string) []byte {
	var body struct {
		Error struct {
			Code    apierr.Code `json:"code"`
			Message string      `json:"message"`
		} `json:"error"`
	}
	body.Error.Code, body.Error.Message = code, message
	return encode(body)
}

// encode returns JSON without HTML escapes.
func encode(value any) []byte {
	var buffer bytes.Buffer
	encoder := json.NewEncoder(&buffer)
	encoder.SetEscapeHTML(false)
	if err := encoder.Encode(value); err != nil {
		return []byte(`null`)
	}
	return bytes.TrimSuffix(buffer.Bytes(), []byte{'\n'})
}

// send writes the response. A nil body means none.
func (x *exchange) send(status int, body []byte) {
	h := x.w.Header()
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("Cache-Control", "no-store")
	if body != nil {
		h.Set("Content-Type", "application/json; charset=utf-8")
		h.Set("Content-Length", strconv.Itoa(len(body)))
	}
	x.extendDeadline()
	x.started = true
	x.w.WriteHeader(status)
	if body == nil {
		return
	}
	if _, err := x.w.Write(body); err != nil {
		x.log(slog.LevelDebug, "client disconnected", err)
	}
}

// extendDeadline sets the deadline of the next write. Writers of tests may not
// support it.
func (x *exchange) extendDeadline() {
	_ = x.control.SetWriteDeadline(time.Now().Add(x.t.limits.Write)) // the wall clock, which deadlines use
}

// fail sends an error response. Server errors are logged with their cause, of which
// the client sees the request ID only.
func (x *exchange) fail(err error) {
	e := apierr.From(err)
	status := e.Code.Status()
	switch {
	case status < http.StatusInternalServerError:
	case errors.Is(x.r.Context().Err(), context.Canceled): // the client has disconnected
		x.log(slog.LevelDebug, "client disconnected", err)
	default:
		x.log(slog.LevelError, "request failed", err)
	}
	h := x.w.Header()
	e.SetRetryAfter(h)
	if status == http.StatusUnauthorized && x.dashboard() {
		h.Set("WWW-Authenticate", "Bearer")
	}
	code, message := publicError(e)
	x.send(status, errorBody(code, message))
}

// publicError returns the code and message that a client may see. Details of
// internal errors are hidden.
func publicError(e *apierr.Error) (apierr.Code, string) {
	if e.Code.Status() == http.StatusInternalServerError {
		hidden := apierr.From(errors.New("hidden"))
		return hidden.Code, hidden.Message
	}
	return e.Code, e.Message
}

func (x *exchange) log(level slog.Level, message string, err error) {
	attributes := []slog.Attr{slog.String(requestid.LogKey, requestid.From(x.ctx)), slog.String("method", x.r.Method)}
	if x.route != nil {
		attributes = append(attributes, slog.String("route", x.route.Pattern))
	}
	if err != nil {
		attributes = append(attributes, slog.Any("error", err))
	}
	x.t.log.LogAttrs(x.ctx, level, message, attributes...)
}
