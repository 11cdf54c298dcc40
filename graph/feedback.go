package graph

import (
	"context"
	"strings"
	"unicode/utf8"

	"github.com/google/uuid"

	"github.com/magpie-search/magpie/ent"
	"github.com/magpie-search/magpie/ent/feedback"
	"github.com/magpie-search/magpie/ent/message"
	"github.com/magpie-search/magpie/graph/model"
	"github.com/magpie-search/magpie/internal/apierr"
	"github.com/magpie-search/magpie/internal/usage/analytics"
	"github.com/magpie-search/magpie/internal/viewer"
)

// answer is a message of one's own that feedback may be given on, locked so that
// two opinions at once come one after the other.
func (r *Resolver) answer(ctx context.Context, id uuid.UUID, conversationID *uuid.UUID) (*ent.Message, error) {
	query := r.client(ctx).Message.Query().Where(message.ID(id))
	if conversationID != nil {
		query.Where(message.ConversationID(*conversationID))
	}
	row, err := query.ForUpdate().Only(ctx)
	if row, err = found("Message", row, err); err != nil {
		return nil, err
	}
	if row.Role != message.RoleAssistant {
		return nil, apierr.Invalid("messageId", "must be an answer")
	}
	return row, nil
}

func (r *Resolver) setFeedback(ctx context.Context, id uuid.UUID, conversationID *uuid.UUID, in model.FeedbackInput) (*model.MessageFeedback, error) {
	comment := strings.TrimSpace(orEmpty(in.Comment))
	if utf8.RuneCountInString(comment) > maxComment {
		return nil, apierr.Invalid("comment", "must have at most 500 characters")
	}
	about, err := r.answer(ctx, id, conversationID)
	if err != nil {
		return nil, err
	}
	rating := feedback.Rating(in.Rating)
	var reason *feedback.Reason
	if in.Reason != nil {
		named := feedback.Reason(*in.Reason)
		reason = &named
	}
	before, err := r.client(ctx).Feedback.Query().Where(feedback.MessageID(id)).Only(ctx)
	switch {
	case ent.IsNotFound(err):
		row, err := r.client(ctx).Feedback.Create().SetMessageID(id).SetRating(rating).SetNillableReason(reason).
			SetNillableComment(orNil(comment)).Save(ctx)
		if err != nil {
			return nil, err
		}
		r.noteFeedback(ctx, about, in, comment)
		return messageFeedback(row), nil
	case err != nil:
		return nil, err
	}
	change := before.Update().SetRating(rating)
	if reason == nil {
		change.ClearReason()
	} else {
		change.SetReason(*reason)
	}
	if comment == "" {
		change.ClearComment()
	} else {
		change.SetComment(comment)
	}
	row, err := change.Save(ctx)
	if err != nil {
		return nil, err
	}
	return messageFeedback(row), nil
}

// maxComment is the longest comment, in characters.
const maxComment = 500

// noteFeedback tells the query analytics of an opinion, by the request that the
// answer was given in. They count the first one on an answer: what is counted
// there is not taken back.
func (r *Resolver) noteFeedback(ctx context.Context, about *ent.Message, in model.FeedbackInput, comment string) {
	v, ok := viewer.From(ctx)
	if r.Analytics == nil || about.RequestID == "" || !ok || v.Kind != viewer.KindSession {
		return
	}
	e := analytics.Event{
		Type: "feedback", Request: about.RequestID, Rating: strings.ToLower(string(in.Rating)), Comment: comment,
		ID: "feedback on message " + about.ID.String(),
	}
	if in.Reason != nil {
		e.Reason = strings.ToLower(string(*in.Reason))
	}
	r.afterCommit(ctx, "note feedback", func(ctx context.Context) error {
		reach, err := scope(ctx)
		if err != nil {
			return err
		}
		_, err = r.Analytics.Record(ctx, reach, v.Subject, []analytics.Event{e}, func(int) string { return "" })
		return err
	})
}

func (r *Resolver) removeFeedback(ctx context.Context, id uuid.UUID, conversationID *uuid.UUID) error {
	if _, err := r.answer(ctx, id, conversationID); err != nil {
		return err
	}
	_, err := r.client(ctx).Feedback.Delete().Where(feedback.MessageID(id)).Exec(ctx)
	return err
}

func messageFeedback(row *ent.Feedback) *model.MessageFeedback {
	if row == nil {
		return nil
	}
	out := &model.MessageFeedback{
		Rating: model.Rating(row.Rating), Comment: row.Comment, CreatedAt: row.CreatedAt, UpdatedAt: row.UpdatedAt,
	}
	if row.Reason != nil {
		reason := model.FeedbackReason(*row.Reason)
		out.Reason = &reason
	}
	return out
}
