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
	argonMemory  = 19 * 1024 // KiB
	argonTime    = 2
	argonThreads = 1
	argonKey     = 32
	argonSalt    = 16
)

// maxHashed is how many bytes of a password are hashed at most; longer ones
// than any that could have been set match nothing.
const maxHashed = 4 * MaxPassword

// waitingPerSlot is how many may wait for each that is worked on: about a second
// and a half.
const waitingPerSlot = 64

// ErrPasswordHash is returned for a stored hash that cannot be read.
var ErrPasswordHash = errors.New("the stored password hash cannot be read")

// Passwords hashes and checks passwords with argon2id (RFC 9106). It bounds how
// many are worked on at once, since each takes 19 MiB, and how many wait for
// that, so that a flood of sign-ins is turned away instead of piling up.
type Passwords struct {
	slots   chan struct{}
	waiting atomic.Int64
	most    int64
}

// NewPasswords allows as many hashes at once as there are cores.
func NewPasswords() *Passwords {
	cores := runtime.GOMAXPROCS(0)
	return &Passwords{slots: make(chan struct{}, cores), most: int64(cores) * waitingPerSlot}
}

func (p *Passwords) acquire(ctx context.Context) (release func(), err error) {
	release = func() { <-p.slots }
	select {
	case p.slots <- struct{}{}:
		return release, nil
	default:
	}
	defer p.waiting.Add(-1)
	if p.waiting.Add(1) > p.most {
		return nil, &apierr.Error{Code: apierr.Unavailable, Message: "Too many people sign in just now; try again in a moment.", RetryAfter: time.Second}
	}
	select {
	case p.slots <- struct{}{}:
		return release, nil
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// argon hashes a password in composed characters, so that it is the same from
// every keyboard.
func argon(password string, salt []byte, time, memory uint32, threads uint8, length uint32) []byte {
	return argon2.IDKey(norm.NFC.Bytes([]byte(password)), salt, time, memory, threads, length)
}

// Hash returns the password's hash in the PHC string form. Unavailable when too
// many wait for one.
func (p *Passwords) Hash(ctx context.Context, password string) (string, error) {
	release, err := p.acquire(ctx)
	if err != nil {
		return "", err
	}
	defer release()
	salt := make([]byte, argonSalt)
	_, _ = rand.Read(salt) // documented never to fail
	key := argon(password, salt, argonTime, argonMemory, argonThreads, argonKey)
	return argonHead() + fmt.Sprintf("%s$%s", base64.RawStdEncoding.EncodeToString(salt), base64.RawStdEncoding.EncodeToString(key)), nil
}

// argonHead is how hashes of the present parameters begin.
func argonHead() string {
	return fmt.Sprintf("$argon2id$v=%d$m=%d,t=%d,p=%d$", argon2.Version, argonMemory, argonTime, argonThreads)
}

// Outdated says that a hash was made with other parameters than those of Hash.
func (p *Passwords) Outdated(hash string) bool { return !strings.HasPrefix(hash, argonHead()) }

// Match reports whether password belongs to hash. An empty hash, as for a
// person without a password or an unknown one, costs as much time and never
// matches; neither does a password that is too long to be one. Unavailable when
// too many wait.
func (p *Passwords) Match(ctx context.Context, password, hash string) (bool, error) {
	release, err := p.acquire(ctx)
	if err != nil {
		return false, err
	}
	defer release()
	if len(password) > maxHashed {
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
