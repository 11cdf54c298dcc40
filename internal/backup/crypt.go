package backup

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"hash"
	"io"
	"slices"
	"strings"

	"filippo.io/age"
	"github.com/klauspost/compress/zstd"

	"github.com/magpie-search/magpie/internal/connector/blob"
)

// passphraseKey is where a store keeps its key, encrypted with the passphrase.
const passphraseKey = "keys/passphrase"

// maxKeyFile bounds the bytes of the key of a store.
const maxKeyFile = 16 << 10

// Protection says how a backup is encrypted. Exactly one of the first three is set.
type Protection struct {
	// Recipients are public keys of age: age1….
	Recipients []string
	// Passphrase encrypts the key that is made for a store.
	Passphrase string
	// None encrypts nothing.
	None bool
}

// Check returns an error unless the protection is complete and unambiguous.
func (p Protection) Check() error {
	given := 0
	for _, set := range []bool{len(p.Recipients) > 0, p.Passphrase != "", p.None} {
		if set {
			given++
		}
	}
	switch given {
	case 0:
		return errors.New("a backup has everything that the database has: give a recipient or a passphrase for which it is encrypted, or ask for an unencrypted one")
	case 1:
		return nil
	default:
		return errors.New("give recipients, a passphrase, or neither and no encryption: only one of them")
	}
}

// sealing encrypts for somebody.
type sealing struct {
	kind       string // as Manifest.Encrypted
	recipients []age.Recipient
	id         string // tells for whom, without a secret
}

// protect returns the sealing of a store. It makes the key of a store that is
// protected by a passphrase for the first time.
func protect(ctx context.Context, store blob.Store, p Protection) (sealing, error) {
	if err := p.Check(); err != nil {
		return sealing{}, err
	}
	switch {
	case p.None:
		return sealing{kind: "no", id: "none"}, nil
	case p.Passphrase != "":
		identity, err := openKey(ctx, store, p.Passphrase)
		if errors.Is(err, blob.ErrNotFound) {
			identity, err = makeKey(ctx, store, p.Passphrase)
		}
		if err != nil {
			return sealing{}, err
		}
		recipient := identity.Recipient()
		return sealing{kind: "passphrase", recipients: []age.Recipient{recipient}, id: fingerprint([]string{recipient.String()})}, nil
	default:
		recipients, err := age.ParseRecipients(strings.NewReader(strings.Join(p.Recipients, "\n")))
		if err != nil {
			return sealing{}, errors.New("a recipient is no public key of age; it looks like age1… (age-keygen makes one)")
		}
		return sealing{kind: "recipients", recipients: recipients, id: fingerprint(p.Recipients)}, nil
	}
}

func fingerprint(recipients []string) string {
	sorted := slices.Sorted(slices.Values(recipients))
	sum := sha256.Sum256([]byte(strings.Join(sorted, "\n")))
	return hex.EncodeToString(sum[:8])
}

func makeKey(ctx context.Context, store blob.Store, passphrase string) (*age.X25519Identity, error) {
	identity, err := age.GenerateX25519Identity()
	if err != nil {
		return nil, fmt.Errorf("make a key: %w", err)
	}
	recipient, err := age.NewScryptRecipient(passphrase)
	if err != nil {
		return nil, fmt.Errorf("use the passphrase: %w", err)
	}
	var sealed bytes.Buffer
	w, err := age.Encrypt(&sealed, recipient)
	if err == nil {
		_, err = io.WriteString(w, identity.String())
	}
	if err == nil {
		err = w.Close()
	}
	if err != nil {
		return nil, fmt.Errorf("encrypt the key of the store: %w", err)
	}
	if err := store.Put(ctx, passphraseKey, &sealed, int64(sealed.Len())); err != nil {
		return nil, fmt.Errorf("store the key: %w", err)
	}
	return identity, nil
}

func openKey(ctx context.Context, store blob.Store, passphrase string) (*age.X25519Identity, error) {
	content, err := store.Open(ctx, passphraseKey)
	if err != nil {
		return nil, fmt.Errorf("read the key of the store: %w", err)
	}
	sealed, err := io.ReadAll(io.LimitReader(content, maxKeyFile))
	if err = errors.Join(err, content.Close()); err != nil {
		return nil, fmt.Errorf("read the key of the store: %w", err)
	}
	identity, err := age.NewScryptIdentity(passphrase)
	if err != nil {
		return nil, fmt.Errorf("use the passphrase: %w", err)
	}
	plain, err := age.Decrypt(bytes.NewReader(sealed), identity)
	if err != nil {
		return nil, errors.New("this is not the passphrase of the backups here")
	}
	text, err := io.ReadAll(io.LimitReader(plain, maxKeyFile))
	if err != nil {
		return nil, errors.New("the key of the store is damaged")
	}
	key, err := age.ParseX25519Identity(string(text))
	if err != nil {
		return nil, errors.New("the key of the store is damaged")
	}
	return key, nil
}

// Unlock opens encrypted backups.
type Unlock struct {
	// Identities is the content of a file of age with secret keys.
	Identities string
	Passphrase string
}

// given reports whether there is anything to open a backup with.
func (u Unlock) given() bool { return u.Identities != "" || u.Passphrase != "" }

