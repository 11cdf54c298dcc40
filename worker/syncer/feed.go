package syncer

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"slices"

	"github.com/magpie-search/magpie/connectors"
	"github.com/magpie-search/magpie/ent/syncitem"
	entjob "github.com/magpie-search/magpie/ent/syncjob"
	"github.com/magpie-search/magpie/internal/ingest"
	"github.com/magpie-search/magpie/internal/syncjob"
	"github.com/magpie-search/magpie/internal/tracing"
)

// A sync of a source with a feed reads the changes since the connector's token. It
// walks the source if there is no token, after the full scan interval, when
// settings have changed, as a full sync, and when the token has expired or a page of
// changes is too large. Either way
// the job has a token for the next sync, which becomes the connector's in the
// transaction that ends the job: a job that fails or is canceled leaves the old
// token, and its successor reads the same changes again.
//
// A change is reported once. An item that could not be fetched or indexed waits in
// the ledger, and the next sync looks it up. A source that cannot look items up
// keeps its token while items wait.

// readSource covers the whole source by its feed or by a walk.
func (s *slice) readSource(ctx context.Context) error {
	feeder, ok := s.source.(connectors.Feeder)
	if !ok || !s.kind.Feeds {
		return s.walkPages(ctx, nil)
	}
	if s.job.SettingsHash == "" {
		if err := s.beginSource(ctx, feeder); err != nil {
			return err
		}
	}
	if s.job.Feed {
		return s.readChanges(ctx, feeder)
	}
	return s.walkPages(ctx, nil)
}

// beginSource decides between the feed and a walk.
func (s *slice) beginSource(ctx context.Context, feeder connectors.Feeder) error {
	hash, err := s.settingsHash()
	if err != nil {
		return err
	}
	if s.feedIsUsable(hash) {
		s.job.Feed, s.job.Cursor, s.job.SettingsHash = true, s.connector.FeedToken, hash
		return s.run.BeginFeed(ctx, s.job.Cursor, hash)
	}
	present, err := s.presentToken(ctx, feeder)
	if err != nil {
		return err
	}
	s.job.FeedToken, s.job.SettingsHash = &present, hash
	return s.run.BeginWalk(ctx, present, hash)
}

// feedIsUsable reports whether an auto sync under settings with a hash may read the
// changes only.
func (s *slice) feedIsUsable(hash string) bool {
	c := s.connector
	interval := connectors.Settings{Config: c.Config}.FullScanInterval()
	return s.job.Mode == entjob.ModeAuto && c.FeedToken != "" && c.FeedSettings == hash &&
		c.WalkedAt != nil && s.engine.opt.Now().Sub(*c.WalkedAt) < interval
}

// settingsHash returns a hash of what decides which items become documents and how.
func (s *slice) settingsHash() (string, error) {
	config, err := json.Marshal(s.connector.Config)
	if err != nil {
		return "", fmt.Errorf("encode a connector's settings: %w", err)
	}
	grant := ""
	if s.connector.GrantID != nil {
		grant = s.connector.GrantID.String()
	}
	h := sha256.New()
	_, _ = fmt.Fprintf(h, "%d %d %s %x %s %d", ingest.Version, len(config), config, s.connector.Credentials, grant, s.engine.opt.MaxBytes)
	return hex.EncodeToString(h.Sum(nil)), nil
}

// presentToken returns the token of the present, or "" if the source has none now.
func (s *slice) presentToken(ctx context.Context, feeder connectors.Feeder) (string, error) {
	page, err := feeder.Changes(ctx, "")
	if err != nil {
		return "", classify(err)
	}
	s.warn(page.Warnings)
	return page.Next, checkToken(page.Next)
}

// checkToken returns an error for a token that cannot be stored.
func checkToken(token string) error {
	if len(token) > connectors.MaxTokenBytes || !isStorable(token) {
		return &sourceError{cause: errors.New("the source gave a token for its changes that is too long or is no text")}
	}
	return nil
}

// warn shows warnings of the source.
func (s *slice) warn(texts []string) {
	for _, text := range texts {
		s.run.Warn(s.redact(text))
	}
}

// movesFeed reports whether the completion of the job moves the token, so that a
// change that it leaves out is not reported again.
func (s *slice) movesFeed() bool {
	return s.job.Feed || s.job.FeedToken != nil && *s.job.FeedToken != ""
}

// readChanges reads the changes from the token of the job on.
func (s *slice) readChanges(ctx context.Context, feeder connectors.Feeder) error {
	if err := s.retryUnfinished(ctx); err != nil {
		return err
	}
	seen := map[string]bool{}
	for token := s.job.Cursor; ; {
		seen[token] = true
		s.state.hold()
		walking, span := tracing.Start(ctx, "sync changes")
		page, err := feeder.Changes(walking, token)
		span.End(err)
		if err != nil {
			return classify(err)
		}
		s.run.AddEffort(func(e *syncjob.Effort) { e.Pages++ })
		if page.Expired || len(page.Items) > connectors.MaxPageItems {
			s.state.discard()
			return s.restartWalk(ctx, feeder)
		}
		s.warn(page.Warnings)
		switch err := checkToken(page.Next); {
		case err != nil:
			return err
		case page.Next == "":
			return &sourceError{cause: errors.New("the source gave no token for the next changes")}
		case page.More && seen[page.Next]:
			return &stopError{message: "The source goes round in circles: its changes lead to a page that was read already."}
		}
		if err := s.applyChanges(ctx, page); err != nil {
			return err
		}
		if err := s.state.flush(ctx, !page.More); err != nil {
			return fmt.Errorf("store the state of a feed: %w", err)
		}
		token = page.Next
		s.job.Cursor = token
		if err := s.recordProgress(s.run.SaveFeed(ctx, token, !page.More)); err != nil {
			return err
		}
		if !page.More {
			s.job.FeedToken = &token
			return nil
		}
		if s.pageDone(ctx) {
			return errSliceDone
		}
		if err := wait(ctx, min(page.Pause, maxSourceDelay)); err != nil {
			return err
		}
	}
}

