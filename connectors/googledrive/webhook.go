package googledrive

import (
	"crypto/sha256"
	"crypto/subtle"
	"net/http"
	"strings"
	"time"

	"github.com/google/uuid"

	"github.com/magpie-search/magpie/connectors"
)

// The headers of a delivery, which has no body.
const (
	headerChannel = "X-Goog-Channel-Id"
	headerToken   = "X-Goog-Channel-Token" //nolint:gosec // the name of a header
	headerState   = "X-Goog-Resource-State"
	headerNumber  = "X-Goog-Message-Number"

	// stateSync is the state of the first delivery of a channel, which reports no
	// change.
	stateSync = "sync"
)

func webhook() *connectors.Webhook {
	return &connectors.Webhook{
		Secret: credentialSecret, Subscribes: true, ProbesAddress: true, Keys: webhookKeys, Route: route, Verify: verify, Parse: parseDelivery,
	}
}

// webhookKeys returns the id of the connector, with which the ids of its channels
// begin.
func webhookKeys(s connectors.Settings) []string {
	if s.ConnectorID == "" {
		return nil
	}
	return []string{strings.ToLower(s.ConnectorID)}
}

const uuidLength = 36

// route returns the connector whose id the channel's id begins with.
func route(header http.Header, _ []byte) ([]string, error) {
	channel := header.Get(headerChannel)
	if channel == "" || header.Get(headerState) == "" {
		return nil, connectors.ErrDelivery
	}
	if len(channel) < uuidLength || uuid.Validate(channel[:uuidLength]) != nil {
		return nil, nil
	}
	return []string{strings.ToLower(channel[:uuidLength])}, nil
}

// verify compares the token of the channel. Hashes are compared, so that the time
// does not tell the length.
func verify(secret string, header http.Header, _ []byte, _ time.Time) error {
	given, want := sha256.Sum256([]byte(header.Get(headerToken))), sha256.Sum256([]byte(secret))
	if secret == "" || subtle.ConstantTimeCompare(given[:], want[:]) != 1 {
		return connectors.ErrSignature
	}
	return nil
}

// parseDelivery reads a delivery. It says that something changed; the feed says
// what.
func parseDelivery(header http.Header, _ []byte) (connectors.Delivery, error) {
	channel, state := header.Get(headerChannel), header.Get(headerState)
	if channel == "" || state == "" {
		return connectors.Delivery{}, connectors.ErrDelivery
	}
	delivery := connectors.Delivery{AllChanged: state != stateSync}
	if number := header.Get(headerNumber); number != "" {
		delivery.ID = channel + "/" + number
	}
	return delivery, nil
}