// opening returns the identities for a backup, none for an unencrypted one.
func (u Unlock) opening(ctx context.Context, store blob.Store, m *Manifest) (opening, error) {
	switch {
	case m.Encrypted == "no":
		return opening{}, nil
	case m.Encrypted == "passphrase" && u.Passphrase == "":
		return opening{}, errors.New("the backup is encrypted with a passphrase; give its file by --passphrase-file")
	case m.Encrypted == "passphrase":
		key, err := openKey(ctx, store, u.Passphrase)
		if err != nil {
			return opening{}, err
		}
		return opening{identities: []age.Identity{key}, encrypted: true}, nil
	case u.Identities == "":
		return opening{}, errors.New("the backup is encrypted; give the file with your secret key (AGE-SECRET-KEY-1…) by --identity-file")
	}
	identities, err := age.ParseIdentities(strings.NewReader(u.Identities))
	if err != nil {
		return opening{}, errors.New("the identity file has no secret key of age; it looks like AGE-SECRET-KEY-1…")
	}
	return opening{identities: identities, encrypted: true}, nil
}

// opening opens what a sealing has sealed.
type opening struct {
	identities []age.Identity
	encrypted  bool
}

// counter counts and hashes what is written to it.
type counter struct {
	bytes int64
	sum   hash.Hash
}

func newCounter() *counter { return &counter{sum: sha256.New()} }

func (c *counter) Write(p []byte) (int, error) {
	c.bytes += int64(len(p))
	return c.sum.Write(p)
}

func (c *counter) stored() Stored { return Stored{c.bytes, c.hash()} }

func (c *counter) hash() string { return hex.EncodeToString(c.sum.Sum(nil)) }

// put stores what write writes, compressed and encrypted.
func (s sealing) put(ctx context.Context, store blob.Store, key string, write func(io.Writer) error) (Stored, error) {
	reader, writer := io.Pipe()
	count := newCounter()
	done := make(chan error, 1)
	go func() {
		err := s.encode(io.MultiWriter(writer, count), write)
		_ = writer.CloseWithError(err) // documented never to fail
		done <- err
	}()
	putErr := store.Put(ctx, key, reader, -1)
	_ = reader.CloseWithError(errStopped) // ends the writer if Put has not read everything
	err := <-done
	if err != nil && !errors.Is(err, errStopped) {
		return Stored{}, err // Put has failed because of it
	}
	if putErr != nil {
		return Stored{}, fmt.Errorf("write the backup: %w", putErr)
	}
	return count.stored(), nil
}

var errStopped = errors.New("the store has stopped reading")

func (s sealing) encode(to io.Writer, write func(io.Writer) error) error {
	var sealed io.WriteCloser = nopCloser{to}
	if len(s.recipients) > 0 {
		var err error
		if sealed, err = age.Encrypt(to, s.recipients...); err != nil {
			return fmt.Errorf("encrypt: %w", err)
		}
	}
	packed, err := zstd.NewWriter(sealed, zstd.WithEncoderLevel(zstd.SpeedFastest), zstd.WithEncoderConcurrency(1))
	if err != nil {
		return fmt.Errorf("compress: %w", err)
	}
	if err := write(packed); err != nil {
		return errors.Join(err, ignore(packed.Close()))
	}
	if err := packed.Close(); err != nil {
		return fmt.Errorf("compress: %w", err)
	}
	if err := sealed.Close(); err != nil {
		return fmt.Errorf("encrypt: %w", err)
	}
	return nil
}

// ignore drops an error that follows from another one.
func ignore(error) error { return nil }

type nopCloser struct{ io.Writer }

func (nopCloser) Close() error { return nil }

// get hands what put stored to read, which must read to the end. The error tells if the
// stored bytes are others than before.
func (o opening) get(ctx context.Context, store blob.Store, key string, want Stored, read func(io.Reader) error) error {
	content, err := store.Open(ctx, key)
	if err != nil {
		return fmt.Errorf("the backup lacks a part: %w", err)
	}
	defer func() { _ = content.Close() }()
	count := newCounter()
	raw := io.TeeReader(content, count)
	if err := o.decode(raw, read); err != nil {
		return fmt.Errorf("read %s of the backup: %w", key, err)
	}
	if _, err := io.Copy(io.Discard, raw); err != nil {
		return fmt.Errorf("read %s of the backup: %w", key, err)
	}
	if count.stored() != want {
		return fmt.Errorf("%s of the backup is damaged: it has other bytes than when it was written", key)
	}
	return nil
}

func (o opening) decode(raw io.Reader, read func(io.Reader) error) error {
	if o.encrypted {
		plain, err := age.Decrypt(raw, o.identities...)
		if _, other := errors.AsType[*age.NoIdentityMatchError](err); other {
			return errors.New("it is encrypted for another key")
		}
		if err != nil {
			return fmt.Errorf("decrypt: %w", err)
		}
		raw = plain
	}
	unpacked, err := zstd.NewReader(raw, zstd.WithDecoderConcurrency(1))
	if err != nil {
		return fmt.Errorf("decompress: %w", err)
	}
	defer unpacked.Close()
	return read(unpacked)
}
