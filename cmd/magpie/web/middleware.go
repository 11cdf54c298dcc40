package web

import (
	"errors"
	"log/slog"
	"net/http"
	"runtime/debug"
	"time"

	"github.com/magpie-search/magpie/internal/apierr"
	"github.com/magpie-search/magpie/internal/request/accesslog"
	"github.com/magpie-search/magpie/internal/request/requestid"
)

// withRequestID sets the request ID, which is that of the client if it is acceptable,
// and logs and traces the request when it has ended.
func withRequestID(log *slog.Logger, access AccessLog, traces Traces, drain *Drain, next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		id := r.Header.Get(requestid.Header)
		if !requestid.Acceptable(id) {
			id = requestid.New()
			// The REST transport also reads the header and must not create another ID.
			r.Header.Set(requestid.Header, id)
		}
		w.Header().Set(requestid.Header, id)
		start := time.Now()
		recorded := &recorder{ResponseWriter: w, connection: connectionOf(r), drain: drain}
		drain.closeConnection(w.Header())
		ctx, entry := accesslog.With(requestid.With(r.Context(), id))
		ctx, span := traces.begin(ctx, r)
		complete := false
		defer func() { // also while a panic aborts the response
			access.end(ctx, log, r, entry, recorded, start, !complete)
			traces.end(span, r, entry, id, recorded.status(), !complete)
		}()
		next.ServeHTTP(recorded, r.WithContext(ctx))
		complete = true
	})
}

// recoverPanics converts panics to internal errors without details.
func recoverPanics(log *slog.Logger, next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		defer func() {
			cause := recover()
			if cause == nil {
				return
			}
			if err, ok := cause.(error); ok && errors.Is(err, http.ErrAbortHandler) {
				panic(cause)
			}
			log.ErrorContext(r.Context(), "request panicked", slog.String(requestid.LogKey, requestid.From(r.Context())),
				slog.Any("cause", cause), slog.String("stack", string(debug.Stack())))
			if recorded, ok := w.(*recorder); ok && recorded.code != 0 {
				panic(http.ErrAbortHandler) // abort the started response, so that the client sees an error
			}
			writeError(w, apierr.From(errors.New("panic")))
		}()
		next.ServeHTTP(w, r)
	})
}

// recorder records the status of a response.
type recorder struct {
	http.ResponseWriter
	connection *serverConn // nil if unknown
	drain      *Drain
	code       int
	wrote      bool
	bytes      int64 // of the body
}

func (r *recorder) WriteHeader(code int) {
	if r.code == 0 || r.code < 200 {
		r.code = code
		if code >= 200 {
			r.drain.closeConnection(r.Header())
		}
	}
	r.ResponseWriter.WriteHeader(code)
}

func (r *recorder) Write(b []byte) (int, error) {
	r.start()
	if r.isWholeBody(b) {
		r.wrote = true
		return r.counted(r.writeWithHeader(b))
	}
	r.wrote = true
	return r.counted(r.ResponseWriter.Write(b))
}

func (r *recorder) counted(n int, err error) (int, error) {
	r.bytes += int64(n)
	return n, err
}

// start sets the default status.
func (r *recorder) start() {
	if r.code == 0 {
		r.code = http.StatusOK
		r.drain.closeConnection(r.Header())
	}
}

// Flush implements [http.Flusher], which streams require.
func (r *recorder) Flush() {
	r.start()
	_ = http.NewResponseController(r.ResponseWriter).Flush() // the writer of a server supports it
}

// Unwrap returns the writer of the server for [http.ResponseController].
func (r *recorder) Unwrap() http.ResponseWriter { return r.ResponseWriter }

func (r *recorder) status() int {
	if r.code == 0 {
		return http.StatusOK
	}
	return r.code
}
