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
	"sync/atomic"
	"time"

	"golang.org/x/crypto/argon2"
	"golang.org/x/text/unicode/norm"

	"github.com/magpie-search/magpie/internal/apierr"
)

// The cost of a password hash: the second choice of RFC 9106 scaled to the
// OWASP minimum, about 25 ms on one core.
const (
	// The cost of a password hash: the second recommendation of RFC 9106 scaled to
	// the OWASP minimum, about 25 ms on one core.
	argonMemory  = 19 * 1024 // KiB
	argonTime    = 2
	argonThreads = 1
	argonKey     = 32
	argonSalt    = 16
)

// maxHashedBytes is the longest password that is hashed. Longer ones never match.
const maxHashedBytes = 4 * MaxPassword

// maxWaitingPerSlot is the maximum number of calls that wait for each running hash:
// about a second and a half.
const maxWaitingPerSlot = 64

// ErrPasswordHash says that a stored hash is malformed.
var ErrPasswordHash = errors.New("the stored password hash cannot be read")

// Passwords hashes and checks passwords with argon2id (RFC 9106). A hash takes 19
// MiB, so Passwords limits how many run and how many wait, and refuses the rest.
type Passwords struct {
	slots   chan struct{}
	waiting atomic.Int64
	limit   int64
}

// NewPasswords returns Passwords that run one hash per core.
func NewPasswords() *Passwords {
	cores := runtime.GOMAXPROCS(0)
	return &Passwords{slots: make(chan struct{}, cores), limit: int64(cores) * maxWaitingPerSlot}
}

func (p *Passwords) acquire(ctx context.Context) (release func(), err error) {
	release = func() { <-p.slots }
	select {
	case p.slots <- struct{}{}:
		return release, nil
	default:
	}
	defer p.waiting.Add(-1)
	if p.waiting.Add(1) > p.limit {
		return nil, &apierr.Error{Code: apierr.Unavailable, Message: "Too many people sign in just now; try again in a moment.", RetryAfter: time.Second}
	}
	select {
	case p.slots <- struct{}{}:
		return release, nil
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// argon hashes a password in composed characters (NFC), so that every keyboard
// produces the same hash.
func argon(password string, salt []byte, time, memory uint32, threads uint8, length uint32) []byte {
	return argon2.IDKey(norm.NFC.Bytes([]byte(password)), salt, time, memory, threads, length)
}

// Hash returns the hash of a password in the PHC string format. The error is
// unavailable if too many calls wait.
func (p *Passwords) Hash(ctx context.Context, password string) (string, error) {
	release, err := p.acquire(ctx)
	if err != nil {
		return "", err
	}
	defer release()
	salt := make([]byte, argonSalt)
	_, _ = rand.Read(salt) // documented never to fail
	key := argon(password, salt, argonTime, argonMemory, argonThreads, argonKey)
	return argonPrefix() + fmt.Sprintf("%s$%s", base64.RawStdEncoding.EncodeToString(salt), base64.RawStdEncoding.EncodeToString(key)), nil
}

// argonPrefix returns the prefix of hashes with the current parameters.
func argonPrefix() string {
	return fmt.Sprintf("$argon2id$v=%d$m=%d,t=%d,p=%d$", argon2.Version, argonMemory, argonTime, argonThreads)
}

// Outdated reports whether a hash has other parameters than Hash uses.
func (p *Passwords) Outdated(hash string) bool { return !strings.HasPrefix(hash, argonPrefix()) }

// Match reports whether password has the given hash. An empty hash and a password
// that is too long never match, but take the same time. The error is unavailable if
// too many calls wait.
func (p *Passwords) Match(ctx context.Context, password, hash string) (bool, error) {
	release, err := p.acquire(ctx)
	if err != nil {
		return false, err
	}
	defer release()
	if len(password) > maxHashedBytes {
		password, hash = "", ""
	}
	if hash == "" {
		argon(password, make([]byte, argonSalt), argonTime, argonMemory, argonThreads, argonKey)
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
	got := argon(password, salt, time, memory, threads, uint32(len(want))) //nolint:gosec // at most 128
	return subtle.ConstantTimeCompare(got, want) == 1, nil
}
