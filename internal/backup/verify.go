package backup

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/magpie-search/magpie/internal/connector/blob"
)

// A Verification is the result of Verify.
type Verification struct {
	Manifest *Manifest
	// Opened says that everything was decrypted, and rows and contents compared. Without
	// a key, only the stored bytes are.
	Opened bool
	// Problems are sentences, none for a good backup.
	Problems []string
}

// Verify reads a whole backup, the newest for the id "", and compares it with its
// manifest. Problems of the backup are part of the result.
func Verify(ctx context.Context, store blob.Store, id string, unlock Unlock, progress func(Progress)) (*Verification, error) {
	m, err := find(ctx, store, id)
	if err != nil {
		return nil, err
	}
	v := &Verification{Manifest: m}
	var open opening
	if v.Opened = m.Encrypted == "no" || unlock.given(); v.Opened {
		if open, err = unlock.opening(ctx, store, m); err != nil {
			return nil, err
		}
	}
	tell := func(doing string, done, total int) {
		if progress != nil {
			progress(Progress{doing, done, total})
		}
	}
	for i, t := range m.Tables {
		tell("table "+t.Name, i, len(m.Tables))
		if !v.Opened {
			v.note(ctx, compareStored(ctx, store, tableKey(m.ID, t.Name), t.Stored))
			continue
		}
		var rows int64
		err := open.get(ctx, store, tableKey(m.ID, t.Name), t.Stored, func(r io.Reader) (err error) { rows, err = countLines(r); return err })
		if err == nil && rows != t.Rows {
			err = fmt.Errorf("the table %s has %d rows, and the manifest says %d", t.Name, rows, t.Rows)
		}
		v.note(ctx, err)
	}
	files, err := readIndex(ctx, store, m)
	if err != nil {
		v.note(ctx, err)
		return v, ctx.Err()
	}
	digests := map[string]string{}
	if v.Opened {
		digests, err = readDigests(ctx, store, m, open)
	} else {
		err = compareStored(ctx, store, digestsKey(m.ID), m.Files.Digests)
	}
	v.note(ctx, err)
	var size int64
	for i, f := range files {
		tell("files", i, len(files))
		size += f.Bytes
		if !v.Opened {
			v.note(ctx, compareStored(ctx, store, fileKey(f.Key), f.Stored))
			continue
		}
		v.note(ctx, open.get(ctx, store, fileKey(f.Key), f.Stored, func(r io.Reader) error {
			return compareContent(r, f, digests[f.Key])
		}))
	}
	if int64(len(files)) != m.Files.Count || size != m.Files.Bytes {
		v.note(ctx, fmt.Errorf("the list has %d files of %d bytes, and the manifest says %d of %d", len(files), size, m.Files.Count, m.Files.Bytes))
	}
	return v, ctx.Err()
}

// note adds a problem, unless it is the end of the context.
func (v *Verification) note(ctx context.Context, err error) {
	if err != nil && ctx.Err() == nil {
		v.Problems = append(v.Problems, err.Error())
	}
}

func readDigests(ctx context.Context, store blob.Store, m *Manifest, open opening) (map[string]string, error) {
	digests := map[string]string{}
	err := open.get(ctx, store, digestsKey(m.ID), m.Files.Digests, func(r io.Reader) error {
		all, err := decodeLines[digest](r)
		for _, d := range all {
			digests[d.Key] = d.SHA256
		}
		return err
	})
	return digests, err
}

// compareContent compares the content of a file with its entry and its hash, which is
// empty for a file that was damaged before.
func compareContent(r io.Reader, f file, sum string) error {
	count := newCounter()
	if _, err := io.Copy(count, r); err != nil {
		return err
	}
	if count.bytes != f.Bytes || sum != "" && count.hash() != sum {
		return errors.New("the content is not the one that was uploaded")
	}
	return nil
}

func compareStored(ctx context.Context, store blob.Store, key string, want Stored) error {
	content, err := store.Open(ctx, key)
	if err != nil {
		return fmt.Errorf("the backup lacks a part: %w", err)
	}
	count := newCounter()
	_, err = io.Copy(count, content)
	if err = errors.Join(err, content.Close()); err != nil {
		return fmt.Errorf("read %s of the backup: %w", key, err)
	}
	if count.stored() != want {
		return fmt.Errorf("%s of the backup is damaged: it has other bytes than when it was written", key)
	}
	return nil
}

// countLines counts the rows of a table. COPY writes one line a row; a newline in a
// value is escaped.
func countLines(r io.Reader) (lines int64, err error) {
	buffered := bufio.NewReaderSize(r, 1<<16)
	buffer := make([]byte, 1<<16)
	for {
		n, err := buffered.Read(buffer)
		lines += int64(bytes.Count(buffer[:n], []byte("\n")))
		if errors.Is(err, io.EOF) {
			return lines, nil
		}
		if err != nil {
			return lines, err
		}
	}
}
