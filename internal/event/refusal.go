package event

import (
	"errors"
	"fmt"
	"time"
)

// ErrDelivery says that a request is no delivery of the platform.
var ErrDelivery = errors.New("this is no delivery of the platform")

// ErrNotReady says that a transcript may come later.
var ErrNotReady = errors.New("the transcript is not there yet")

// A Refusal is the reason why a delivery was not accepted.
type Refusal struct {
	// Reason is safe to show.
	Reason string
	// Stale says that the sender knew the secret, but the delivery is too old.
	Stale bool
}

func (e *Refusal) Error() string { return e.Reason }

// Refuse returns a *Refusal.
func Refuse(format string, args ...any) error { return &Refusal{Reason: fmt.Sprintf(format, args...)} }

// Window is the largest age of a delivery of schemes with a time.
const Window = 5 * time.Minute

// CheckTime returns a stale *Refusal if a signed time is further than window from now.
func CheckTime(at, now time.Time, window time.Duration) error {
	if age := now.Sub(at); age > window || age < -window {
		return &Refusal{Reason: fmt.Sprintf("timestamp: the delivery was signed more than %s before or after the clock of this server", window), Stale: true}
	}
	return nil
}
