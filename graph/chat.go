package graph

import (
	"context"

	"github.com/google/uuid"

	"github.com/magpie-search/magpie/graph/model"
	"github.com/magpie-search/magpie/internal/apierr"
	"github.com/magpie-search/magpie/internal/chat"
	"github.com/magpie-search/magpie/internal/chat/answer"
	"github.com/magpie-search/magpie/internal/search"
	"github.com/magpie-search/magpie/internal/viewer"
)

// chat answers a question. On the dashboard the answer continues for a while after
// its reader has disconnected, and chatResume goes on reading it. Everywhere else
// the answer ends with its reader.
func (r *Resolver) chat(ctx context.Context, in model.ChatInput) (<-chan model.ChatEvent, error) {
	request := chat.Request{
		Message: in.Message, Conversation: orZero(in.ConversationID), Collection: orZero(in.Collection), Admit: r.metered,
	}
	begin := func(ctx context.Context) (<-chan chat.Event, *chatLog, error) {
		events, err := r.Chat.Stream(ctx, request)
		if err != nil {
			return nil, nil, err
		}
		return events, r.logChat(ctx, in.Message), nil
	}
	v, _ := viewer.From(ctx)
	if v.HasRole() && !isStored(ctx) {
		id := uuid.New()
		if err := r.Answers.Start(ctx, ownerOf(v), id, func(ctx context.Context) (<-chan chat.Event, error) {
			events, log, err := begin(ctx)
			if err != nil {
				return nil, err
			}
			return relay(ctx, events, log.event, log.end), nil
		}); err != nil {
			return nil, err
		}
		return r.chatResume(ctx, id, 0)
	}
	events, log, err := begin(ctx)
	if err != nil {
		return nil, err
	}
	seq := 0
	return relay(ctx, events, func(e chat.Event) model.ChatEvent {
		seq++
		return chatEvent(log.event(e), seq, nil)
	}, log.end), nil
}

// chatResume returns the events after a sequence number of an answer that the
// viewer asked for.
func (r *Resolver) chatResume(ctx context.Context, id uuid.UUID, after int) (<-chan model.ChatEvent, error) {
	v, _ := viewer.From(ctx)
	return answer.Follow(ctx, r.Answers, ownerOf(v), id, after, func(e answer.Event) model.ChatEvent {
		return chatEvent(e.Data, e.Seq, &id)
	})
}

func (r *Resolver) stopChat(ctx context.Context, id uuid.UUID) (bool, error) {
	v, _ := viewer.From(ctx)
	return r.Answers.Stop(ctx, ownerOf(v), id)
}

func ownerOf(v viewer.Viewer) answer.Owner {
	return answer.Owner{Workspace: v.Workspace, Subject: v.Subject}
}

func chatModels(c *chat.Chat) []*model.ChatModel {
	names := c.Models()
	models := make([]*model.ChatModel, len(names))
	for i, name := range names {
		models[i] = &model.ChatModel{Name: name, IsDefault: i == 0}
	}
	return models
}

func chatEvent(e chat.Event, seq int, id *uuid.UUID) model.ChatEvent {
	switch e := e.(type) {
	case chat.Start:
		return model.ChatStart{ConversationID: e.Conversation, AnswerID: id, Seq: seq}
	case chat.Content:
		return model.ChatContent{Delta: e.Delta, Seq: seq}
	case chat.Sources:
		sources := make([]*model.ChatSource, len(e.Sources))
		for i, s := range e.Sources {
			sources[i] = &model.ChatSource{ID: s.ID, Title: s.Title, URL: nilIfZero(s.URL), Passages: citedPassages(s.Passages)}
		}
		return model.ChatSources{Sources: sources, Seq: seq}
	case chat.FollowUp:
		return model.ChatFollowUp{Questions: append([]string{}, e.Questions...), Seq: seq}
	case chat.Done:
		return model.ChatDone{ConversationID: e.Conversation, Seq: seq, Usage: &model.ChatUsage{
			PromptTokens: e.Usage.PromptTokens, CompletionTokens: e.Usage.CompletionTokens, TotalTokens: e.Usage.TotalTokens(),
		}}
	case chat.Failed:
		return model.StreamError{Code: string(e.Code), Message: e.Message, RequestID: nilIfZero(e.RequestID)}
	default:
		return model.StreamError{Code: "internal", Message: "Something went wrong on our side"}
	}
}

func citedPassages(passages []chat.CitedPassage) []*model.CitedPassage {
	out := make([]*model.CitedPassage, len(passages))
	for i, p := range passages {
		out[i] = &model.CitedPassage{ID: p.ID, HeadingPath: append([]string{}, p.HeadingPath...), Excerpt: p.Excerpt}
	}
	return out
}

// refuseZeroIDs refuses the zero id, which the chat would read as "none given".
func (r *Resolver) refuseZeroIDs(ctx context.Context, in model.ChatInput) error {
	if namesNothing(in.ConversationID) {
		return apierr.NotFound("Conversation")
	}
	if namesNothing(in.Collection) {
		return searchError(ctx, search.ErrNoCollection)
	}
	return nil
}

// relay converts what in sends, until in is closed or ctx ends, and then calls
// ended.
func relay[A, B any](ctx context.Context, in <-chan A, convert func(A) B, ended func()) <-chan B {
	out := make(chan B)
	go func() {
		defer close(out)
		defer ended()
		for a := range in {
			select {
			case out <- convert(a):
			case <-ctx.Done():
				return
			}
		}
	}()
	return out
}
