package jira

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/url"
	"slices"
	"strings"

	"github.com/magpie-search/magpie/connectors"
	"github.com/magpie-search/magpie/connectors/restapi"
)

var errChanged = errors.New("it was changed meanwhile; the next sync takes the new version")

// Open implements [connectors.Source].
func (s *source) Open(ctx context.Context, item connectors.Item) (io.ReadCloser, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	id, file := parseID(item.ID)
	switch {
	case id == "":
		return nil, fmt.Errorf("open an item: %w", connectors.ErrNotFound)
	case file != "":
		return s.openFile(ctx, item, id, file)
	}
	found, err := s.issueNamed(ctx, id, textFields(s.withComments, false))
	if err != nil {
		return nil, err
	}
	if item.Version != "" && s.issueVersion(found) != item.Version {
		return nil, connectors.Retryable(errChanged, 0)
	}
	var list []comment
	if s.withComments {
		if list, err = s.commentsOf(ctx, found); err != nil {
			return nil, err
		}
	}
	return io.NopCloser(bytes.NewReader(s.render(found, list))), nil
}

// commentsOf returns the comments of an issue. If the site does not have the list of
// them, they are those that came with the issue.
func (s *source) commentsOf(ctx context.Context, found *issue) ([]comment, error) {
	with := found.Fields.Comment
	if with != nil && len(with.Comments) >= with.Total {
		return with.Comments, nil
	}
	all, err := s.api.comments(ctx, string(found.ID))
	if !isAbsent(err) {
		return all, err
	}
	s.addWarning("Jira does not list the comments of some issues; only those that come with the issues are found.")
	if with == nil {
		return nil, nil
	}
	return with.Comments, nil
}

// issueNamed returns the issue with an id or key, if it belongs to the projects of
// the connector.
func (s *source) issueNamed(ctx context.Context, name string, fields []string) (*issue, error) {
	projects, err := s.selectedProjects(ctx)
	if err != nil {
		return nil, err
	}
	found, err := s.api.issue(ctx, name, fields)
	if err != nil {
		return nil, err
	}
	if !isSelected(projects, found) && (len(s.keys) > 0 || len(projects) < maxProjects) {
		return nil, fmt.Errorf("the issue is in another project: %w", connectors.ErrNotFound)
	}
	return found, nil
}

func (s *source) openFile(ctx context.Context, item connectors.Item, id, file string) (io.ReadCloser, error) {
	if !s.withFiles {
		return nil, fmt.Errorf("attachments are none of the connector's: %w", connectors.ErrNotFound)
	}
	found, err := s.issueNamed(ctx, id, []string{"project", "updated", "attachment"})
	if err != nil {
		return nil, err
	}
	i := slices.IndexFunc(found.Fields.Attachment, func(f attachment) bool { return string(f.ID) == file })
	if i < 0 {
		if found.Fields.Attachment == nil {
			return nil, s.api.ErrInvalid("an issue without the list of its files")
		}
		return nil, fmt.Errorf("the issue does not have the file: %w", connectors.ErrNotFound)
	}
	f := &found.Fields.Attachment[i]
	if item.Version != "" && fileVersion(f) != item.Version {
		return nil, connectors.Retryable(errChanged, 0)
	}
	path, query, err := s.filePath(f)
	if err != nil {
		return nil, err
	}
	want := restapi.Expected{Size: f.size(), AllowHTML: strings.Contains(f.MimeType, "html")}
	return s.api.Download(ctx, restapi.Request{Path: path, Query: query}, want)
}

// filePath returns the path of an attachment's content: the address that the issue
// has or, if requests go to a gateway, that of the API.
func (s *source) filePath(f *attachment) (string, url.Values, error) {
	switch {
	case s.api.Answers(f.Content):
		return f.Content, nil, nil
	case s.api.Site.Cloud:
		return s.api.path("attachment", "content", string(f.ID)), nil, nil
	case f.Content == "":
		return "", nil, s.api.ErrInvalid("a file without an address")
	}
	// Data Center writes its base URL, which a proxy in front of it may not have.
	return "secure/attachment/" + url.PathEscape(string(f.ID)) + "/" + url.PathEscape(f.Filename), nil, nil
}
