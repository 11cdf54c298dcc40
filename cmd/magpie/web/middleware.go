package web

import (
	"crypto/rand"
	"errors"
	"log/slog"
	"net/http"
	"runtime/debug"
	"time"

	"github.com/magpie-search/magpie/internal/apierr"
	"github.com/magpie-search/magpie/internal/request/requestid"
)

// identified gives every request an id, its own where that is harmless, and
// logs how it ended.
func identified(log *slog.Logger, drain *Drain, next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		id := r.Header.Get(requestid.Header)
		if !requestid.Acceptable(id) {
			id = rand.Text()
			// The REST transport reads the header, too, and must not make another.
			r.Header.Set(requestid.Header, id)
		}
		w.Header().Set(requestid.Header, id)
		began := time.Now()
		seen := &recorder{ResponseWriter: w, connection: connectionOf(r), drain: drain}
		drain.dismiss(w.Header())
		next.ServeHTTP(seen, r.WithContext(requestid.With(r.Context(), id)))
		log.LogAttrs(r.Context(), slog.LevelDebug, "request", slog.String(requestid.LogKey, id), slog.String("method", r.Method),
			slog.String("path", r.URL.Path), slog.Int("status", seen.status()), slog.Duration("took", time.Since(began)))
	})
}

// recovered turns a panic into a 500 that gives nothing away.
func recovered(log *slog.Logger, next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		defer func() {
			cause := recover()
			if cause == nil {
				return
			}
			if err, ok := cause.(error); ok && errors.Is(err, http.ErrAbortHandler) {
				panic(cause)
			}
			log.ErrorContext(r.Context(), "panic while answering", slog.String(requestid.LogKey, requestid.From(r.Context())),
				slog.Any("cause", cause), slog.String("stack", string(debug.Stack())))
			if seen, ok := w.(*recorder); ok && seen.code != 0 {
				panic(http.ErrAbortHandler) // the answer has begun: only breaking it off tells the client
			}
			writeError(w, apierr.From(errors.New("panic")))
		}()
		next.ServeHTTP(w, r)
	})
}

// recorder remembers the status of an answer.
type recorder struct {
	http.ResponseWriter
	connection *refusing // nil where it is not known
	drain      *Drain
	code       int
	wrote      bool
}

func (r *recorder) WriteHeader(code int) {
	if r.code == 0 || r.code < 200 {
		r.code = code
		if code >= 200 {
			r.drain.dismiss(r.Header())
		}
	}
	r.ResponseWriter.WriteHeader(code)
}

func (r *recorder) Write(b []byte) (int, error) {
	r.begin()
	if r.whole(b) {
		r.wrote = true
		return r.writeWhole(b)
	}
	r.wrote = true
	return r.ResponseWriter.Write(b)
}

// begin is an answer's beginning without a status.
func (r *recorder) begin() {
	if r.code == 0 {
		r.code = http.StatusOK
		r.drain.dismiss(r.Header())
	}
}

// Flush is asked for by type where streams are written.
func (r *recorder) Flush() {
	r.begin()
	_ = http.NewResponseController(r.ResponseWriter).Flush() // a server's writer can
}

// Unwrap lets http.ResponseController reach what the server's writer can do.
func (r *recorder) Unwrap() http.ResponseWriter { return r.ResponseWriter }

func (r *recorder) status() int {
	if r.code == 0 {
		return http.StatusOK
	}
	return r.code
}
