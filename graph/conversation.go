package graph

import (
	"context"

	"entgo.io/contrib/entgql"
	"github.com/google/uuid"

	"github.com/magpie-search/magpie/ent"
	"github.com/magpie-search/magpie/ent/feedback"
	"github.com/magpie-search/magpie/graph/model"
	"github.com/magpie-search/magpie/internal/chat/conversation"
)

func conversationFilter(matching *string, agentID *uuid.UUID, kind *model.ConversationKind) conversation.Filter {
	return conversation.Filter{Text: orZero(matching), Agent: agentID, Kind: conversation.Kind(orZero(kind))}
}

// newestFirst returns order, or the default order of conversations if it is empty.
func newestFirst(order []*ent.ConversationOrder) []*ent.ConversationOrder {
	if len(order) > 0 {
		return order
	}
	return []*ent.ConversationOrder{{Direction: entgql.OrderDirectionDesc, Field: ent.ConversationOrderFieldUpdatedAt}}
}

func (r *Resolver) exportConversation(ctx context.Context, id uuid.UUID, format model.ExportFormat) (*model.ConversationExport, error) {
	export := r.Conversations.ExportJSON
	if format == model.ExportFormatMarkdown {
		export = r.Conversations.ExportMarkdown
	}
	file, err := export(ctx, id)
	if err != nil {
		return nil, err
	}
	return &model.ConversationExport{FileName: file.Name, MediaType: file.MediaType, Content: file.Content}, nil
}

func rating(in model.FeedbackInput) conversation.Rating {
	return conversation.Rating{Rating: feedback.Rating(in.Rating), Reason: (*feedback.Reason)(in.Reason), Comment: orZero(in.Comment)}
}

func messageFeedback(row *ent.Feedback) *model.MessageFeedback {
	if row == nil {
		return nil
	}
	return &model.MessageFeedback{
		Rating: model.Rating(row.Rating), Reason: (*model.FeedbackReason)(row.Reason), Comment: row.Comment,
		CreatedAt: row.CreatedAt, UpdatedAt: row.UpdatedAt,
	}
}
