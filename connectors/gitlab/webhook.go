package gitlab

import (
	"cmp"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/magpie-search/magpie/connectors"
)

const (
	// A push with this many commits may be incomplete.
	maxPushCommits  = 20
	maxPushItems    = 500
	signaturePrefix = "whsec_"
	// signatureAge is how old a signed delivery may be.
	signatureAge = 5 * time.Minute
	anyProject   = "*"
)

func webhook() *connectors.Webhook {
	return &connectors.Webhook{Secret: credentialSecret, Subscribes: true, Keys: webhookKeys, Route: route, Verify: verify, Parse: parseDelivery}
}

// webhookKeys returns paths ("acme/handbook") and ids ("42") of projects, groups
// ("acme/*"), and "*" where the config does not tell the group.
func webhookKeys(s connectors.Settings) []string {
	var keys []string
	projects, groups := s.Strings(optionProjects), s.Strings(optionGroups)
	for _, name := range projects {
		if isPattern(name) {
			name = keyOfPattern(name)
		}
		keys = append(keys, strings.ToLower(name))
	}
	for _, name := range groups {
		switch _, err := strconv.Atoi(name); {
		case err == nil: // deliveries name groups by path
			name = anyProject
		case isPattern(name):
			name = keyOfPattern(name)
		default:
			name += "/*"
		}
		keys = append(keys, strings.ToLower(name))
	}
	if len(projects)+len(groups) == 0 {
		keys = append(keys, anyProject)
	}
	slices.Sort(keys)
	return slices.Compact(keys)
}

// keyOfPattern returns the key of the group in which a pattern matches.
func keyOfPattern(pattern string) string {
	fixed := pattern[:strings.IndexAny(pattern, "*?")]
	if at := strings.LastIndex(fixed, "/"); at > 0 {
		return fixed[:at] + "/*"
	}
	return anyProject
}

// A hookTime is a time in one of the formats of deliveries. Other values are zero.
type hookTime struct{ time.Time }

// UnmarshalJSON implements [json.Unmarshaler].
func (t *hookTime) UnmarshalJSON(data []byte) error {
	text := strings.Trim(string(data), `"`)
	for _, layout := range []string{time.RFC3339, "2006-01-02 15:04:05 MST", "2006-01-02 15:04:05 -0700"} {
		if at, err := time.Parse(layout, text); err == nil {
			t.Time = at.UTC()
			break
		}
	}
	return nil
}

type hookThread struct {
	IID     int64    `json:"iid"`
	Updated hookTime `json:"updated_at"`
}

type hookCommit struct {
	Added    []string `json:"added"`
	Modified []string `json:"modified"`
	Removed  []string `json:"removed"`
	At       hookTime `json:"timestamp"`
}

// A payload has the fields of all events.
type payload struct {
	Kind    string `json:"object_kind"`
	Event   string `json:"event_name"`
	Project *struct {
		ID     int64  `json:"id"`
		Path   string `json:"path_with_namespace"`
		Branch string `json:"default_branch"`
	} `json:"project"`
	Group *struct {
		Path string `json:"full_path"`
	} `json:"group"`

	// Of events that have no project.
	ProjectID   int64  `json:"project_id"`
	ProjectPath string `json:"path_with_namespace"`
	OldPath     string `json:"old_path_with_namespace"`
	MemberOf    string `json:"project_path_with_namespace"`
	FullPath    string `json:"full_path"`
	GroupPath   string `json:"group_path"`

	// Of a push.
	Ref     string       `json:"ref"`
	Before  string       `json:"before"`
	After   string       `json:"after"`
	Commits []hookCommit `json:"commits"`
	Total   int          `json:"total_commits_count"`

	Object struct {
		IID      int64    `json:"iid"`
		Updated  hookTime `json:"updated_at"`
		Noteable string   `json:"noteable_type"`
		Slug     string   `json:"slug"`
	} `json:"object_attributes"`
	Issue *hookThread `json:"issue"`
	Merge *hookThread `json:"merge_request"`
}

// event returns the name of the event.
func (p payload) event() string { return cmp.Or(p.Kind, p.Event) }

// projectID returns the number of the project, or 0.
func (p payload) projectID() int64 {
	if p.Project != nil && p.Project.ID > 0 {
		return p.Project.ID
	}
	return max(p.ProjectID, 0)
}

func decodePayload(header http.Header, body []byte) (p payload, err error) {
	if header.Get("X-Gitlab-Event") == "" {
		return p, fmt.Errorf("%w: no header X-Gitlab-Event", connectors.ErrDelivery)
	}
	if err := json.Unmarshal(body, &p); err != nil {
		return p, fmt.Errorf("%w: the body is no object of JSON", connectors.ErrDelivery)
	}
	if p.event() == "" {
		return p, fmt.Errorf("%w: it names no event", connectors.ErrDelivery)
	}
	return p, nil
}

// route returns the keys of a delivery: the project, and all groups above it.
func route(header http.Header, body []byte) ([]string, error) {
	p, err := decodePayload(header, body)
	if err != nil {
		return nil, err
	}
	paths := []string{p.ProjectPath, p.OldPath, p.MemberOf}
	if p.Project != nil {
		paths = append(paths, p.Project.Path)
	}
	keys := []string{anyProject}
	if id := p.projectID(); id > 0 {
		keys = append(keys, strconv.FormatInt(id, 10))
	}
	groups := []string{p.FullPath, p.GroupPath}
	if p.Group != nil {
		groups = append(groups, p.Group.Path)
	}
	for _, path := range groups {
		if path != "" {
			paths = append(paths, path+"/*")
		}
	}
	for _, path := range paths {
		if path == "" || len(path) > connectors.MaxIDBytes {
			continue
		}
		path = strings.ToLower(path)
		keys = append(keys, path)
		for at := strings.LastIndex(path, "/"); at > 0; at = strings.LastIndex(path, "/") {
			path = path[:at]
			keys = append(keys, path+"/*")
		}
	}
	slices.Sort(keys)
	return slices.Compact(keys), nil
}

