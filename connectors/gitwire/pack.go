package gitwire

import (
	"bytes"
	"compress/zlib"
	"crypto/sha1" //nolint:gosec // git names its objects by it
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"strings"
)

// Limits bound a repository.
type Limits struct {
	// Pack is the largest compressed size in bytes, Inflated the largest size
	// of all contents.
	Pack, Inflated int
	// Files is the largest number of files.
	Files int
}

// ErrTooLarge says that a repository exceeds the limits.
var ErrTooLarge = errors.New("the repository is too large")

// A File is a file of the newest commit.
type File struct {
	// Path is slash-separated. Hash is git's hash of the content.
	Path, Hash string
	// Content is nil if the server left the file out because of its size.
	Content []byte
}

const (
	typeCommit, typeTree, typeBlob = 1, 2, 3
	typeTag, typeOffset, typeHash  = 4, 6, 7

	maxDepth   = 64
	maxObjects = 500_000
)

// An object is an object of a pack: a content, or a delta and its base.
type object struct {
	kind       int
	content    []byte
	offset     int // in the pack
	baseOffset int
	baseHash   string
	resolved   bool
}

type pack struct {
	objects []*object
	byHash  map[string]*object
	budget  int // bytes that may still be produced
}

// ReadFiles parses the response to [Tip.Request]. It returns the regular files
// of the commit, in git's order, without symbolic links and submodules.
func (t Tip) ReadFiles(body io.Reader, limits Limits) ([]File, error) {
	data, err := readPack(body, limits.Pack)
	if err != nil {
		return nil, err
	}
	p, err := parsePack(data, limits.Inflated)
	if err != nil {
		return nil, err
	}
	commit := p.byHash[t.Commit]
	if commit == nil || commit.kind != typeCommit {
		return nil, fmt.Errorf("%w: the commit is not in it", ErrMalformed)
	}
	first, _, _ := strings.Cut(string(commit.content), "\n")
	root, ok := strings.CutPrefix(first, "tree ")
	if !ok {
		return nil, ErrMalformed
	}
	files, err := p.listFiles(nil, root, "", limits.Files, 0)
	if err != nil {
		return nil, err
	}
	for _, f := range files {
		if f.Content == nil && !t.capabilities["filter"] {
			return nil, fmt.Errorf("%w: a file is not in it", ErrMalformed)
		}
	}
	return files, nil
}

// parsePack parses a pack of version 2.
func parsePack(data []byte, maxInflated int) (*pack, error) {
	const head, tail = 12, sha1.Size
	if len(data) < head+tail || string(data[:4]) != "PACK" || binary.BigEndian.Uint32(data[4:]) != 2 {
		return nil, fmt.Errorf("%w: no pack", ErrMalformed)
	}
	if sum := sha1.Sum(data[:len(data)-tail]); !bytes.Equal(sum[:], data[len(data)-tail:]) { //nolint:gosec // as git does
		return nil, fmt.Errorf("%w: the checksum does not match", ErrMalformed)
	}
	p := &pack{byHash: map[string]*object{}, budget: maxInflated}
	count, at := binary.BigEndian.Uint32(data[8:]), head
	data = data[:len(data)-tail]
	for range count {
		o, end, err := p.readObject(data, at)
		if err != nil {
			return nil, err
		}
		if p.objects = append(p.objects, o); len(p.objects) > maxObjects {
			return nil, ErrTooLarge
		}
		at = end
	}
	if at != len(data) {
		return nil, fmt.Errorf("%w: something follows the pack", ErrMalformed)
	}
	return p, p.resolve()
}

// readObject parses the object at an offset. It returns the offset of the next
// one.
func (p *pack) readObject(data []byte, at int) (*object, int, error) {
	cut := fmt.Errorf("%w: cut off", ErrMalformed)
	start := at
	if at >= len(data) {
		return nil, 0, cut
	}
	b := data[at]
	at++
	o := &object{kind: int(b >> 4 & 7), offset: start}
	size := uint64(b & 15)
	for shift := 4; b&0x80 != 0; shift += 7 {
		if at >= len(data) || shift > 40 {
			return nil, 0, cut
		}
		b = data[at]
		at++
		size |= uint64(b&0x7f) << shift
	}
	if size > uint64(max(p.budget, 0)) {
		return nil, 0, ErrTooLarge
	}
	p.budget -= int(size)
	switch o.kind {
	case typeCommit, typeTree, typeBlob, typeTag:
		o.resolved = true
	case typeHash:
		if at+sha1.Size > len(data) {
			return nil, 0, cut
		}
		o.baseHash = hex.EncodeToString(data[at : at+sha1.Size])
		at += sha1.Size
	case typeOffset:
		back := 0
		for first := true; ; first = false {
			if at >= len(data) || back > 1<<40 {
				return nil, 0, cut
			}
			b := data[at]
			at++
			if !first {
				back++
			}
			back = back<<7 | int(b&0x7f)
			if b&0x80 == 0 {
				break
			}
		}
		o.baseOffset = start - back
	default:
		return nil, 0, fmt.Errorf("%w: an object of an unknown type", ErrMalformed)
	}
	source := bytes.NewReader(data[at:])
	inflate, err := zlib.NewReader(source)
	if err != nil {
		return nil, 0, fmt.Errorf("%w: an object is not compressed", ErrMalformed)
	}
	// The buffer grows with what is there, not with what is claimed.
	var content bytes.Buffer
	n, err := content.ReadFrom(io.LimitReader(inflate, int64(size)+1))
	if err != nil || uint64(n) != size { //nolint:gosec // never negative
		return nil, 0, fmt.Errorf("%w: an object has another size than it says", ErrMalformed)
	}
	o.content = content.Bytes()
	return o, len(data) - source.Len(), nil
}

