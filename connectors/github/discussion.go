package github

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"time"

	"github.com/magpie-search/magpie/connectors"
	"github.com/magpie-search/magpie/connectors/restapi"
)

const (
	listDiscussionsQuery = `query($owner:String!,$name:String!,$after:String){repository(owner:$owner,name:$name){
discussions(first:100,after:$after,orderBy:{field:CREATED_AT,direction:ASC}){pageInfo{hasNextPage endCursor} nodes{` + discussionFields + `}}}}`

	discussionFields = `number title url createdAt updatedAt closed author{login} category{name} comments{totalCount}`

	discussionQuery = `query($owner:String!,$name:String!,$number:Int!){repository(owner:$owner,name:$name){discussion(number:$number){` + discussionFields + `}}}`

	discussionCommentsQuery = `query($owner:String!,$name:String!,$number:Int!,$after:String){repository(owner:$owner,name:$name){discussion(number:$number){
number title url createdAt updatedAt closed author{login} category{name} body
comments(first:50,after:$after){totalCount pageInfo{hasNextPage endCursor} nodes{id body createdAt isAnswer author{login}
replies(first:50){pageInfo{hasNextPage endCursor} nodes{body createdAt author{login}}}}}}}}`

	repliesQuery = `query($id:ID!,$after:String){node(id:$id){... on DiscussionComment{
replies(first:100,after:$after){pageInfo{hasNextPage endCursor} nodes{body createdAt author{login}}}}}}`
)

type pageInfo struct {
	HasNextPage bool   `json:"hasNextPage"`
	EndCursor   string `json:"endCursor"`
}

// next returns the cursor of the next page, "" for none.
func (p pageInfo) next() (string, error) {
	if p.HasNextPage && p.EndCursor == "" {
		return "", connectors.Retryable(errors.New("GitHub names a next page without a cursor"), 0)
	}
	if !p.HasNextPage {
		return "", nil
	}
	return p.EndCursor, nil
}

type reply struct {
	Body      string    `json:"body"`
	CreatedAt time.Time `json:"createdAt"`
	Author    *account  `json:"author"`
}

type replies struct {
	PageInfo pageInfo `json:"pageInfo"`
	Nodes    []reply  `json:"nodes"`
}

type discussion struct {
	Number    int       `json:"number"`
	Title     string    `json:"title"`
	URL       string    `json:"url"`
	CreatedAt time.Time `json:"createdAt"`
	UpdatedAt time.Time `json:"updatedAt"`
	Closed    bool      `json:"closed"`
	Author    *account  `json:"author"`
	Category  *struct {
		Name string `json:"name"`
	} `json:"category"`
	Body     string `json:"body"`
	Comments struct {
		TotalCount int      `json:"totalCount"`
		PageInfo   pageInfo `json:"pageInfo"`
		Nodes      []struct {
			reply
			ID       string  `json:"id"`
			IsAnswer bool    `json:"isAnswer"`
			Replies  replies `json:"replies"`
		} `json:"nodes"`
	} `json:"comments"`
}

func (d discussion) version() string {
	return d.UpdatedAt.UTC().Format(time.RFC3339) + "/" + strconv.Itoa(d.Comments.TotalCount)
}

func (d discussion) state() string {
	if d.Closed {
		return "closed"
	}
	return "open"
}

func discussionStage() stage {
	return stage{
		name:    contentDiscussions,
		applies: func(c config, r repo) bool { return c.hasContent(contentDiscussions) && r.HasDiscussions },
		walk:    walkDiscussions, minRoom: 100,
		check: func(ctx context.Context, s *source, r repo) error {
			if !s.config.hasContent(contentDiscussions) || !r.HasDiscussions {
				return nil
			}
			_, err := s.discussions(ctx, r, "")
			return err
		},
	}
}

type discussionList struct {
	PageInfo pageInfo     `json:"pageInfo"`
	Nodes    []discussion `json:"nodes"`
}

func (s *source) discussions(ctx context.Context, r repo, after string) (discussionList, error) {
	var result struct {
		Repository *struct {
			Discussions discussionList `json:"discussions"`
		} `json:"repository"`
	}
	variables := discussionVariables(r)
	if after != "" {
		variables["after"] = after
	}
	const list = "repository.discussions."
	err := s.graphql(ctx, listDiscussionsQuery, variables, &result, list+"nodes", list+"pageInfo.hasNextPage")
	if err == nil {
		err = checkDiscussions(result.Repository.Discussions.Nodes...)
	}
	if err != nil {
		return discussionList{}, fmt.Errorf("list the discussions of %s (config.%s can leave them out): %w", r.FullName, optionContent, missingIsFatal(err, r))
	}
	return result.Repository.Discussions, nil
}

func discussionVariables(r repo) map[string]any {
	return map[string]any{"owner": r.owner(), "name": r.FullName[len(r.owner())+1:]}
}

