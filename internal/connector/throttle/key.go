package throttle

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"maps"
	"slices"

	"github.com/google/uuid"

	"github.com/magpie-search/magpie/connectors"
)

// key identifies a limiter by a hash of the kind, the hosts in the settings and the
// credentials. It leaves out the webhook secret, which no request uses.
func (m *Limiters) key(kind connectors.Kind, s connectors.Settings, grant *uuid.UUID) string {
	mac := hmac.New(sha256.New, m.opt.Salt)
	put := func(text string) {
		// The lengths keep different texts from having the same hash.
		var length [8]byte
		binary.BigEndian.PutUint64(length[:], uint64(len(text)))
		_, _ = mac.Write(length[:])
		_, _ = mac.Write([]byte(text))
	}
	put(kind.Name)
	for _, option := range kind.Options {
		if option.Format == connectors.FormatURL || option.Format == connectors.FormatHostname {
			put(option.Name)
			put(s.String(option.Name))
		}
	}
	if grant != nil {
		put("grant")
		put(grant.String())
		return hex.EncodeToString(mac.Sum(nil))
	}
	for _, name := range slices.Sorted(maps.Keys(s.Credentials)) {
		if kind.Webhook != nil && name == kind.Webhook.Secret {
			continue
		}
		put(name)
		put(s.Credentials[name])
	}
	return hex.EncodeToString(mac.Sum(nil))
}
