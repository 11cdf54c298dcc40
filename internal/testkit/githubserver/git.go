package githubserver

import (
	"bytes"
	"crypto/sha1" //nolint:gosec // git names objects by SHA-1
	"encoding/hex"
	"net/http"
	"strings"

	"github.com/magpie-search/magpie/internal/testkit/gitserver"
)

func (r *repo) tree(branch string) string {
	return gitserver.Tree(r.branches[branch], map[string]gitserver.Object{})
}

func (r *repo) commit(branch string) string {
	return gitserver.Hash("commit", gitserver.Commit(r.tree(branch)))
}

// treeEntries returns the entries of a tree in the format of the REST API.
func (r *repo) treeEntries(sha string, recursive bool) ([]any, bool) {
	all := map[string]gitserver.Object{}
	for _, files := range r.branches {
		gitserver.Tree(files, all)
	}
	if all[sha].Kind != 2 {
		return nil, false
	}
	entries := []any{}
	var list func(sha, prefix string)
	list = func(sha, prefix string) {
		for rest := all[sha].Content; len(rest) > 0; {
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
				e["type"], e["size"] = "blob", len(all[id].Content)
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
	files := map[string]gitserver.File{}
	for path, content := range r.pages {
		files[path] = gitserver.File{Mode: "100644", Hash: gitserver.Hash("blob", content), Content: content}
	}
	all := map[string]gitserver.Object{}
	commit := gitserver.Commit(gitserver.Tree(files, all))
	sha := gitserver.Hash("commit", commit)
	all[sha] = gitserver.Object{Kind: 1, Content: commit}
	switch {
	case rest == "info/refs" && c.r.URL.Query().Get("service") == "git-upload-pack":
		gitserver.Advertise(c.w, sha, "master")
	case rest == "git-upload-pack" && c.r.Method == http.MethodPost:
		gitserver.UploadPack(c.w, c.r, sha, all)
	default:
		refuse(http.StatusNotFound, "Not Found")
	}
}
