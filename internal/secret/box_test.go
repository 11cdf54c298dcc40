package secret_test

import (
	"bytes"
	"errors"
	"strings"
	"testing"

	"github.com/magpie-search/magpie/internal/secret"
)

var row = secret.AAD("connectors", "6f1c")

func key(fill byte) []byte { return bytes.Repeat([]byte{fill}, secret.KeyBytes) }

func newBox(t testing.TB, keys map[string][]byte, current string) *secret.Box {
	t.Helper()
	box, err := secret.NewBox(keys, current)
	if err != nil {
		t.Fatalf("new box: %v", err)
	}
	return box
}

func seal(t testing.TB, box *secret.Box, plain string) []byte {
	t.Helper()
	sealed, err := box.Seal([]byte(plain), row)
	if err != nil {
		t.Fatalf("seal: %v", err)
	}
	return sealed
}

func TestOpenReturnsWhatWasSealed(t *testing.T) {
	t.Parallel()
	box := newBox(t, map[string][]byte{"2024": key(1)}, "2024")
	for _, plain := range []string{"", "x", strings.Repeat("long ", 10_000)} {
		sealed := seal(t, box, plain)
		if len(plain) > 8 && bytes.Contains(sealed, []byte(plain)) {
			t.Errorf("the sealed form shows the secret")
		}
		opened, err := box.Open(sealed, row)
		if err != nil || string(opened) != plain {
			t.Errorf("open: got %d bytes, %v; want %d bytes", len(opened), err, len(plain))
		}
	}
}

func TestSealingTwiceGivesDifferentBytes(t *testing.T) {
	t.Parallel()
	box := newBox(t, map[string][]byte{"a": key(1)}, "a")
	if bytes.Equal(seal(t, box, "same"), seal(t, box, "same")) {
		t.Error("two seals of one secret are equal")
	}
}

func TestAChangedByteDoesNotOpen(t *testing.T) {
	t.Parallel()
	box := newBox(t, map[string][]byte{"ab": key(1)}, "ab")
	sealed := seal(t, box, "the secret")
	for at := range sealed {
		changed := bytes.Clone(sealed)
		changed[at] ^= 0x40
		if opened, err := box.Open(changed, row); err == nil {
			t.Errorf("byte %d changed, still opened to %q", at, opened)
		}
	}
}

func TestATruncatedSecretDoesNotOpen(t *testing.T) {
	t.Parallel()
	box := newBox(t, map[string][]byte{"ab": key(1)}, "ab")
	sealed := seal(t, box, "the secret")
	for length := range sealed {
		if _, err := box.Open(sealed[:length], row); err == nil {
			t.Errorf("opened when cut to %d of %d bytes", length, len(sealed))
		}
	}
	if _, err := box.Open(append(bytes.Clone(sealed), 0), row); !errors.Is(err, secret.ErrTampered) {
		t.Errorf("a byte appended: got %v, want ErrTampered", err)
	}
}

func TestSecretMovedToAnotherRowDoesNotOpen(t *testing.T) {
	t.Parallel()
	box := newBox(t, map[string][]byte{"a": key(1)}, "a")
	sealed := seal(t, box, "the secret")
	for _, other := range [][]byte{nil, secret.AAD("connectors", "6f1d"), secret.AAD("users", "6f1c")} {
		if _, err := box.Open(sealed, other); !errors.Is(err, secret.ErrTampered) {
			t.Errorf("with %q: got %v, want ErrTampered", other, err)
		}
	}
}

func TestRotationKeepsOldSecretsReadable(t *testing.T) {
	t.Parallel()
	before := newBox(t, map[string][]byte{"old": key(1)}, "old")
	sealed := seal(t, before, "the secret")

	after := newBox(t, map[string][]byte{"old": key(1), "new": key(2)}, "new")
	if !after.Stale(sealed) {
		t.Error("a secret under the old key is not reported stale")
	}
	opened, err := after.Open(sealed, row)
	if err != nil || string(opened) != "the secret" {
		t.Fatalf("open after rotation: %q, %v", opened, err)
	}
	again := seal(t, after, string(opened))
	if after.Stale(again) {
		t.Error("a secret under the current key is reported stale")
	}

	last := newBox(t, map[string][]byte{"new": key(2)}, "new")
	if _, err := last.Open(sealed, row); !errors.Is(err, secret.ErrUnknownKey) {
		t.Errorf("old key gone: got %v, want ErrUnknownKey", err)
	}
	if opened, err := last.Open(again, row); err != nil || string(opened) != "the secret" {
		t.Errorf("sealed again: %q, %v", opened, err)
	}
}

func TestOtherKeyOfTheSameIDDoesNotOpen(t *testing.T) {
	t.Parallel()
	sealed := seal(t, newBox(t, map[string][]byte{"a": key(1)}, "a"), "the secret")
	if _, err := newBox(t, map[string][]byte{"a": key(2)}, "a").Open(sealed, row); !errors.Is(err, secret.ErrTampered) {
		t.Errorf("got %v, want ErrTampered", err)
	}
}

func TestErrorsAboutKeysDoNotContainThem(t *testing.T) {
	t.Parallel()
	const material = "hunter2hunter2"
	cases := map[string]struct {
		keys    map[string][]byte
		current string
	}{
		"no keys":         {nil, "a"},
		"current missing": {map[string][]byte{"a": key(1)}, "b"},
		"short key":       {map[string][]byte{"a": []byte(material)}, "a"},
		"empty id":        {map[string][]byte{"": key(1)}, ""},
		"long id":         {map[string][]byte{strings.Repeat("i", 65): key(1)}, strings.Repeat("i", 65)},
	}
	for name, c := range cases {
		_, err := secret.NewBox(c.keys, c.current)
		if err == nil {
			t.Errorf("%s: accepted", name)
		} else if strings.Contains(err.Error(), material) {
			t.Errorf("%s: the error shows the key: %v", name, err)
		}
	}
}

func FuzzOpen(f *testing.F) {
	box := newBox(f, map[string][]byte{"a": key(1), "long-key-id": key(2)}, "long-key-id")
	sealed := seal(f, box, "the secret")
	f.Add(sealed, row)
	f.Add(sealed[:20], row)
	f.Add([]byte{}, []byte(nil))
	f.Add([]byte{1, 255}, row)
	f.Add([]byte{1, 0, 0, 0}, row)
	f.Fuzz(func(t *testing.T, data, aad []byte) {
		opened, err := box.Open(data, aad)
		// Each process of a fuzzing run has a seed of its own, so that the content
		// is all that can be compared.
		if err == nil && (string(opened) != "the secret" || !bytes.Equal(aad, row)) {
			t.Fatalf("forged bytes opened to %q", opened)
		}
		if err != nil && strings.Contains(err.Error(), "the secret") {
			t.Fatalf("the error shows the secret: %v", err)
		}
		box.Stale(data)
	})
}

func TestAKeyCheckTellsKeysApart(t *testing.T) {
	t.Parallel()
	first, second := secret.KeyCheck(key(1)), secret.KeyCheck(key(2))
	if first == second || first != secret.KeyCheck(key(1)) || len(first) != 64 || strings.Contains(first, string(key(1))) {
		t.Errorf("check values %s and %s", first, second)
	}
}
