package secret

import (
	"crypto/aes"
	"crypto/cipher"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"
)

// KeyBytes is the length of a key: AES-256.
const KeyBytes = 32

// The envelope is
//
// \tversion (1 byte) | length of the key id (1 byte) | key id | nonce (12) |
// ciphertext and tag (16)
//
// Everything before the nonce is authenticated together with the caller's
// additional data.
const (
	envelopeVersion = 1
	prefixBytes     = 2
	maxKeyIDBytes   = 64
	overheadBytes   = 12 + 16
)

var (
	// ErrMalformed is returned for bytes that no Box has sealed, or that are
	// truncated.
	ErrMalformed = errors.New("not a sealed secret, or cut off")
	// ErrUnknownKey is returned for a secret that was sealed with a key that the
	// Box lacks.
	ErrUnknownKey = errors.New("sealed with a key that is not configured")
	// ErrTampered is returned for a secret that was changed, moved to another row,
	// or sealed with another key of the same id.
	ErrTampered = errors.New("does not open: changed, moved to another row, or sealed with another key")
)

// A KeyError is an ErrUnknownKey with the id of the missing key. Its text says what
// to do.
type KeyError struct{ ID string }

func (e *KeyError) Error() string {
	return fmt.Sprintf("sealed with the key %q, which SECRET_KEYS lacks: put it back there, or set anew what it sealed", printable(e.ID))
}

// Unwrap returns ErrUnknownKey.
func (e *KeyError) Unwrap() error { return ErrUnknownKey }

// printable drops unprintable characters from the key id of an envelope, which may
// be forged.
func printable(id string) string {
	return strings.Map(func(r rune) rune {
		if unicode.IsPrint(r) && r != utf8.RuneError {
			return r
		}
		return -1
	}, id)
}

// A Box seals and opens secrets. It is safe for concurrent use. Its errors contain
// no secrets and no keys.
type Box struct {
	current string
	sealers map[string]cipher.AEAD
}

// NewBox returns a Box with keys of 32 bytes, by key id. It seals with the current
// key and opens with every key. A key may seal 2^32 secrets.
func NewBox(keys map[string][]byte, current string) (*Box, error) {
	box := &Box{current: current, sealers: make(map[string]cipher.AEAD, len(keys))}
	for _, id := range slices.Sorted(maps.Keys(keys)) {
		if id == "" || len(id) > maxKeyIDBytes {
			return nil, fmt.Errorf("a key id must have 1 to %d bytes", maxKeyIDBytes)
		}
		if len(keys[id]) != KeyBytes {
			return nil, fmt.Errorf("key %q has %d bytes, %d are needed", id, len(keys[id]), KeyBytes)
		}
		block, err := aes.NewCipher(keys[id])
		if err != nil {
			return nil, fmt.Errorf("key %q: %w", id, err)
		}
		box.sealers[id], err = cipher.NewGCMWithRandomNonce(block)
		if err != nil {
			return nil, fmt.Errorf("key %q: %w", id, err)
		}
	}
	if _, ok := box.sealers[current]; !ok {
		return nil, fmt.Errorf("the current key %q is not among the keys", current)
	}
	return box, nil
}

// AAD returns the additional data that binds a secret to a row of a table.
func AAD(table, id string) []byte { return []byte(table + ":" + id) }

// Seal encrypts plain with the current key. Open needs the same aad.
func (b *Box) Seal(plain, aad []byte) ([]byte, error) {
	header := append([]byte{envelopeVersion, byte(len(b.current))}, b.current...) //nolint:gosec // NewBox bounds its length
	sealed := make([]byte, len(header), len(header)+len(plain)+overheadBytes)
	copy(sealed, header)
	return b.sealers[b.current].Seal(sealed, nil, plain, authenticated(header, aad)), nil
}

// Open decrypts a secret with the key that its envelope names. The error is
// ErrMalformed, a *KeyError or ErrTampered.
func (b *Box) Open(sealed, aad []byte) ([]byte, error) {
	header, body, err := split(sealed)
	if err != nil {
		return nil, err
	}
	sealer, ok := b.sealers[string(header[prefixBytes:])]
	if !ok {
		return nil, &KeyError{ID: string(header[prefixBytes:])}
	}
	plain, err := sealer.Open(nil, nil, body, authenticated(header, aad))
	if err != nil {
		return nil, ErrTampered
	}
	return plain, nil
}

// Current returns the id of the key that the Box seals with.
func (b *Box) Current() string { return b.current }

// Stale reports whether a secret was sealed with another key than the current one.
func (b *Box) Stale(sealed []byte) bool {
	header, _, err := split(sealed)
	return err == nil && string(header[prefixBytes:]) != b.current
}

func split(sealed []byte) (header, body []byte, err error) {
	if len(sealed) < prefixBytes || sealed[0] != envelopeVersion {
		return nil, nil, ErrMalformed
	}
	headerBytes := prefixBytes + int(sealed[1])
	if headerBytes == prefixBytes || len(sealed) < headerBytes+overheadBytes {
		return nil, nil, ErrMalformed
	}
	return sealed[:headerBytes:headerBytes], sealed[headerBytes:], nil
}

// authenticated returns the header followed by the caller's data. The header
// contains its own length, so that different pairs give different bytes.
func authenticated(header, aad []byte) []byte { return slices.Concat(header, aad) }
