package authn

import (
	"crypto/rand"
	"hash/crc32"
	"strings"
)

// The prefixes of personal and service tokens, by which scanners of secrets find them.
const (
	PersonalTokenPrefix = "mgp_pat_"
	ServiceTokenPrefix  = "mgp_svc_" //nolint:gosec // no secret
)

// A token is a prefix, random digits and a checksum of both. 30 digits in base 62 are
// 178 bits.
const (
	tokenDigits   = 30
	tokenChecksum = 6
	tokenHint     = len(PersonalTokenPrefix) + 4 // characters of a token that are stored and shown
)

const base62 = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"

// newAccessToken returns a new token with a prefix.
func newAccessToken(prefix string) string {
	text := make([]byte, 0, len(prefix)+tokenDigits)
	text = append(text, prefix...)
	var random [2 * tokenDigits]byte
	for len(text) < cap(text) {
		_, _ = rand.Read(random[:]) // never fails
		for _, b := range random {
			// The multiples of 62 below 256 end at 248: a larger byte would prefer some digits.
			if b < 248 && len(text) < cap(text) {
				text = append(text, base62[b%62])
			}
		}
	}
	return string(text) + checksum(string(text))
}

// checksum returns the CRC-32 (IEEE) of text in base 62.
func checksum(text string) string {
	sum := crc32.ChecksumIEEE([]byte(text))
	var digits [tokenChecksum]byte
	for i := range digits {
		digits[len(digits)-1-i] = base62[sum%62]
		sum /= 62
	}
	return string(digits[:])
}

// IsAccessToken reports whether a credential is meant as a personal or service token, by
// its prefix. It may be invalid.
func IsAccessToken(presented string) bool {
	return strings.HasPrefix(presented, PersonalTokenPrefix) || strings.HasPrefix(presented, ServiceTokenPrefix)
}

// isWellFormed reports whether a credential has the form of a token, and the right
// checksum.
func isWellFormed(presented string) bool {
	const length = len(PersonalTokenPrefix) + tokenDigits + tokenChecksum
	if !IsAccessToken(presented) || len(presented) != length {
		return false
	}
	for _, c := range []byte(presented[len(PersonalTokenPrefix):]) {
		if strings.IndexByte(base62, c) < 0 {
			return false
		}
	}
	body := presented[:length-tokenChecksum]
	return presented[length-tokenChecksum:] == checksum(body)
}
