package jira

import (
	"crypto/sha256"
	"encoding/hex"
	"maps"
	"path"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/magpie-search/magpie/connectors"
)

// The prefixes of ids. An attachment's id begins with that of its issue.
const (
	prefixIssue = "issue:"
	prefixFile  = "attachment:"
)

// parseID parses an item's id. file is "" for an issue, and issue is "" if the id
// is invalid.
func parseID(id string) (issue, file string) {
	if number, found := strings.CutPrefix(id, prefixIssue); found && isID(number) {
		return number, ""
	}
	if numbers, found := strings.CutPrefix(id, prefixFile); found {
		if issue, file, _ := strings.Cut(numbers, "/"); isID(issue) && isID(file) {
			return issue, file
		}
	}
	return "", ""
}

func fileID(issue, file string) string { return prefixFile + issue + "/" + file }

func issuePath(i *issue) string {
	return connectors.PathSegment(i.Fields.Project.Key) + "/" + connectors.PathSegment(i.Key)
}

// issueVersion changes with each edit, comment and move, and with the options that
// decide which comments the document has.
func (s *source) issueVersion(i *issue) string {
	version := strconv.FormatInt(i.Fields.Updated.UnixMilli(), 10)
	switch {
	case !s.withComments:
		version += "-n"
	case len(s.excluded) > 0:
		sum := sha256.Sum256([]byte(strings.Join(slices.Sorted(maps.Keys(s.excluded)), "\n")))
		version += "-" + hex.EncodeToString(sum[:6])
	}
	return version
}

// fileVersion is constant: a new file with the same name is another attachment.
func fileVersion(f *attachment) string {
	return strconv.FormatInt(milliseconds(f.Created.Time), 10) + "-" + strconv.FormatInt(f.size(), 10)
}

func (s *source) issueItem(i *issue) connectors.Item {
	item := connectors.Item{
		ID: prefixIssue + string(i.ID), Path: issuePath(i), Version: s.issueVersion(i), Title: strings.TrimSpace(i.Key + ": " + i.Fields.Summary),
		URL: s.api.Site.Base + "/browse/" + i.Key, MediaType: "text/markdown", Author: i.Fields.Reporter.displayName(), Container: string(i.Fields.Project.ID),
		Size: -1, CreatedAt: i.Fields.Created.Time, ModifiedAt: i.Fields.Updated.Time, Metadata: map[string]string{},
	}
	if item.Author == "" {
		item.Author = i.Fields.Creator.displayName()
	}
	for name, value := range map[string]string{
		"key": i.Key, "project": i.Fields.Project.Key, "status": i.Fields.Status.name(), "type": i.Fields.IssueType.name(), "priority": i.Fields.Priority.name(),
		"assignee": i.Fields.Assignee.displayName(), "labels": strings.Join(i.Fields.Labels, ", "),
	} {
		if value != "" {
			item.Metadata[name] = value
		}
	}
	return item
}

// fileItems returns the items of an issue's attachments, in the order of their ids.
func (s *source) fileItems(i *issue) []connectors.Item {
	if !s.withFiles {
		return nil
	}
	files := slices.Clone(i.Fields.Attachment)
	slices.SortFunc(files, func(a, b attachment) int { return compareIDs(string(a.ID), string(b.ID)) })
	var items []connectors.Item
	names := map[string]bool{}
	for _, f := range files {
		name := connectors.PathSegment(strings.ToValidUTF8(f.Filename, "?"))
		if extension := path.Ext(name); names[name] || len(issuePath(i))+len(name) >= connectors.MaxIDBytes {
			if !regexp.MustCompile(`^\.[A-Za-z0-9]{1,10}$`).MatchString(extension) {
				extension = ""
			}
			name = strings.TrimSuffix(name, extension)
			if len(name) > 500 {
				name = strings.ToValidUTF8(name[:500], "")
			}
			name += " (" + string(f.ID) + ")" + extension
		}
		names[name] = true
		items = append(items, connectors.Item{
			ID: fileID(string(i.ID), string(f.ID)), Path: issuePath(i) + "/" + name, Version: fileVersion(&f), Title: f.Filename,
			URL: s.api.Site.Base + "/browse/" + i.Key, MediaType: f.MimeType, Author: f.Author.displayName(), Container: string(i.Fields.Project.ID),
			Size: f.size(), CreatedAt: f.Created.Time, ModifiedAt: f.Created.Time, Metadata: map[string]string{"key": i.Key, "project": i.Fields.Project.Key},
		})
	}
	return items
}
