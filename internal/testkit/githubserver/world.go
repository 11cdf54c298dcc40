package githubserver

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/magpie-search/magpie/internal/testkit/gitserver"
)

// repo is a repository. The server's mutex guards its fields.
type repo struct {
	id                        int64
	owner, name               string
	private, fork, archived   bool
	issues, wiki, discussions bool
	defaultBranch             string
	branches                  map[string]map[string]gitserver.File // by branch and path
	threads                   map[int]*thread
	talks                     map[int]*Discussion
	pages                     map[string][]byte
	hooks                     []*Hook
	next                      int // the number of the next issue
	hadWiki                   bool
	truncateAt                int
	gone                      bool
}

// Thread is an issue or a pull request.
type Thread struct {
	Pull, Draft, Merged      bool
	Title, Body, State       string
	Author                   string
	Labels                   []string
	CreatedAt, UpdatedAt     time.Time
	Comments, ReviewComments []Comment
	Reviews                  []Comment
	// MovedTo is the full name of the repository to which an issue was transferred.
	MovedTo string
}

type thread struct {
	Thread
	number int
}

// Comment is a comment of an issue, a review or a review comment.
type Comment struct {
	ID                        int64
	Author, Body, Path, State string
	At                        time.Time
	// Answer and Replies are for comments of discussions.
	Answer  bool
	Replies []Comment
}

// Discussion is a discussion.
type Discussion struct {
	Title, Body, Author, Category string
	Closed                        bool
	CreatedAt, UpdatedAt          time.Time
	Comments                      []Comment
}

// Hook is a webhook.
type Hook struct {
	ID          int64
	Active      bool
	Events      []string
	URL, Secret string
	ContentType string
}

// RepoOptions configures a new repository. The zero value is a public repository
// with issues.
type RepoOptions struct {
	Private, Fork, Archived bool
	NoIssues                bool
	Wiki, Discussions       bool
	DefaultBranch           string
}

// AddOwner adds an account of the kind "User" or "Organization".
func (s *Server) AddOwner(login, kind string) {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	s.owners[strings.ToLower(login)] = owner{login: login, kind: kind, id: int64(len(s.owners) + 1)}
}

// AddRepo adds a repository, and its owner when missing. It returns the ID.
func (s *Server) AddRepo(fullName string, o RepoOptions) int64 {
	login, name, _ := strings.Cut(fullName, "/")
	s.mutex.Lock()
	defer s.mutex.Unlock()
	if _, ok := s.owners[strings.ToLower(login)]; !ok {
		s.owners[strings.ToLower(login)] = owner{login: login, kind: "Organization", id: int64(len(s.owners) + 1)}
	}
	s.nextID += 7
	branch := o.DefaultBranch
	if branch == "" {
		branch = "main"
	}
	r := &repo{
		id: s.nextID, owner: login, name: name, private: o.Private, fork: o.Fork, archived: o.Archived, issues: !o.NoIssues,
		wiki: o.Wiki, discussions: o.Discussions, defaultBranch: branch, branches: map[string]map[string]gitserver.File{},
		threads: map[int]*thread{}, talks: map[int]*Discussion{}, pages: map[string][]byte{}, next: 1,
	}
	s.repos = append(s.repos, r)
	return r.id
}

// change applies a function to a repository, which must exist.
func (s *Server) change(fullName string, do func(r *repo)) {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	r := s.repo(fullName)
	if r == nil {
		panic(fmt.Sprintf("githubserver: no repository %s", fullName))
	}
	do(r)
}

// repo returns a repository by its current name. The mutex is held.
func (s *Server) repo(fullName string) *repo {
	for _, r := range s.repos {
		if strings.EqualFold(r.fullName(), fullName) && !r.gone {
			return r
		}
	}
	return nil
}

func (r *repo) fullName() string { return r.owner + "/" + r.name }

// Put writes a file to a branch; "" is the default branch.
func (s *Server) Put(fullName, branch, path string, content []byte) {
	s.put(fullName, branch, path, "100644", content)
}

// Link adds a symbolic link.
func (s *Server) Link(fullName, path, target string) {
	s.put(fullName, "", path, "120000", []byte(target))
}

// Submodule adds a submodule.
func (s *Server) Submodule(fullName, path string) { s.put(fullName, "", path, "160000", []byte(path)) }

func (s *Server) put(fullName, branch, path, mode string, content []byte) {
	s.change(fullName, func(r *repo) {
		if branch == "" {
			branch = r.defaultBranch
		}
		if r.branches[branch] == nil {
			r.branches[branch] = map[string]gitserver.File{}
		}
		r.branches[branch][path] = gitserver.File{Mode: mode, Hash: gitserver.Hash("blob", content), Content: content}
	})
}

// Delete deletes a file of a branch; "" is the default branch.
func (s *Server) Delete(fullName, branch, path string) {
	s.change(fullName, func(r *repo) {
		if branch == "" {
			branch = r.defaultBranch
		}
		delete(r.branches[branch], path)
	})
}

