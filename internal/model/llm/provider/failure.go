package provider

import (
	"errors"
	"fmt"
	"sync"
	"time"
)

// Brief returns a sentence about a failed request that contains nothing of the service's
// message, the request or its address. It is the error's advice, if that has one.
func Brief(err error) string {
	var e *Error
	if !errors.As(err, &e) {
		return "The request failed."
	}
	if e.Advice != "" {
		return e.Advice
	}
	text := "The request failed"
	switch e.Kind {
	case KindAuth:
		text = "The service refused the key, or it may not use this model"
	case KindContextLength:
		text = "The request was too long for the model"
	case KindRateLimited:
		text = "The service allows no more requests at the moment, or its quota is used up"
	case KindUnavailable:
		text = "The service failed or cannot be reached"
	case KindTimeout:
		text = "The service took too long"
	case KindInterrupted:
		text = "The answer was incomplete"
	case KindRefused:
		text = "The service refused to answer this request"
	case KindInvalid:
		text = "The service did not understand the request, or its response was not valid"
	case KindNoTools:
		text = "The model cannot call tools"
	}
	if e.Status != 0 {
		return fmt.Sprintf("%s (status %d).", text, e.Status)
	}
	return text + "."
}

// A Failure is a failed request. Its reason is that of Brief.
type Failure struct {
	At     time.Time
	Reason string
}

// A Record remembers the last failure of a service. The zero value is ready. It is safe
// for concurrent use.
type Record struct {
	mu      sync.Mutex
	last    *Failure
	failing bool
}

// Note records the outcome of a request at a time. Errors that do not mean that the
// service does not work are ignored.
func (r *Record) Note(err error, at time.Time) {
	if err != nil && !IsOutage(err) {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.failing = err != nil
	if err != nil {
		r.last = &Failure{At: at.UTC(), Reason: Brief(err)}
	}
}

// Last returns the last failure; nil for none.
func (r *Record) Last() *Failure {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.last
}

// IsFailing reports whether the last request failed.
func (r *Record) IsFailing() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.failing
}
