package live

import (
	"github.com/coder/websocket"

	"github.com/magpie-search/magpie/internal/apierr"
)

// ending is why a stream ends that its client did not end.
type ending struct {
	code   websocket.StatusCode
	reason string      // of the close frame: at most 123 bytes
	error  apierr.Code // as a stream of events says it
}

// Error says why, in words for a client.
func (e *ending) Error() string { return e.reason }

// The protocol's own close codes, and those that say something to every client
// of it: graphql-ws connects again after 1001, 1013 and 4403, and gives up
// after the other ones.
const (
	closeInvalid      = 4400
	closeUnauthorized = 4401
	closeForbidden    = 4403
	closeSubprotocol  = 4406
	closeInitTimeout  = 4408
	closeDuplicate    = 4409
	closeTooManyInits = 4429
	closeInternal     = 4500
)

func signedOut() *ending {
	return &ending{closeUnauthorized, "Session ended", apierr.Unauthorized}
}

// roleChanged lets the client come back, as who it is now.
func roleChanged() *ending {
	return &ending{closeForbidden, "Your role has changed; connect again", apierr.Forbidden}
}

func goingAway() *ending {
	return &ending{websocket.StatusGoingAway, "The server is stopping; connect again", apierr.Unavailable}
}

func silent() *ending {
	return &ending{websocket.StatusGoingAway, "No pong came", apierr.Unavailable}
}

func idle() *ending {
	return &ending{websocket.StatusNormalClosure, "Idle", apierr.Unavailable}
}

// unchecked ends those of whom nobody could find out for too long whether they
// are still signed in.
func unchecked() *ending {
	return &ending{websocket.StatusTryAgainLater, "Try again later", apierr.Unavailable}
}

func full(reason string) *ending {
	return &ending{websocket.StatusTryAgainLater, reason, apierr.RateLimited}
}

func invalid(reason string) *ending {
	return &ending{closeInvalid, reason, apierr.InvalidRequest}
}
