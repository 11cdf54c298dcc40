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
//	version (1 byte) | length of the key id (1 byte) | key id | nonce (12) | ciphertext and tag (16)
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
	// ErrMalformed says that bytes were never sealed by a Box, or were cut off.
	ErrMalformed = errors.New("not a sealed secret, or cut off")
	// ErrUnknownKey says that a secret was sealed with a key the Box lacks.
	ErrUnknownKey = errors.New("sealed with a key that is not configured")
	// ErrTampered says that a secret does not open: it was changed, moved to
	// another row, or sealed with another key of the same id.
	ErrTampered = errors.New("does not open: changed, moved to another row, or sealed with another key")
)

// KeyError is ErrUnknownKey with the id of the key that is missing. Its text says
// what there is to do.
type KeyError struct{ ID string }

func (e *KeyError) Error() string {
	return fmt.Sprintf("sealed with the key %q, which SECRET_KEYS lacks: put it back there, or set anew what it sealed", printable(e.ID))
}

// Unwrap makes the error ErrUnknownKey.
func (e *KeyError) Unwrap() error { return ErrUnknownKey }

// printable is the id that an envelope names, which nobody vouches for.
func printable(id string) string {
	return strings.Map(func(r rune) rune {
		if unicode.IsPrint(r) && r != utf8.RuneError {
			return r
		}
		return -1
	}, id)
}

// Box seals and opens secrets. It is safe for concurrent use. No error of it
// holds a secret or a key.
type Box struct {
	current string
	sealers map[string]cipher.AEAD
}

// NewBox makes a Box from keys of 32 bytes by key id. New secrets are sealed
// with the current key; the others only open what was sealed with them. A key
// may seal 2^32 secrets.
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

// AAD returns the additional data that ties a secret to one row of a table.
func AAD(table, id string) []byte { return []byte(table + ":" + id) }

// Seal encrypts plain with the current key. The same aad is needed to open it.
func (b *Box) Seal(plain, aad []byte) ([]byte, error) {
	header := append([]byte{envelopeVersion, byte(len(b.current))}, b.current...) //nolint:gosec // NewBox bounds its length
	sealed := make([]byte, len(header), len(header)+len(plain)+overheadBytes)
	copy(sealed, header)
	return b.sealers[b.current].Seal(sealed, nil, plain, bind(header, aad)), nil
}

// Open decrypts what Seal made, with the key it names. The error is
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
	plain, err := sealer.Open(nil, nil, body, bind(header, aad))
	if err != nil {
		return nil, ErrTampered
	}
	return plain, nil
}

// Stale reports whether a secret was sealed with another key than the current
// one and should be opened and sealed again.
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

// bind puts the header before the caller's data. The header tells its own
// length, so that no two pairs of header and data give the same bytes.
func bind(header, aad []byte) []byte { return slices.Concat(header, aad) }