// verify compares the secret token that GitLab sends with each delivery. A secret
// that is a signing token verifies the signature over the delivery and its time.
func verify(secret string, header http.Header, body []byte, now time.Time) error {
	if secret == "" {
		return connectors.ErrSignature
	}
	if signatures := header.Get("Webhook-Signature"); signatures != "" && strings.HasPrefix(secret, signaturePrefix) {
		return verifySignature(secret, signatures, header, body, now)
	}
	given, want := sha256.Sum256([]byte(header.Get("X-Gitlab-Token"))), sha256.Sum256([]byte(secret))
	if subtle.ConstantTimeCompare(given[:], want[:]) != 1 {
		return connectors.ErrSignature
	}
	return nil
}

// verifySignature follows the specification of Standard Webhooks.
func verifySignature(secret, signatures string, header http.Header, body []byte, now time.Time) error {
	key, err := base64.StdEncoding.DecodeString(strings.TrimPrefix(secret, signaturePrefix))
	id, stamp := header.Get("Webhook-Id"), header.Get("Webhook-Timestamp")
	seconds, stampErr := strconv.ParseInt(stamp, 10, 64)
	if age := now.Sub(time.Unix(seconds, 0)); err != nil || stampErr != nil || id == "" || age > signatureAge || age < -signatureAge {
		return connectors.ErrSignature
	}
	for one := range strings.FieldsSeq(signatures) {
		text, ok := strings.CutPrefix(one, "v1,")
		signature, err := base64.StdEncoding.DecodeString(text)
		if ok && err == nil && connectors.VerifyHMAC(string(key), fmt.Sprintf("%x", signature), []byte(id+"."+stamp+"."), body) == nil {
			return nil
		}
	}
	return connectors.ErrSignature
}

// parseDelivery returns the ids that a delivery names.
func parseDelivery(header http.Header, body []byte) (connectors.Delivery, error) {
	p, err := decodePayload(header, body)
	if err != nil {
		return connectors.Delivery{}, err
	}
	// The key stays the same when GitLab sends a delivery again.
	d := connectors.Delivery{ID: header.Get("Idempotency-Key")}
	switch event := p.event(); event {
	case "project_create", "project_destroy", "project_rename", "project_transfer", "project_update", "subgroup_destroy", "group_destroy", "group_rename":
		d.AllChanged = true
	case "user_add_to_group", "user_update_for_group", "user_remove_from_group", "user_add_to_team", "user_update_for_team", "user_remove_from_team":
		d.PermissionsChanged = true
	case "push", "issue", "work_item", "merge_request", "note", "wiki_page":
		id := p.projectID()
		if id == 0 {
			return d, nil // of a group
		}
		parseEvent(&d, p, event, strconv.FormatInt(id, 10))
	}
	return d, nil
}

func parseEvent(d *connectors.Delivery, p payload, event, project string) {
	add := func(kind string, number int64, at hookTime) {
		if number > 0 {
			d.Items, d.ChangedAt = append(d.Items, project+":"+kind+":"+strconv.FormatInt(number, 10)), at.Time
		}
	}
	switch {
	case event == "push":
		parsePush(d, p, project)
	case event == "issue" || event == "work_item":
		add(kindIssue, p.Object.IID, p.Object.Updated)
	case event == "merge_request":
		add(kindMerge, p.Object.IID, p.Object.Updated)
	case event == "wiki_page" && p.Object.Slug != "":
		d.Items = append(d.Items, project+":"+kindWiki+":"+p.Object.Slug)
	case event == "note" && p.Object.Noteable == "Issue" && p.Issue != nil:
		add(kindIssue, p.Issue.IID, p.Object.Updated)
	case event == "note" && p.Object.Noteable == "MergeRequest" && p.Merge != nil:
		add(kindMerge, p.Merge.IID, p.Object.Updated)
	}
}

// parsePush adds the files of a push to the default branch. If the push does not name
// all, it adds the whole source. A push to another branch adds the branch, which
// matters if the config names it, and the files that it removes.
func parsePush(d *connectors.Delivery, p payload, project string) {
	branch, ok := strings.CutPrefix(p.Ref, "refs/heads/")
	if !ok || branch == "" {
		return
	}
	isDefault := p.Project != nil && branch == p.Project.Branch
	changed, removed := map[string]bool{}, map[string]bool{}
	for _, c := range p.Commits {
		if c.At.After(d.ChangedAt) {
			d.ChangedAt = c.At.Time
		}
		for _, path := range slices.Concat(c.Added, c.Modified) {
			changed[path] = true
		}
		for _, path := range c.Removed {
			removed[path] = true
		}
	}
	add := func(paths map[string]bool) {
		for path := range paths {
			if id := project + ":" + kindFile + ":" + path; path != "" && len(id) <= connectors.MaxIDBytes {
				d.Items = append(d.Items, id)
			}
		}
	}
	isNew, isGone := strings.Trim(p.Before, "0") == "", strings.Trim(p.After, "0") == ""
	complete := !isNew && !isGone && len(p.Commits) < maxPushCommits && p.Total <= len(p.Commits) && len(changed)+len(removed) <= maxPushItems
	switch {
	case isDefault && complete:
		add(changed)
		add(removed)
	case isDefault:
		d.AllChanged = true
	default:
		d.Items = append(d.Items, project+":"+kindBranch+":"+branch)
		if len(removed) <= maxPushItems {
			add(removed)
		}
	}
	slices.Sort(d.Items)
	d.Items = slices.Compact(d.Items)
}