// resolve applies deltas and registers all objects: first the complete objects,
// and then those that are based on them, wherever they are in the pack.
func (p *pack) resolve() error {
	byOffset, byHash := map[int][]*object{}, map[string][]*object{}
	var ready []*object
	for _, o := range p.objects {
		switch {
		case o.resolved:
			ready = append(ready, o)
		case o.kind == typeOffset:
			byOffset[o.baseOffset] = append(byOffset[o.baseOffset], o)
		default:
			byHash[o.baseHash] = append(byHash[o.baseHash], o)
		}
	}
	for settled := 0; settled < len(p.objects); settled++ {
		if settled == len(ready) {
			return fmt.Errorf("%w: a change without what it changes", ErrMalformed)
		}
		o := ready[settled]
		hash := p.register(o)
		for _, d := range append(byOffset[o.offset], byHash[hash]...) {
			if d.resolved {
				continue
			}
			content, err := p.applyDelta(o.content, d.content)
			if err != nil {
				return err
			}
			d.kind, d.content, d.resolved = o.kind, content, true
			ready = append(ready, d)
		}
	}
	return nil
}

func (p *pack) register(o *object) string {
	kinds := map[int]string{typeCommit: "commit", typeTree: "tree", typeBlob: "blob", typeTag: "tag"}
	hash := Hash(kinds[o.kind], o.content)
	p.byHash[hash] = o
	return hash
}

// Hash returns git's hash of an object. The kind of a file's content is "blob".
func Hash(kind string, content []byte) string {
	h := sha1.New() //nolint:gosec // as git does
	_, _ = fmt.Fprintf(h, "%s %d\x00", kind, len(content))
	_, _ = h.Write(content)
	return hex.EncodeToString(h.Sum(nil))
}

// applyDelta returns the content that a delta makes of its base.
func (p *pack) applyDelta(base, delta []byte) ([]byte, error) {
	bad := fmt.Errorf("%w: a change that cannot be made", ErrMalformed)
	from, delta, ok := readLength(delta)
	if !ok || from != len(base) {
		return nil, bad
	}
	to, delta, ok := readLength(delta)
	switch {
	case !ok:
		return nil, bad
	case to > p.budget:
		return nil, ErrTooLarge
	}
	p.budget -= to
	var out []byte
	for len(delta) > 0 {
		code := delta[0]
		delta = delta[1:]
		if code&0x80 == 0 {
			size := int(code)
			if size == 0 || size > len(delta) || len(out)+size > to {
				return nil, bad
			}
			out, delta = append(out, delta[:size]...), delta[size:]
			continue
		}
		var numbers [7]int
		for bit := range 7 {
			if code&(1<<bit) == 0 {
				continue
			}
			if len(delta) == 0 {
				return nil, bad
			}
			numbers[bit], delta = int(delta[0]), delta[1:]
		}
		at := numbers[0] | numbers[1]<<8 | numbers[2]<<16 | numbers[3]<<24
		size := numbers[4] | numbers[5]<<8 | numbers[6]<<16
		if size == 0 {
			size = 0x10000
		}
		if at > len(base) || size > len(base)-at || len(out)+size > to {
			return nil, bad
		}
		out = append(out, base[at:at+size]...)
	}
	if len(out) != to {
		return nil, bad
	}
	return out, nil
}

// readLength parses a length at the start of a delta.
func readLength(delta []byte) (value int, rest []byte, ok bool) {
	for shift := 0; shift <= 35; shift += 7 {
		if len(delta) == 0 {
			return 0, nil, false
		}
		b := delta[0]
		delta = delta[1:]
		value |= int(b&0x7f) << shift
		if b&0x80 == 0 {
			return value, delta, true
		}
	}
	return 0, nil, false
}

// listFiles appends the files of a tree.
func (p *pack) listFiles(files []File, hash, folder string, maxFiles, depth int) ([]File, error) {
	tree := p.byHash[hash]
	if tree == nil || tree.kind != typeTree || depth > maxDepth {
		return nil, fmt.Errorf("%w: a folder is not in it", ErrMalformed)
	}
	if p.budget -= len(tree.content); p.budget < 0 {
		return nil, ErrTooLarge // folders that hold each other many times over
	}
	for rest := tree.content; len(rest) > 0; {
		head, after, ok := bytes.Cut(rest, []byte{0})
		mode, name, spaced := strings.Cut(string(head), " ")
		if !ok || !spaced || name == "" || name == "." || name == ".." || strings.Contains(name, "/") || len(after) < sha1.Size {
			return nil, fmt.Errorf("%w: a folder that cannot be read", ErrMalformed)
		}
		child := hex.EncodeToString(after[:sha1.Size])
		rest = after[sha1.Size:]
		switch mode {
		case "40000":
			var err error
			if files, err = p.listFiles(files, child, folder+name+"/", maxFiles, depth+1); err != nil {
				return nil, err
			}
		case "100644", "100755", "100664":
			if len(files) == maxFiles {
				return nil, ErrTooLarge
			}
			file := File{Path: folder + name, Hash: child}
			if blob := p.byHash[child]; blob != nil && blob.kind == typeBlob {
				file.Content = append([]byte(nil), blob.content...)
				if p.budget -= len(file.Content); p.budget < 0 {
					return nil, ErrTooLarge // one content under many names
				}
				if file.Content == nil {
					file.Content = []byte{}
				}
			}
			files = append(files, file)
		}
	}
	return files, nil
}
