package authn

import (
	"context"
	"crypto/rand"
	"crypto/subtle"
	"encoding/base64"
	"errors"
	"fmt"
	"runtime"
	"strings"

	"golang.org/x/crypto/argon2"
)

// The cost of a password hash: the second choice of RFC 9106 scaled to the
// OWASP minimum, about 25 ms on one core.
const (
	argonMemory  = 19 * 1024 // KiB
	argonTime    = 2
	argonThreads = 1
	argonKey     = 32
	argonSalt    = 16
)

// ErrPasswordHash is returned for a stored hash that cannot be read.
var ErrPasswordHash = errors.New("the stored password hash cannot be read")

// Passwords hashes and checks passwords with argon2id (RFC 9106). It bounds how
// many are worked on at once, since each takes 19 MiB.
type Passwords struct{ slots chan struct{} }

// NewPasswords allows as many hashes at once as there are cores.
func NewPasswords() *Passwords {
	return &Passwords{slots: make(chan struct{}, runtime.GOMAXPROCS(0))}
}

func (p *Passwords) acquire(ctx context.Context) (release func(), err error) {
	select {
	case p.slots <- struct{}{}:
		return func() { <-p.slots }, nil
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// Hash returns the password's hash in the PHC string form.
func (p *Passwords) Hash(ctx context.Context, password string) (string, error) {
	release, err := p.acquire(ctx)
	if err != nil {
		return "", err
	}
	defer release()
	salt := make([]byte, argonSalt)
	_, _ = rand.Read(salt) // documented never to fail
	key := argon2.IDKey([]byte(password), salt, argonTime, argonMemory, argonThreads, argonKey)
	return fmt.Sprintf("$argon2id$v=%d$m=%d,t=%d,p=%d$%s$%s", argon2.Version, argonMemory, argonTime, argonThreads,
		base64.RawStdEncoding.EncodeToString(salt), base64.RawStdEncoding.EncodeToString(key)), nil
}

// Match reports whether password belongs to hash. An empty hash, as for a
// person without a password or an unknown one, costs as much time and never matches.
func (p *Passwords) Match(ctx context.Context, password, hash string) (bool, error) {
	release, err := p.acquire(ctx)
	if err != nil {
		return false, err
	}
	defer release()
	if hash == "" {
		argon2.IDKey([]byte(password), make([]byte, argonSalt), argonTime, argonMemory, argonThreads, argonKey)
		return false, nil
	}
	parts := strings.Split(hash, "$")
	if len(parts) != 6 || parts[1] != "argon2id" {
		return false, ErrPasswordHash
	}
	var version int
	var memory, time uint32
	var threads uint8
	if _, err := fmt.Sscanf(parts[2], "v=%d", &version); err != nil || version != argon2.Version {
		return false, ErrPasswordHash
	}
	if _, err := fmt.Sscanf(parts[3], "m=%d,t=%d,p=%d", &memory, &time, &threads); err != nil || time == 0 || threads == 0 || memory > 1<<20 {
		return false, ErrPasswordHash
	}
	salt, err := base64.RawStdEncoding.DecodeString(parts[4])
	if err != nil {
		return false, ErrPasswordHash
	}
	want, err := base64.RawStdEncoding.DecodeString(parts[5])
	if err != nil || len(want) < 16 || len(want) > 128 {
		return false, ErrPasswordHash
	}
	got := argon2.IDKey([]byte(password), salt, time, memory, threads, uint32(len(want))) //nolint:gosec // at most 128
	return subtle.ConstantTimeCompare(got, want) == 1, nil
}
