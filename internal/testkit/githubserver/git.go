package githubserver

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

func hashOf(kind string, content []byte) string {
	h := sha1.New() //nolint:gosec // git names objects by SHA-1
	_, _ = fmt.Fprintf(h, "%s %d\x00", kind, len(content))
	_, _ = h.Write(content)
	return hex.EncodeToString(h.Sum(nil))
}

// gitObject is an object of a repository.
type gitObject struct {
	kind    int // the type number of pack files: 1 commit, 2 tree, 3 blob
	content []byte
}

// child is an entry of a tree object.
type child struct{ mode, name, sha string }

// objects adds the tree and blob objects of files, and returns the hash of the
// root tree.
func objects(files map[string]file, into map[string]gitObject) string {
	children := []child{}
	folders := map[string]map[string]file{}
	for path, f := range files {
		name, rest, deeper := strings.Cut(path, "/")
		if deeper {
			if folders[name] == nil {
				folders[name] = map[string]file{}
			}
			folders[name][rest] = f
			continue
		}
		children = append(children, child{mode: f.mode, name: name, sha: f.sha})
		if f.mode != "160000" {
			into[f.sha] = gitObject{kind: 3, content: f.content}
		}
	}
	for name, below := range folders {
		children = append(children, child{mode: "40000", name: name, sha: objects(below, into)})
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
	sha := hashOf("tree", b.Bytes())
	into[sha] = gitObject{kind: 2, content: b.Bytes()}
	return sha
}

func (r *repo) tree(branch string) string {
	return objects(r.branches[branch], map[string]gitObject{})
}

func commitOf(tree string) []byte {
	return []byte("tree " + tree + "\nauthor Ada <ada@example.com> 1767225600 +0000\ncommitter Ada <ada@example.com> 1767225600 +0000\n\nA change\n")
}

func (r *repo) commit(branch string) string { return hashOf("commit", commitOf(r.tree(branch))) }

// treeEntries returns the entries of a tree in the format of the REST API.
func (r *repo) treeEntries(sha string, recursive bool) ([]any, bool) {
	all := map[string]gitObject{}
	for _, files := range r.branches {
		objects(files, all)
	}
	if all[sha].kind != 2 {
		return nil, false
	}
	entries := []any{}
	var list func(sha, prefix string)
	list = func(sha, prefix string) {
		for rest := all[sha].content; len(rest) > 0; {
			head, after, _ := bytes.Cut(rest, []byte{0})
			mode, name, _ := strings.Cut(string(head), " ")
			id := hex.EncodeToString(after[:sha1.Size])
			rest = after[sha1.Size:]
			e := map[string]any{"path": prefix + name, "mode": mode, "sha": id}
			switch mode {
			case "40000":
				e["type"], e["mode"] = "tree", "040000"
			case "160000":
				e["type"] = "commit"
			default:
				e["type"], e["size"] = "blob", len(all[id].content)
			}
			entries = append(entries, e)
			if mode == "40000" && recursive {
				list(id, prefix+name+"/")
			}
		}
	}
	list(sha, "")
	return entries, true
}

// git serves the two requests of a wiki's clone by the smart HTTP protocol.
func (c *call) git() {
	refuse := func(status int, text string) {
		if status == http.StatusUnauthorized {
			c.w.Header().Set("WWW-Authenticate", `Basic realm="GitHub"`)
		}
		http.Error(c.w, text, status)
	}
	name, rest, _ := strings.Cut(strings.TrimPrefix(c.r.URL.Path, "/"), ".wiki.git/")
	c.token = c.server.tokens[tokenOf(c.r)]
	r := c.server.repo(name)
	switch {
	case tokenOf(c.r) != "" && (c.token == nil || c.token.Expired):
		refuse(http.StatusUnauthorized, "Invalid username or token. Password authentication is not supported for Git operations.")
		return
	case c.token == nil && (r == nil || r.private):
		refuse(http.StatusUnauthorized, "Repository not found.")
		return
	case r == nil || !r.wiki || !r.hadWiki || c.token != nil && !c.token.canAccess(r):
		refuse(http.StatusNotFound, "Repository not found.")
		return
	case c.token != nil && c.token.Permissions != nil && c.token.Permissions["contents"] == "" && r.private:
		refuse(http.StatusForbidden, "Write access to repository not granted.")
		return
	}
	files := map[string]file{}
	for path, content := range r.pages {
		files[path] = file{mode: "100644", sha: hashOf("blob", content), content: content}
	}
	all := map[string]gitObject{}
	commit := commitOf(objects(files, all))
	sha := hashOf("commit", commit)
	all[sha] = gitObject{kind: 1, content: commit}
	switch {
	case rest == "info/refs" && c.r.URL.Query().Get("service") == "git-upload-pack":
		c.w.Header().Set("Content-Type", "application/x-git-upload-pack-advertisement")
		_, _ = io.WriteString(c.w, packet("# service=git-upload-pack\n")+"0000"+
			packet(sha+" HEAD\x00multi_ack thin-pack side-band side-band-64k ofs-delta shallow deepen-since deepen-not deepen-relative no-progress include-tag multi_ack_detailed no-done symref=HEAD:refs/heads/master filter object-format=sha1 agent=git/github-test\n")+
			packet(sha+" refs/heads/master\n")+"0000")
	case rest == "git-upload-pack" && c.r.Method == http.MethodPost:
		c.uploadPack(sha, all)
	default:
		refuse(http.StatusNotFound, "Not Found")
	}
}

func packet(text string) string { return fmt.Sprintf("%04x%s", len(text)+4, text) }

// uploadPack serves git-upload-pack.
func (c *call) uploadPack(sha string, all map[string]gitObject) {
	body := bufio.NewReader(c.r.Body)
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
	c.w.Header().Set("Content-Type", "application/x-git-upload-pack-result")
	if wants != sha {
		_, _ = io.WriteString(c.w, packet("ERR upload-pack: not our ref "+wants))
		return
	}
	if depth {
		_, _ = io.WriteString(c.w, packet("shallow "+sha+"\n")+"0000")
	}
	_, _ = io.WriteString(c.w, packet("NAK\n")+packet("\x02Enumerating objects, done.\n"))
	if limit >= 0 {
		for id, o := range all {
			if o.kind == 3 && len(o.content) >= limit {
				delete(all, id)
			}
		}
	}
	for part := range slices.Chunk(packOf(all), 60_000) {
		_, _ = io.WriteString(c.w, packet("\x01"+string(part)))
	}
	_, _ = io.WriteString(c.w, "0000")
}

// packOf returns a pack of version 2 without deltas.
func packOf(all map[string]gitObject) []byte {
	var b bytes.Buffer
	b.WriteString("PACK")
	_ = binary.Write(&b, binary.BigEndian, []uint32{2, uint32(len(all))}) //nolint:gosec // few objects
	for _, o := range all {
		size := len(o.content)
		first := byte(o.kind<<4 | size&15) //nolint:gosec // seven bits
		for size >>= 4; size > 0; size >>= 7 {
			b.WriteByte(first | 0x80)
			first = byte(size & 0x7f)
		}
		b.WriteByte(first)
		w := zlib.NewWriter(&b)
		_, _ = w.Write(o.content)
		_ = w.Close()
	}
	sum := sha1.Sum(b.Bytes()) //nolint:gosec // git names objects by SHA-1
	return append(b.Bytes(), sum[:]...)
}
