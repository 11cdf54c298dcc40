package authn

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"strconv"
	"time"

	"github.com/magpie-search/magpie/internal/apierr"
)

// MaxSkew is the maximum difference between a signed request's timestamp and the
// server's clock.
const MaxSkew = 5 * time.Minute

// VerifySignature checks a signed request. signature is the hex HMAC-SHA256, keyed
// with the secret key, of the timestamp (Unix milliseconds in decimal), a dot and
// the exact body, which is empty for GET.
func VerifySignature(secret, timestamp, signature string, body []byte, now time.Time) error {
	invalid := apierr.New(apierr.InvalidSignature, "Invalid request signature")
	ms, err := strconv.ParseInt(timestamp, 10, 64)
	if err != nil || strconv.FormatInt(ms, 10) != timestamp {
		return invalid
	}
	if skew := now.Sub(time.UnixMilli(ms)); skew > MaxSkew || skew < -MaxSkew {
		return invalid
	}
	got, err := hex.DecodeString(signature)
	if err != nil {
		return invalid
	}
	if !hmac.Equal(got, sign(secret, timestamp, body)) {
		return invalid
	}
	return nil
}

// Sign returns the timestamp and signature of a request at the given time.
func Sign(secret string, body []byte, at time.Time) (timestamp, signature string) {
	timestamp = strconv.FormatInt(at.UnixMilli(), 10)
	return timestamp, hex.EncodeToString(sign(secret, timestamp, body))
}

func sign(secret, timestamp string, body []byte) []byte {
	mac := hmac.New(sha256.New, []byte(secret))
	mac.Write([]byte(timestamp))
	mac.Write([]byte{'.'})
	mac.Write(body)
	return mac.Sum(nil)
}
