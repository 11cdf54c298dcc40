package provider

import (
	"errors"
	"fmt"
	"sync"
	"time"
)

// Brief returns sentences about a failed request that contain nothing of the service's
// message, the request or its address. They are the error's advice, if that has one.
func Brief(err error) string {
	var e *Error
	if !errors.As(err, &e) {
		return e.about().Brief
	}
	if e.Advice != "" {
		return e.Advice
	}
	if e.Status != 0 {
		return fmt.Sprintf("%s (Status %d.)", e.about().Brief, e.Status)
	}
	return e.about().Brief
}

// A description is what Brief says about a kind.
type description struct{ Brief string }

func (e *Error) about() description {
	if e == nil {
		return description{Brief: "The request failed."}
	}
	switch e.Kind {
	case KindAuth:
		return description{Brief: "The service refused the key, or it may not use this model."}
	case KindContextLength:
		return description{Brief: "The request was too long for the model."}
	case KindRateLimited:
		return description{Brief: "The service allows no more requests at the moment, or its quota is used up."}
	case KindUnavailable:
		return description{Brief: "The service failed or cannot be reached."}
	case KindTimeout:
		return description{Brief: "The service took too long."}
	case KindInterrupted:
		return description{Brief: "The answer was incomplete."}
	case KindRefused:
		return description{Brief: "The service refused to answer this request."}
	case KindInvalid:
		return description{Brief: "The service did not understand the request, or its response was not valid."}
	case KindNoTools:
		return description{Brief: "The model cannot call tools."}
	}
	return description{Brief: "The request failed."}
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
