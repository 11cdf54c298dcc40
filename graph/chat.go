package graph

import (
	"context"

	"github.com/google/uuid"

	"magpie/graph/model"
	"magpie/internal/apierr"
	"magpie/internal/chat"
)

func (r *Resolver) chat(ctx context.Context, in model.ChatInput) (<-chan model.ChatEvent, error) {
	request := chat.Request{
		Message: in.Message, Conversation: orZero(in.ConversationID), Collection: orZero(in.Collection), Admit: r.metered,
	}
	events, err := r.Chat.Stream(ctx, request)
	if err != nil {
		return nil, err
	}
	note := r.noteChat(ctx, in)
	return relay(ctx, events, note.event, note.end), nil
}

func (r *Resolver) chatModels() []*model.ChatModel {
	names := r.Chat.Models()
	models := make([]*model.ChatModel, len(names))
	for i, name := range names {
		models[i] = &model.ChatModel{Name: name, IsDefault: i == 0}
	}
	return models
}

func orZero(id *uuid.UUID) uuid.UUID {
	if id == nil {
		return uuid.Nil
	}
	return *id
}

func chatEvent(e chat.Event) model.ChatEvent {
	switch e := e.(type) {
	case chat.Start:
		return model.ChatStart{ConversationID: e.Conversation}
	case chat.Content:
		return model.ChatContent{Delta: e.Delta}
	case chat.Sources:
		sources := make([]*model.ChatSource, len(e.Sources))
		for i, s := range e.Sources {
			sources[i] = &model.ChatSource{ID: s.ID, Title: s.Title}
			if s.URL != "" {
				sources[i].URL = &s.URL
			}
		}
		return model.ChatSources{Sources: sources}
	case chat.FollowUp:
		return model.ChatFollowUp{Questions: append([]string{}, e.Questions...)}
	case chat.Done:
		return model.ChatDone{ConversationID: e.Conversation, Usage: &model.ChatUsage{
			PromptTokens: e.Usage.PromptTokens, CompletionTokens: e.Usage.CompletionTokens, TotalTokens: e.Usage.TotalTokens(),
		}}
	case chat.Failed:
		return model.StreamError{Code: string(e.Code), Message: e.Message}
	default:
		return model.StreamError{Code: "internal", Message: "Something went wrong on our side"}
	}
}

// nobodys refuses the zero id, which names nothing here and stands for none
// further down.
func (r *Resolver) nobodys(ctx context.Context, in model.ChatInput) error {
	if in.ConversationID != nil && *in.ConversationID == uuid.Nil {
		return apierr.NotFound("Conversation")
	}
	if in.Collection == nil || *in.Collection != uuid.Nil {
		return nil
	}
	_, err := r.searchScope(ctx, in.Collection)
	return err
}
