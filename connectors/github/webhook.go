package github

import (
	"encoding/json"
	"fmt"
	"mime"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/magpie-search/magpie/connectors"
)

const (
	// A push with this many commits may be incomplete.
	maxPushCommits = 20
	maxItems       = 1000
)

// events returns the events of a webhook.
func events() []string {
	return []string{
		"push", "pull_request", "pull_request_review", "pull_request_review_comment", "issues", "issue_comment",
		"discussion", "discussion_comment", "gollum", "repository",
	}
}

func webhook() *connectors.Webhook {
	return &connectors.Webhook{Secret: credentialSecret, Subscribes: true, Keys: webhookKeys, Route: route, Verify: verify, Parse: parseDelivery}
}

// webhookKeys returns repositories ("acme/handbook"), owners ("acme/*") and the
// installation of an app ("installation:123").
func webhookKeys(s connectors.Settings) []string {
	var keys []string
	for _, text := range s.Strings(optionRepos) {
		if p, ok := parseSelector(text); ok {
			keys = append(keys, strings.ToLower(p.owner+"/"+p.name))
		}
	}
	if id := s.Credentials[credentialInstallation]; id != "" {
		keys = append(keys, "installation:"+strings.ToLower(id))
	}
	return keys
}

type hookRepo struct {
	ID            int64  `json:"id"`
	FullName      string `json:"full_name"`
	DefaultBranch string `json:"default_branch"`
}

type hookThread struct {
	Number      int             `json:"number"`
	UpdatedAt   time.Time       `json:"updated_at"`
	PullRequest json.RawMessage `json:"pull_request"`
}

type hookCommit struct {
	Added    []string `json:"added"`
	Modified []string `json:"modified"`
	Removed  []string `json:"removed"`
}

// A payload has the fields of all events.
type payload struct {
	Action       string    `json:"action"`
	Repository   *hookRepo `json:"repository"`
	Organization *account  `json:"organization"`
	Installation *struct {
		ID      int64    `json:"id"`
		Account *account `json:"account"`
	} `json:"installation"`
	Changes struct {
		Repository struct {
			Name struct {
				From string `json:"from"`
			} `json:"name"`
		} `json:"repository"`
		Owner struct {
			From struct {
				User         *account `json:"user"`
				Organization *account `json:"organization"`
			} `json:"from"`
		} `json:"owner"`
		NewRepository *hookRepo   `json:"new_repository"`
		NewIssue      *hookThread `json:"new_issue"`
	} `json:"changes"`

	// Of a push.
	Ref        string       `json:"ref"`
	Created    bool         `json:"created"`
	Deleted    bool         `json:"deleted"`
	Forced     bool         `json:"forced"`
	Size       int          `json:"size"`
	Commits    []hookCommit `json:"commits"`
	HeadCommit *struct {
		Timestamp time.Time `json:"timestamp"`
	} `json:"head_commit"`

	Issue       *hookThread `json:"issue"`
	PullRequest *hookThread `json:"pull_request"`
	Discussion  *hookThread `json:"discussion"`
	Comment     *struct {
		UpdatedAt time.Time `json:"updated_at"`
	} `json:"comment"`
	Review *struct {
		SubmittedAt time.Time `json:"submitted_at"`
	} `json:"review"`
	Pages []struct {
		PageName string `json:"page_name"`
	} `json:"pages"`
}

// decodePayload decodes a delivery in either of the two forms that GitHub
// sends.
func decodePayload(header http.Header, body []byte) (event string, p payload, err error) {
	event = header.Get("X-Github-Event")
	if event == "" {
		return "", p, fmt.Errorf("%w: no header X-GitHub-Event", connectors.ErrDelivery)
	}
	if kind, _, _ := mime.ParseMediaType(header.Get("Content-Type")); kind == "application/x-www-form-urlencoded" {
		form, err := url.ParseQuery(string(body))
		if err != nil {
			return "", p, fmt.Errorf("%w: no form", connectors.ErrDelivery)
		}
		body = []byte(form.Get("payload"))
	}
	if err := json.Unmarshal(body, &p); err != nil {
		return "", p, fmt.Errorf("%w: the body is no object of JSON", connectors.ErrDelivery)
	}
	return event, p, nil
}

