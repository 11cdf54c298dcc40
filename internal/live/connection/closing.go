package connection

import (
	"github.com/coder/websocket"

	"github.com/magpie-search/magpie/internal/apierr"
)

// A closing is the reason why the server ends a stream.
type closing struct {
	code   websocket.StatusCode
	reason string      // of the close frame, at most 123 bytes
	error  apierr.Code // for a stream of events
}

// Error returns the reason in words for the client.
func (c *closing) Error() string { return c.reason }

// The close codes of the protocol. The client graphql-ws reconnects after 1001, 1013
// and 4403, and stops after the others.
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

func signedOut() *closing {
	return &closing{closeUnauthorized, "Session ended", apierr.Unauthorized}
}

func tokenEnded() *closing {
	return &closing{closeUnauthorized, "Token ended", apierr.Unauthorized}
}

// roleChanged lets the client reconnect with its new role.
func roleChanged() *closing {
	return &closing{closeForbidden, "Your role has changed; connect again", apierr.Forbidden}
}

func goingAway() *closing {
	return &closing{websocket.StatusGoingAway, "The server is stopping; connect again", apierr.Unavailable}
}

func noPong() *closing {
	return &closing{websocket.StatusGoingAway, "No pong came", apierr.Unavailable}
}

func idle() *closing {
	return &closing{websocket.StatusNormalClosure, "Idle", apierr.Unavailable}
}

// unchecked ends streams whose sessions could not be checked for too long.
func unchecked() *closing {
	return &closing{websocket.StatusTryAgainLater, "Try again later", apierr.Unavailable}
}

func full(reason string) *closing {
	return &closing{websocket.StatusTryAgainLater, reason, apierr.RateLimited}
}

func invalid(reason string) *closing {
	return &closing{closeInvalid, reason, apierr.InvalidRequest}
}
