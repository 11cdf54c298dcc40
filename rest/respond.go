package rest

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"math"
	"net/http"
	"strconv"
	"time"

	"github.com/magpie-search/magpie/internal/apierr"
	"github.com/magpie-search/magpie/internal/request/requestid"
)

// errorBody is the JSON of an error, the same everywhere.
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

// encode is JSON without the escapes meant for HTML pages.
func encode(value any) []byte {
	var buffer bytes.Buffer
	encoder := json.NewEncoder(&buffer)
	encoder.SetEscapeHTML(false)
	if err := encoder.Encode(value); err != nil {
		return []byte(`null`)
	}
	return bytes.TrimSuffix(buffer.Bytes(), []byte{'\n'})
}

// send writes a whole answer. Nil is no body.
func (x *exchange) send(status int, body []byte) {
	h := x.w.Header()
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("Cache-Control", "no-store")
	if body != nil {
		h.Set("Content-Type", "application/json; charset=utf-8")
		h.Set("Content-Length", strconv.Itoa(len(body)))
	}
	x.deadline()
	x.began = true
	x.w.WriteHeader(status)
	if body == nil {
		return
	}
	if _, err := x.w.Write(body); err != nil {
		x.log(slog.LevelDebug, "the client went away", err)
	}
}

// deadline gives the next write its time. A writer that knows no deadlines, as
// in tests, goes without.
func (x *exchange) deadline() {
	_ = x.control.SetWriteDeadline(time.Now().Add(x.t.limits.Write)) // the wall clock: it is the connection's
}

// fail answers an error by its code. What is our fault is logged here, once,
// with its cause; the caller sees the request id and nothing else of it.
func (x *exchange) fail(err error) {
	e := apierr.From(err)
	status := e.Code.Status()
	switch {
	case status < http.StatusInternalServerError:
	case errors.Is(x.r.Context().Err(), context.Canceled): // nobody waits for the answer
		x.log(slog.LevelDebug, "the client left", err)
	default:
		x.log(slog.LevelError, "request failed", err)
	}
	h := x.w.Header()
	if e.RetryAfter > 0 {
		h.Set("Retry-After", seconds(e.RetryAfter))
	}
	if status == http.StatusUnauthorized && x.dashboard() {
		h.Set("WWW-Authenticate", "Bearer")
	}
	code, message := shown(e)
	x.send(status, errorBody(code, message))
}

// shown is what a caller may see of an error: nothing of an internal one.
func shown(e *apierr.Error) (apierr.Code, string) {
	if e.Code.Status() == http.StatusInternalServerError {
		hidden := apierr.From(errors.New("hidden"))
		return hidden.Code, hidden.Message
	}
	return e.Code, e.Message
}

// seconds rounds up, so that whoever waits that long has waited enough.
func seconds(d time.Duration) string {
	return strconv.Itoa(max(1, int(math.Ceil(d.Seconds()))))
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
