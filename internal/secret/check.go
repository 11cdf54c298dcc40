package secret

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
)

// KeyCheck returns a value by which a key is recognized and from which it cannot be
// computed: an HMAC of a constant.
func KeyCheck(key []byte) string {
	mac := hmac.New(sha256.New, key)
	mac.Write([]byte("magpie key check 1"))
	return hex.EncodeToString(mac.Sum(nil))
}
