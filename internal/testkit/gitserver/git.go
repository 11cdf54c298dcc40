package gitserver

import (
	"bufio"
	"bytes"
	"compress/zlib"
	"crypto/sha1" //nolint:gosec // git names objects by SHA-1
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strconv"
	"strings"
)

// Hash returns git's name of an object: of a blob, tree or commit.
func Hash(kind string, content []byte) string {
	h := sha1.New() //nolint:gosec // git names objects by SHA-1
	_, _ = fmt.Fprintf(h, "%s %d\x00", kind, len(content))
	_, _ = h.Write(content)
	return hex.EncodeToString(h.Sum(nil))
}

// An Object is an object of a repository.
type Object struct {
	Kind    int // the type number of pack files: 1 commit, 2 tree, 3 blob
	Content []byte
}

// child is an entry of a tree object.
type child struct{ mode, name, sha string }

// Tree adds the tree and blob objects of files, and returns the hash of the root tree.
func Tree(files map[string]File, into map[string]Object) string {
	children := []child{}
	folders := map[string]map[string]File{}
	for path, f := range files {
		name, rest, deeper := strings.Cut(path, "/")
		if deeper {
			if folders[name] == nil {
				folders[name] = map[string]File{}
			}
			folders[name][rest] = f
			continue
		}
		children = append(children, child{mode: f.Mode, name: name, sha: f.Hash})
		if f.Mode != "160000" {
			into[f.Hash] = Object{Kind: 3, Content: f.Content}
		}
	}
	for name, below := range folders {
		children = append(children, child{mode: "40000", name: name, sha: Tree(below, into)})
	}
	key := func(c child) string {
		if c.mode == "40000" {
			return c.name + "/"
		}
		return c.name
	}
	slices.SortFunc(children, func(a, b child) int { return strings.Compare(key(a), key(b)) })
	var b bytes.Buffer
	for _, c := range children {
		raw, _ := hex.DecodeString(c.sha)
		_, _ = fmt.Fprintf(&b, "%s %s\x00", c.mode, c.name)
		b.Write(raw)
	}
	sha := Hash("tree", b.Bytes())
	into[sha] = Object{Kind: 2, Content: b.Bytes()}
	return sha
}

// A File is a file of a tree. Submodules have the mode 160000, and the hash of a commit.
type File struct {
	Mode, Hash string
	Content    []byte
}

// Commit returns the content of a commit of a tree.
func Commit(tree string) []byte {
	return []byte("tree " + tree + "\nauthor Ada <ada@example.com> 1767225600 +0000\ncommitter Ada <ada@example.com> 1767225600 +0000\n\nA change\n")
}

// Advertise answers the first request of a clone, of a repository with one commit.
func Advertise(w http.ResponseWriter, commit, branch string) {
	w.Header().Set("Content-Type", "application/x-git-upload-pack-advertisement")
	_, _ = io.WriteString(w, packet("# service=git-upload-pack\n")+"0000"+
		packet(commit+" HEAD\x00multi_ack thin-pack side-band side-band-64k ofs-delta shallow deepen-since deepen-not deepen-relative no-progress include-tag multi_ack_detailed no-done symref=HEAD:refs/heads/"+branch+" filter object-format=sha1 agent=git/github-test\n")+
		packet(commit+" refs/heads/"+branch+"\n")+"0000")
}

func packet(text string) string { return fmt.Sprintf("%04x%s", len(text)+4, text) }

// UploadPack answers the second request of a clone, for a commit. all has its objects.
func UploadPack(w http.ResponseWriter, r *http.Request, sha string, all map[string]Object) {
	body := bufio.NewReader(r.Body)
	wants, depth, limit := "", false, -1
	for {
		head := make([]byte, 4)
		if _, err := io.ReadFull(body, head); err != nil {
			break
		}
		size, _ := strconv.ParseInt(string(head), 16, 32)
		if size < 4 {
			continue
		}
		text := make([]byte, size-4)
		if _, err := io.ReadFull(body, text); err != nil {
			break
		}
		line := strings.TrimSpace(string(text))
		switch {
		case strings.HasPrefix(line, "want "):
			wants, _, _ = strings.Cut(line[5:], " ")
		case line == "deepen 1":
			depth = true
		case strings.HasPrefix(line, "filter blob:limit="):
			limit, _ = strconv.Atoi(line[len("filter blob:limit="):])
		}
	}
	w.Header().Set("Content-Type", "application/x-git-upload-pack-result")
	if wants != sha {
		_, _ = io.WriteString(w, packet("ERR upload-pack: not our ref "+wants))
		return
	}
	if depth {
		_, _ = io.WriteString(w, packet("shallow "+sha+"\n")+"0000")
	}
	_, _ = io.WriteString(w, packet("NAK\n")+packet("\x02Enumerating objects, done.\n"))
	if limit >= 0 {
		for id, o := range all {
			if o.Kind == 3 && len(o.Content) >= limit {
				delete(all, id)
			}
		}
	}
	for part := range slices.Chunk(packOf(all), 60_000) {
		_, _ = io.WriteString(w, packet("\x01"+string(part)))
	}
	_, _ = io.WriteString(w, "0000")
}

// packOf returns a pack of version 2 without deltas.
func packOf(all map[string]Object) []byte {
	var b bytes.Buffer
	b.WriteString("PACK")
	_ = binary.Write(&b, binary.BigEndian, []uint32{2, uint32(len(all))}) //nolint:gosec // few objects
	for _, o := range all {
		size := len(o.Content)
		first := byte(o.Kind<<4 | size&15) //nolint:gosec // seven bits
		for size >>= 4; size > 0; size >>= 7 {
			b.WriteByte(first | 0x80)
			first = byte(size & 0x7f)
		}
		b.WriteByte(first)
		w := zlib.NewWriter(&b)
		_, _ = w.Write(o.Content)
		_ = w.Close()
	}
	sum := sha1.Sum(b.Bytes()) //nolint:gosec // git names objects by SHA-1
	return append(b.Bytes(), sum[:]...)
}
