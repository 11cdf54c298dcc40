package salesforce

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/magpie-search/magpie/connectors"
	"github.com/magpie-search/magpie/connectors/restapi"
)

// Open implements [connectors.Source].
func (s *source) Open(ctx context.Context, item connectors.Item) (io.ReadCloser, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	id, ok := parseID(item.ID)
	if !ok {
		return nil, fmt.Errorf("the id is none of the connector's: %w", connectors.ErrNotFound)
	}
	r, err := s.recordNamed(ctx, id)
	if err != nil {
		return nil, err
	}
	if id.file != "" {
		return s.openFile(ctx, r, id.file, item.Version)
	}
	if item.Version != "" && item.Version != r.version() {
		return nil, connectors.Retryable(errChanged, 0)
	}
	return io.NopCloser(bytes.NewReader(r.document())), nil
}

// recordNamed reads a record that the settings select.
func (s *source) recordNamed(ctx context.Context, id itemID) (*record, error) {
	o, err := s.objectNamed(ctx, id.object)
	if err != nil {
		return nil, err
	}
	found, err := s.api.readPage(ctx, o.selected().with(id.condition()), "", 2)
	if err != nil {
		return nil, s.queryError(o, err)
	}
	if len(found.rows) == 0 {
		return nil, fmt.Errorf("the record is not in the organization, or does not match config.%s: %w", optionFilter, connectors.ErrNotFound)
	}
	records, err := s.complete(ctx, o, found.rows[:1])
	if err != nil {
		return nil, err
	}
	if got := records[0].id(); got.language != id.language || compareIDs(got.record, id.record) != 0 {
		return nil, errInvalid("another record than " + id.record)
	}
	return &records[0], nil
}

// openFile returns the content of a file of a record.
func (s *source) openFile(ctx context.Context, r *record, document, version string) (io.ReadCloser, error) {
	if !s.settings.Boolean(optionFiles) {
		return nil, fmt.Errorf("files are none of the connector's: %w", connectors.ErrNotFound)
	}
	for _, f := range r.files {
		switch {
		case f.document != document:
			continue
		case version != "" && version != f.version:
			return nil, connectors.Retryable(errChanged, 0)
		case f.fileType == "LINK":
			return nil, connectors.Skip(errors.New("the file is a link to another system"))
		}
		return s.download(ctx, f)
	}
	return nil, fmt.Errorf("the record does not have the file: %w", connectors.ErrNotFound)
}

func (s *source) download(ctx context.Context, f file) (io.ReadCloser, error) {
	if err := s.api.checkBudget(); err != nil {
		return nil, err
	}
	client, err := s.api.connect(ctx)
	if err != nil {
		return nil, err
	}
	isPage := strings.Contains(strings.ToLower(f.extension+f.fileType), "htm") || f.fileType == "SNOTE"
	content, err := client.Download(ctx, restapi.Request{Path: s.api.path + "/sobjects/ContentVersion/" + f.version + "/VersionData"},
		restapi.Expected{Size: f.size, AllowHTML: isPage})
	if err != nil {
		return nil, err
	}
	s.api.note(content.Header)
	return content, nil
}