func walkDiscussions(ctx context.Context, s *source, r repo, p position, _ int) (stepResult, error) {
	loop, after := splitLoop(p.offset)
	list, err := s.discussions(ctx, r, after)
	if err != nil {
		return stepResult{}, err
	}
	next, err := list.PageInfo.next()
	if err != nil {
		return stepResult{}, err
	}
	out := stepResult{more: next != ""}
	if out.more {
		if err := loop.Visit("GitHub", "the discussions of "+r.FullName, next); err != nil {
			return stepResult{}, err
		}
		out.offset = joinLoop(loop, next)
	}
	for _, d := range list.Nodes {
		if item, ok := s.discussionItem(r, d); ok {
			out.items = append(out.items, item)
		}
	}
	return out, nil
}

func (s *source) discussionItem(r repo, d discussion) (connectors.Item, bool) {
	if d.Number <= 0 || d.Closed && !s.config.closed || d.UpdatedAt.Before(s.config.since) {
		return connectors.Item{}, false
	}
	number := strconv.Itoa(d.Number)
	return connectors.Item{
		ID: itemID(r, kindDiscussion, number), Path: r.FullName + "#" + number, Version: d.version(), Size: -1,
		Title: d.Title + " #" + number, URL: d.URL, MediaType: "text/markdown", Author: d.Author.login(),
		CreatedAt: d.CreatedAt.UTC(), ModifiedAt: d.UpdatedAt.UTC(),
		Metadata: map[string]string{"repository": r.FullName, "kind": "discussion", "state": d.state()},
	}, true
}

// checkDiscussions returns an error if a discussion is invalid. If it were
// ignored, its document would be deleted.
func checkDiscussions(all ...discussion) error {
	for _, d := range all {
		if d.Number <= 0 || d.UpdatedAt.IsZero() {
			return connectors.Retryable(errors.New("GitHub lists a discussion that cannot be; "+checkAdvice), 0)
		}
	}
	return nil
}

type discussionResult struct {
	Repository *struct {
		Discussion *discussion `json:"discussion"`
	} `json:"repository"`
}

func (s *source) getDiscussion(ctx context.Context, r repo, query string, number int, after string) (discussion, error) {
	variables := discussionVariables(r)
	variables["number"] = number
	if after != "" {
		variables["after"] = after
	}
	var result discussionResult
	const prefix = "repository.discussion."
	required := []string{prefix + "number", prefix + "comments.totalCount"}
	if query == discussionCommentsQuery {
		required = append(required, prefix+"body", prefix+"comments.nodes", prefix+"comments.pageInfo.hasNextPage")
	}
	if err := s.graphql(ctx, query, variables, &result, required...); err != nil {
		return discussion{}, err
	}
	if err := checkDiscussions(*result.Repository.Discussion); err != nil {
		return discussion{}, err
	}
	return *result.Repository.Discussion, nil
}

// readDiscussion returns the document of a discussion, with comments and replies.
func (s *source) readDiscussion(ctx context.Context, r repo, number int) (version string, text []byte, err error) {
	var first discussion
	var comments []comment
	complete, err := restapi.Pages("GitHub", "the comments of a discussion", maxCommentPages, func(after string) (next string, err error) {
		d, err := s.getDiscussion(ctx, r, discussionCommentsQuery, number, after)
		if err != nil {
			return "", err
		}
		if after == "" {
			first = d
		}
		for _, c := range d.Comments.Nodes {
			label := "Comment"
			if c.IsAnswer {
				label = "Answer"
			}
			comments = append(comments, comment{label: label, author: c.Author.login(), at: c.CreatedAt, text: c.Body})
			replies, err := s.readReplies(ctx, c.ID, c.Replies)
			if err != nil {
				return "", err
			}
			comments = append(comments, replies...)
		}
		return d.Comments.PageInfo.next()
	})
	if err != nil {
		return "", nil, err
	}
	facts := []string{"Discussion in " + r.FullName, first.state(), "by @" + first.Author.login(), "opened " + first.CreatedAt.UTC().Format(time.DateOnly)}
	if first.Category != nil {
		facts = append(facts, "category: "+first.Category.Name)
	}
	return first.version(), renderConversation(first.Title, first.Number, facts, first.Body, comments, !complete), nil
}

// readReplies returns the replies to a comment. first are those that came with the
// comment.
func (s *source) readReplies(ctx context.Context, id string, first replies) (comments []comment, err error) {
	_, err = restapi.Pages("GitHub", "the replies to a comment", maxCommentPages, func(after string) (next string, err error) {
		page := first
		if after != "" {
			var result struct {
				Node struct {
					Replies replies `json:"replies"`
				} `json:"node"`
			}
			variables := map[string]any{"id": id, "after": after}
			if err := s.graphql(ctx, repliesQuery, variables, &result, "node.replies.nodes", "node.replies.pageInfo.hasNextPage"); err != nil {
				return "", err
			}
			page = result.Node.Replies
		}
		for _, r := range page.Nodes {
			comments = append(comments, comment{label: "Reply", author: r.Author.login(), at: r.CreatedAt, text: r.Body, isReply: true})
		}
		return page.PageInfo.next()
	})
	return comments, err
}
