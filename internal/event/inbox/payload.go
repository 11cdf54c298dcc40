package inbox

import (
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"net/http"

	"github.com/google/uuid"

	"github.com/magpie-search/magpie/internal/event"
	"github.com/magpie-search/magpie/internal/secret"
)

var errPayload = errors.New("the kept payload is malformed")

func payloadAAD(id uuid.UUID) []byte { return secret.AAD("integration_events", id.String()) }

// sealPayload returns the sealed payload of an event: the length of its metadata, the
// metadata, and the body.
func (b *Inbox) sealPayload(id uuid.UUID, p event.Provider, r *event.Request, e event.Event) (sealed []byte, size int, err error) {
	body := e.Body
	if body == nil {
		body = r.Body
	}
	kept := event.Payload{Type: eventType(e), Header: http.Header{}}
	for _, name := range p.Headers {
		if values := r.Header.Values(name); len(values) > 0 {
			kept.Header[http.CanonicalHeaderKey(name)] = values
		}
	}
	meta, err := json.Marshal(kept)
	if err != nil || len(meta) > math.MaxUint32 {
		return nil, 0, fmt.Errorf("encode the metadata of an event: %w", err)
	}
	plain := make([]byte, 0, 4+len(meta)+len(body))
	plain = binary.BigEndian.AppendUint32(plain, uint32(len(meta))) //nolint:gosec // checked above
	plain = append(append(plain, meta...), body...)
	sealed, err = b.opt.Box.Seal(plain, payloadAAD(id))
	if err != nil {
		return nil, 0, fmt.Errorf("seal the payload of an event: %w", err)
	}
	return sealed, len(body), nil
}

// openPayload returns the payload of an event.
func (b *Inbox) openPayload(id uuid.UUID, sealed []byte) (event.Payload, error) {
	plain, err := b.opt.Box.Open(sealed, payloadAAD(id))
	if err != nil {
		return event.Payload{}, fmt.Errorf("open the payload of an event: %w", err)
	}
	if len(plain) < 4 {
		return event.Payload{}, errPayload
	}
	n := int64(binary.BigEndian.Uint32(plain))
	if plain = plain[4:]; n > int64(len(plain)) {
		return event.Payload{}, errPayload
	}
	var p event.Payload
	if json.Unmarshal(plain[:n], &p) != nil {
		return event.Payload{}, errPayload
	}
	p.Body = plain[n:]
	return p, nil
}