// route returns the keys of a delivery. A repository that was renamed or
// transferred is also known by its old name.
func route(header http.Header, body []byte) ([]string, error) {
	_, p, err := decodePayload(header, body)
	if err != nil {
		return nil, err
	}
	var keys []string
	add := func(owner, name string) {
		keys = append(keys, strings.ToLower(owner+"/"+name), strings.ToLower(owner+"/*"))
	}
	if p.Repository != nil {
		full, ok := parseSelector(p.Repository.FullName)
		if !ok || full.isAll() {
			return nil, fmt.Errorf("%w: its repository has no proper name", connectors.ErrDelivery)
		}
		add(full.owner, full.name)
		if old := p.Changes.Repository.Name.From; old != "" {
			add(full.owner, old)
		}
		for _, old := range []*account{p.Changes.Owner.From.User, p.Changes.Owner.From.Organization} {
			if old != nil {
				add(old.Login, full.name)
			}
		}
	}
	if p.Organization != nil && p.Organization.Login != "" {
		keys = append(keys, strings.ToLower(p.Organization.Login)+"/*")
	}
	if p.Installation != nil {
		keys = append(keys, "installation:"+strconv.FormatInt(p.Installation.ID, 10))
	}
	if len(keys) == 0 {
		return nil, fmt.Errorf("%w: it names no repository", connectors.ErrDelivery)
	}
	slices.Sort(keys)
	return slices.Compact(keys), nil
}

// verify checks the signature, as described in GitHub's "Validating webhook
// deliveries".
func verify(secret string, header http.Header, body []byte, _ time.Time) error {
	signature, ok := strings.CutPrefix(header.Get("X-Hub-Signature-256"), "sha256=")
	if !ok {
		return connectors.ErrSignature
	}
	return connectors.VerifyHMAC(secret, signature, body)
}

// parseDelivery returns the ids that a delivery names.
func parseDelivery(header http.Header, body []byte) (connectors.Delivery, error) {
	event, p, err := decodePayload(header, body)
	if err != nil {
		return connectors.Delivery{}, err
	}
	d := connectors.Delivery{ID: header.Get("X-Github-Delivery")}
	switch event {
	case "installation", "installation_repositories":
		d.AllChanged = true
		return d, nil
	case "ping":
		return d, nil
	}
	if p.Repository == nil {
		return d, nil
	}
	r := repo{ID: p.Repository.ID}
	if r.ID <= 0 {
		return connectors.Delivery{}, fmt.Errorf("%w: its repository has no id", connectors.ErrDelivery)
	}
	addThread := func(kind string, t *hookThread) {
		if t != nil && t.Number > 0 {
			d.Items, d.ChangedAt = append(d.Items, itemID(r, kind, strconv.Itoa(t.Number))), t.UpdatedAt
		}
	}
	switch event {
	case "push":
		parsePush(&d, r, p)
	case "repository":
		d.AllChanged = true
	case "pull_request", "pull_request_review", "pull_request_review_comment", "pull_request_review_thread":
		addThread(kindPull, p.PullRequest)
	case "issues":
		addThread(kindIssue, p.Issue)
		if moved := p.Changes.NewRepository; p.Action == "transferred" && moved != nil && moved.ID > 0 && p.Changes.NewIssue != nil {
			d.Items = append(d.Items, itemID(repo{ID: moved.ID}, kindIssue, strconv.Itoa(p.Changes.NewIssue.Number)))
		}
	case "issue_comment":
		kind := kindIssue
		if p.Issue != nil && len(p.Issue.PullRequest) > 0 && string(p.Issue.PullRequest) != "null" {
			kind = kindPull
		}
		addThread(kind, p.Issue)
	case "discussion", "discussion_comment":
		addThread(kindDiscussion, p.Discussion)
	case "gollum":
		for _, page := range p.Pages[:min(len(p.Pages), maxItems)] {
			if page.PageName != "" {
				d.Items = append(d.Items, itemID(r, kindWiki, page.PageName))
			}
		}
	}
	if p.Comment != nil && p.Comment.UpdatedAt.After(d.ChangedAt) {
		d.ChangedAt = p.Comment.UpdatedAt
	}
	if p.Review != nil && p.Review.SubmittedAt.After(d.ChangedAt) {
		d.ChangedAt = p.Review.SubmittedAt
	}
	return d, nil
}

// parsePush adds the files of a push. If the push does not name them all, it
// adds the whole source for the default branch, and all files of the branch
// otherwise.
func parsePush(d *connectors.Delivery, r repo, p payload) {
	branch, ok := strings.CutPrefix(p.Ref, "refs/heads/")
	if !ok || branch == "" {
		return // a tag
	}
	if p.HeadCommit != nil {
		d.ChangedAt = p.HeadCommit.Timestamp
	}
	files := map[string]bool{}
	for _, c := range p.Commits {
		for _, list := range [][]string{c.Added, c.Modified, c.Removed} {
			for _, path := range list {
				if path != "" {
					files[path] = true
				}
			}
		}
	}
	switch {
	case !p.Created && !p.Deleted && !p.Forced && len(p.Commits) < maxPushCommits && p.Size <= len(p.Commits) && len(files) <= maxItems:
		for path := range files {
			if id := itemID(r, kindFile, path); len(id) <= connectors.MaxIDBytes {
				d.Items = append(d.Items, id)
			}
		}
		slices.Sort(d.Items)
	case branch == p.Repository.DefaultBranch:
		d.AllChanged = true
	default:
		d.Items = []string{itemID(r, kindBranch, branch)}
	}
}