// DropBranch deletes a branch.
func (s *Server) DropBranch(fullName, branch string) {
	s.change(fullName, func(r *repo) { delete(r.branches, branch) })
}

// Truncate sets the maximum number of entries in the answer for a tree, which is
// 100,000 at GitHub; 0 means no limit.
func (s *Server) Truncate(fullName string, entries int) {
	s.change(fullName, func(r *repo) { r.truncateAt = entries })
}

// Rename changes the full name of a repository. The old name redirects to it.
func (s *Server) Rename(from, to string) {
	s.change(from, func(r *repo) {
		s.moved[strings.ToLower(from)] = r.id
		r.owner, r.name, _ = strings.Cut(to, "/")
		if _, ok := s.owners[strings.ToLower(r.owner)]; !ok {
			s.owners[strings.ToLower(r.owner)] = owner{login: r.owner, kind: "Organization", id: int64(len(s.owners) + 1)}
		}
	})
}

// DeleteRepo deletes a repository.
func (s *Server) DeleteRepo(fullName string) { s.change(fullName, func(r *repo) { r.gone = true }) }

// Archive archives a repository.
func (s *Server) Archive(fullName string) { s.change(fullName, func(r *repo) { r.archived = true }) }

// SetFeatures enables or disables issues, wiki and discussions of a repository.
func (s *Server) SetFeatures(fullName string, issues, wiki, discussions bool) {
	s.change(fullName, func(r *repo) { r.issues, r.wiki, r.discussions = issues, wiki, discussions })
}

// OpenThread adds an issue or a pull request and returns its number.
func (s *Server) OpenThread(fullName string, t Thread) (number int) {
	s.change(fullName, func(r *repo) {
		number = r.next
		r.next++
		if t.State == "" {
			t.State = "open"
		}
		if t.Author == "" {
			t.Author = "ada"
		}
		if t.CreatedAt.IsZero() {
			t.CreatedAt = s.tick()
		}
		if t.UpdatedAt.IsZero() {
			t.UpdatedAt = t.CreatedAt
		}
		r.threads[number] = &thread{Thread: t, number: number}
	})
	return number
}

// EditThread changes an issue or a pull request and its update time.
func (s *Server) EditThread(fullName string, number int, edit func(t *Thread)) {
	s.change(fullName, func(r *repo) {
		t := r.threads[number]
		edit(&t.Thread)
		t.UpdatedAt = s.tick()
	})
}

// DeleteThread deletes an issue.
func (s *Server) DeleteThread(fullName string, number int) {
	s.change(fullName, func(r *repo) { delete(r.threads, number) })
}

// OpenDiscussion adds a discussion and returns its number.
func (s *Server) OpenDiscussion(fullName string, d Discussion) (number int) {
	s.change(fullName, func(r *repo) {
		number = r.next
		r.next++
		if d.CreatedAt.IsZero() {
			d.CreatedAt = s.tick()
		}
		if d.UpdatedAt.IsZero() {
			d.UpdatedAt = d.CreatedAt
		}
		if d.Author == "" {
			d.Author = "ada"
		}
		r.talks[number] = &d
	})
	return number
}

// EditDiscussion changes a discussion and its update time.
func (s *Server) EditDiscussion(fullName string, number int, edit func(d *Discussion)) {
	s.change(fullName, func(r *repo) {
		edit(r.talks[number])
		r.talks[number].UpdatedAt = s.tick()
	})
}

// DeleteDiscussion deletes a discussion.
func (s *Server) DeleteDiscussion(fullName string, number int) {
	s.change(fullName, func(r *repo) { delete(r.talks, number) })
}

// PutPage writes a wiki file.
func (s *Server) PutPage(fullName, path string, content []byte) {
	s.change(fullName, func(r *repo) { r.pages[path], r.hadWiki = content, true })
}

// DeletePage deletes a wiki file.
func (s *Server) DeletePage(fullName, path string) {
	s.change(fullName, func(r *repo) { delete(r.pages, path) })
}

// Hooks returns the webhooks of a repository, by its full name, or of an
// organisation, by its login.
func (s *Server) Hooks(owner string) []Hook {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	hooks := s.orgHooks[strings.ToLower(owner)]
	if r := s.repo(owner); r != nil {
		hooks = r.hooks
	}
	var out []Hook
	for _, h := range hooks {
		one := *h
		one.Events = slices.Clone(h.Events)
		out = append(out, one)
	}
	return out
}

// AddHook adds a webhook to a repository.
func (s *Server) AddHook(fullName string, h Hook) {
	s.change(fullName, func(r *repo) {
		s.nextID++
		h.ID = s.nextID
		r.hooks = append(r.hooks, &h)
	})
}

// tick advances the clock and returns the time. The mutex is held.
func (s *Server) tick() time.Time {
	s.clock = s.clock.Add(time.Minute)
	return s.clock
}