// applyChanges processes a page of changes. Deletions follow after the last page.
func (s *slice) applyChanges(ctx context.Context, page connectors.ChangePage) error {
	if err := s.noteGone(ctx, page.Gone); err != nil {
		return err
	}
	if len(page.Items) > 0 {
		if err := s.processPage(ctx, page.Items); err != nil {
			return err
		}
	}
	if s.isPlan || s.lister == nil {
		return nil
	}
	for part := range slices.Chunk(page.Permissions, connectors.MaxPageItems) {
		items, err := s.knownItems(ctx, part)
		if err != nil {
			return err
		}
		if err := s.refreshItemReaders(ctx, items); err != nil {
			return err
		}
	}
	return nil
}

// noteGone keeps the ids of items that the source no longer has.
func (s *slice) noteGone(ctx context.Context, ids []string) error {
	ids = slices.DeleteFunc(slices.Clone(ids), func(id string) bool { return id == "" || len(id) > connectors.MaxIDBytes || !isStorable(id) })
	for part := range slices.Chunk(ids, connectors.MaxPageItems) {
		if s.isPlan {
			if err := s.planGone(ctx, part); err != nil {
				return err
			}
			continue
		}
		if err := s.run.MarkGone(ctx, part); err != nil {
			return err
		}
	}
	return nil
}

// knownItems returns the items with some ids as the ledger knows them.
func (s *slice) knownItems(ctx context.Context, ids []string) ([]connectors.Item, error) {
	rows, err := s.engine.client.SyncItem.Query().Where(syncitem.ConnectorID(s.connector.ID), syncitem.SourceIDIn(ids...)).
		Select(syncitem.FieldSourceID, syncitem.FieldPath, syncitem.FieldSourceVersion, syncitem.FieldContainer).All(ctx)
	if err != nil {
		return nil, fmt.Errorf("read the items whose permissions changed: %w", err)
	}
	items := make([]connectors.Item, len(rows))
	for i, row := range rows {
		items[i] = connectors.Item{ID: row.SourceID, Path: row.Path, Version: row.SourceVersion, Container: row.Container, Size: -1}
	}
	return items, nil
}

// restartWalk makes the job walk the source because its token has expired, or its
// feed cannot be read.
func (s *slice) restartWalk(ctx context.Context, feeder connectors.Feeder) error {
	present, err := s.presentToken(ctx, feeder)
	if err != nil {
		return err
	}
	if s.isPlan {
		err = s.run.BeginWalk(ctx, present, s.job.SettingsHash)
	} else {
		err = s.run.RestartWalk(ctx, present)
	}
	if err != nil {
		return err
	}
	s.log.InfoContext(ctx, "feed cannot be continued, source will be walked", slog.String("type", s.kind.Name))
	s.job.Feed, s.job.Cursor, s.job.FeedToken, s.job.Incomplete = false, "", &present, nil
	return s.walkPages(ctx, nil)
}

// maxUnfinished bounds the items that a sync looks up because they wait.
const maxUnfinished = 10_000

// retryUnfinished looks up the items that earlier syncs could not bring to the
// index. Each gets one outcome of this job.
func (s *slice) retryUnfinished(ctx context.Context) error {
	resolver, ok := s.source.(connectors.Resolver)
	if !ok {
		return nil
	}
	after := ""
	for range maxUnfinished / confirmBatch {
		ids, err := s.run.UnfinishedItems(ctx, after, confirmBatch)
		if err != nil || len(ids) == 0 {
			return err
		}
		after = ids[len(ids)-1]
		missing, err := s.lookUp(ctx, resolver, ids)
		if err != nil {
			return err
		}
		if err := s.noteGone(ctx, missing); err != nil {
			return err
		}
		if s.timeUp(ctx) {
			return errSliceDone
		}
	}
	return nil
}

// notePosition prepares the token and the time of the walk, which are stored with
// the connector when the job completes.
func (s *slice) notePosition(ctx context.Context) error {
	if s.isPlan || s.job.SettingsHash == "" {
		return nil
	}
	position := syncjob.FeedPosition{Walked: !s.job.Feed, Settings: s.job.SettingsHash, Began: s.job.CreatedAt}
	if s.job.StartedAt != nil {
		position.Began = *s.job.StartedAt
	}
	if s.job.FeedToken != nil {
		position.Token = *s.job.FeedToken
	}
	if _, ok := s.source.(connectors.Resolver); !ok {
		waiting, err := s.hasWaiting(ctx)
		if err != nil {
			return err
		}
		if waiting {
			position.Token = ""
		}
	}
	s.run.SetFeedPosition(position)
	return nil
}

// hasWaiting reports whether items of the connector wait for a retry.
func (s *slice) hasWaiting(ctx context.Context) (bool, error) {
	waiting, err := s.engine.client.SyncItem.Query().
		Where(syncitem.ConnectorID(s.connector.ID), syncitem.WaitingSinceNotNil(), syncitem.Suppressed(false)).Exist(ctx)
	if err != nil {
		return false, fmt.Errorf("look for items that wait: %w", err)
	}
	return waiting, nil
}
