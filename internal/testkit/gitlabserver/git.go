package gitlabserver

import (
	"net/http"
	"slices"

	"github.com/magpie-search/magpie/internal/testkit/gitserver"
)

// objects returns the objects of the branch and its commit.
func (p *Project) objects() (all map[string]gitserver.Object, commit string) {
	files := map[string]gitserver.File{}
	for path, content := range p.Files {
		files[path] = gitserver.File{Mode: "100644", Hash: gitserver.Hash("blob", content), Content: content}
	}
	all = map[string]gitserver.Object{}
	content := gitserver.Commit(gitserver.Tree(files, all))
	commit = gitserver.Hash("commit", content)
	all[commit] = gitserver.Object{Kind: 1, Content: content}
	return all, commit
}

func (p *Project) head() string {
	_, commit := p.objects()
	return commit
}

// git serves the two requests of a clone by git's smart HTTP protocol.
func (c call) git(path, rest string) {
	_, token, _ := c.r.BasicAuth()
	info, known := c.server.tokens[token]
	at := slices.IndexFunc(c.server.projects, func(p *Project) bool { return p.Path == path })
	switch {
	case !known || c.server.NoGit:
		c.w.Header().Set("WWW-Authenticate", `Basic realm="GitLab"`)
		http.Error(c.w, "HTTP Basic: Access denied.", http.StatusUnauthorized)
	case !slices.Contains(info.Scopes, "read_repository") && !slices.Contains(info.Scopes, "api"), at < 0:
		http.Error(c.w, "The project you were looking for could not be found or you don't have permission to view it.", http.StatusNotFound)
	case c.server.projects[at].Locked:
		http.Error(c.w, "You are not allowed to download code from this project.", http.StatusForbidden)
	default:
		all, commit := c.server.projects[at].objects()
		switch {
		case rest == "info/refs" && c.r.URL.Query().Get("service") == "git-upload-pack":
			gitserver.Advertise(c.w, commit, "main")
		case rest == "git-upload-pack" && c.r.Method == http.MethodPost:
			gitserver.UploadPack(c.w, c.r, commit, all)
		default:
			http.NotFound(c.w, c.r)
		}
	}
}
