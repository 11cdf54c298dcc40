package conversation

import (
	"context"
	"log/slog"
	"strings"
	"unicode/utf8"

	"github.com/google/uuid"

	"github.com/magpie-search/magpie/ent"
	entfeedback "github.com/magpie-search/magpie/ent/feedback"
	"github.com/magpie-search/magpie/ent/message"
	"github.com/magpie-search/magpie/internal/apierr"
	"github.com/magpie-search/magpie/internal/store/lookup"
	"github.com/magpie-search/magpie/internal/store/transaction"
	"github.com/magpie-search/magpie/internal/usage/analytics"
	"github.com/magpie-search/magpie/internal/viewer"
)

// maxComment is the longest comment, in characters.
const maxComment = 500

// A Rating is a person's opinion on an answer.
type Rating struct {
	Rating  entfeedback.Rating
	Reason  *entfeedback.Reason
	Comment string
}

// Rate stores a rating of an answer in place of an earlier one. If conversation is
// not nil, the answer must be one of that conversation. Query analytics count the
// first rating only.
func (c *Conversations) Rate(ctx context.Context, messageID uuid.UUID, conversation *uuid.UUID, r Rating) (*ent.Feedback, error) {
	r.Comment = strings.TrimSpace(r.Comment)
	if utf8.RuneCountInString(r.Comment) > maxComment {
		return nil, apierr.Invalid("comment", "must have at most 500 characters")
	}
	answer, err := c.lockAnswer(ctx, messageID, conversation)
	if err != nil {
		return nil, err
	}
	present, err := c.client(ctx).Feedback.Query().Where(entfeedback.MessageID(messageID)).Only(ctx)
	switch {
	case ent.IsNotFound(err):
		create := c.client(ctx).Feedback.Create().SetMessageID(messageID).SetRating(r.Rating).SetNillableReason(r.Reason)
		if r.Comment != "" {
			create.SetComment(r.Comment)
		}
		row, err := create.Save(ctx)
		if err == nil {
			c.recordRating(ctx, answer, r)
		}
		return row, err
	case err != nil:
		return nil, err
	}
	update := present.Update().SetRating(r.Rating)
	if r.Reason == nil {
		update.ClearReason()
	} else {
		update.SetReason(*r.Reason)
	}
	if r.Comment == "" {
		update.ClearComment()
	} else {
		update.SetComment(r.Comment)
	}
	return update.Save(ctx)
}

// Unrate deletes the rating of an answer.
func (c *Conversations) Unrate(ctx context.Context, messageID uuid.UUID, conversation *uuid.UUID) error {
	if _, err := c.lockAnswer(ctx, messageID, conversation); err != nil {
		return err
	}
	_, err := c.client(ctx).Feedback.Delete().Where(entfeedback.MessageID(messageID)).Exec(ctx)
	return err
}

// Ratings returns the ratings of messages, by message.
func (c *Conversations) Ratings(ctx context.Context, messages []uuid.UUID) (map[uuid.UUID]*ent.Feedback, error) {
	rows, err := c.client(ctx).Feedback.Query().Where(entfeedback.MessageIDIn(messages...)).All(ctx)
	ratings := make(map[uuid.UUID]*ent.Feedback, len(rows))
	for _, row := range rows {
		ratings[row.MessageID] = row
	}
	return ratings, err
}

// lockAnswer returns an answer of the viewer's own. The lock keeps two ratings of
// one answer apart.
func (c *Conversations) lockAnswer(ctx context.Context, id uuid.UUID, conversation *uuid.UUID) (*ent.Message, error) {
	query := c.client(ctx).Message.Query().Where(message.ID(id))
	if conversation != nil {
		query.Where(message.ConversationID(*conversation))
	}
	row, err := query.ForUpdate().Only(ctx)
	if err != nil {
		return nil, lookup.Error("Message", err)
	}
	if row.Role != message.RoleAssistant {
		return nil, apierr.Invalid("messageId", "must be an answer")
	}
	return row, nil
}

// recordRating passes a rating to query analytics, under the request that the
// answer was given in. A failure is logged: the rating itself is stored.
func (c *Conversations) recordRating(ctx context.Context, answer *ent.Message, r Rating) {
	v, ok := viewer.From(ctx)
	if c.o.Analytics == nil || answer.RequestID == "" || !ok || v.Kind != viewer.KindSession {
		return
	}
	event := analytics.Event{
		Type: "feedback", Request: answer.RequestID, Rating: strings.ToLower(string(r.Rating)), Comment: r.Comment,
		ID: "feedback on message " + answer.ID.String(),
	}
	if r.Reason != nil {
		event.Reason = strings.ToLower(string(*r.Reason))
	}
	transaction.AfterCommit(ctx, func(ctx context.Context) {
		scope, err := viewer.ScopeOf(ctx)
		if err == nil {
			_, err = c.o.Analytics.Record(ctx, scope, v.Subject, []analytics.Event{event}, func(int) string { return "" })
		}
		if err != nil {
			c.o.Log.ErrorContext(ctx, "rating not recorded in query analytics", slog.Any("message", answer.ID), slog.Any("error", err))
		}
	})
}
