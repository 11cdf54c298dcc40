package gitlab

import (
	"context"
	"fmt"
	"net/http"
	"net/url"
	"strings"

	"github.com/magpie-search/magpie/connectors"
	"github.com/magpie-search/magpie/connectors/gitwire"
	"github.com/magpie-search/magpie/connectors/restapi"
)

const (
	// So many files of a project are read one by one; then git fetches the others.
	filesBeforeGit = 5
	maxPack        = 48 << 20
	maxInflated    = 192 << 20
	maxPackFiles   = 100_000
	// gitUser is the name beside a token, which GitLab requires for OAuth and ignores for
	// other tokens.
	gitUser = "oauth2"
)

// checkouts has the files of projects that git fetched, until they are read.
type checkouts struct {
	opened map[int64]int
	files  map[int64]map[string]gitwire.File // by project and path; nil if git cannot fetch them
	size   int
}

// newGit returns the client for git's protocol, which has the same host as the API.
func newGit(base string, dial connectors.Dial, s connectors.Settings) (*restapi.Client, error) {
	return restapi.New(strings.TrimSuffix(base, "/api/"+apiVersion), dial, restapi.Options{
		Platform: "GitLab", Wait: s.Wait, RateLimited: rateLimited, Advice: "config." + optionURL,
		Authorize: func(r *http.Request, refused bool) (bool, error) {
			if refused {
				return false, nil // the token has another scope; it is not renewed for that
			}
			token := s.Credentials[credentialToken]
			if token == "" {
				var err error
				if token, _, err = s.Token(r.Context(), ""); err != nil {
					return false, err
				}
			}
			r.SetBasicAuth(gitUser, token)
			return true, nil
		},
	})
}

// fetched returns the content of a file with a version if git has fetched it. It
// fetches the files of a project when many are read. Whatever goes wrong, the API has
// the file.
func (s *source) fetched(ctx context.Context, p project, path, version string) ([]byte, bool) {
	s.gitMutex.Lock()
	defer s.gitMutex.Unlock()
	files, tried := s.checkouts.files[p.ID]
	if !tried {
		if s.checkouts.opened[p.ID]++; s.checkouts.opened[p.ID] <= filesBeforeGit {
			return nil, false
		}
		fetched, size, err := s.fetch(ctx, p)
		if ctx.Err() != nil {
			return nil, false
		}
		if err != nil {
			fetched, size = nil, 0
		}
		if s.checkouts.size+size > maxInflated {
			clear(s.checkouts.files)
			s.checkouts.size = 0
		}
		s.checkouts.files[p.ID], files = fetched, fetched
		s.checkouts.size += size
	}
	file, ok := files[path]
	if !ok || file.Content == nil || file.Hash != version {
		return nil, false
	}
	delete(files, path)
	s.checkouts.size -= len(file.Content)
	return file.Content, true
}

// fetch requests the files of the branch by git's protocol.
func (s *source) fetch(ctx context.Context, p project) (files map[string]gitwire.File, size int, err error) {
	repository := escapePath(p.Path) + ".git"
	tip, err := s.readTip(ctx, repository)
	if err != nil {
		return nil, 0, err
	}
	tip, ok := tip.Branch(s.branch(p))
	if !ok {
		return nil, 0, connectors.ErrNotFound
	}
	body, err := tip.Request()
	if err != nil {
		return nil, 0, fmt.Errorf("make git's request: %w", err)
	}
	response, err := s.gitRequest(ctx, restapi.Request{
		Method: http.MethodPost, Path: repository + "/git-upload-pack", RawBody: body,
		Header: http.Header{"Content-Type": {gitwire.RequestType}, "Accept": {gitwire.ResponseType}},
	}, gitwire.ResponseType)
	if err != nil {
		return nil, 0, err
	}
	defer func() { _ = response.Body.Close() }()
	list, err := tip.ReadFiles(response.Body, gitwire.Limits{Pack: maxPack, Inflated: maxInflated, Files: maxPackFiles})
	if err != nil {
		return nil, 0, fmt.Errorf("read a pack: %w", err)
	}
	files = make(map[string]gitwire.File, len(list))
	for _, f := range list {
		files[f.Path] = f
		size += len(f.Content)
	}
	return files, size, nil
}

func (s *source) readTip(ctx context.Context, repository string) (gitwire.Tip, error) {
	response, err := s.gitRequest(ctx, restapi.Request{
		Path: repository + "/info/refs", Query: url.Values{"service": {"git-upload-pack"}}, Header: http.Header{"Accept": {gitwire.AdvertisementType}},
	}, gitwire.AdvertisementType)
	if err != nil {
		return gitwire.Tip{}, err
	}
	defer func() { _ = response.Body.Close() }()
	tip, err := gitwire.ReadTip(response.Body)
	if err != nil {
		return gitwire.Tip{}, fmt.Errorf("read the branches: %w", err)
	}
	return tip, nil
}

// gitRequest returns a response of a media type, as clients of git must check.
func (s *source) gitRequest(ctx context.Context, r restapi.Request, mediaType string) (*http.Response, error) {
	r.Header.Set("User-Agent", "git/2.0 (Magpie)")
	response, err := s.git.Do(ctx, r)
	if err != nil {
		return nil, err
	}
	if response.StatusCode != http.StatusOK || response.Header.Get("Content-Type") != mediaType {
		_ = response.Body.Close()
		return nil, gitwire.ErrMalformed
	}
	return response, nil
}
