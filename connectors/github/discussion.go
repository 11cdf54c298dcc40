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
	listDiscussions = `query($owner:String!,$name:String!,$after:String){repository(owner:$owner,name:$name){
discussions(first:100,after:$after,orderBy:{field:CREATED_AT,direction:ASC}){pageInfo{hasNextPage endCursor} nodes{` + discussionFields + `}}}}`

	discussionFields = `number title url createdAt updatedAt closed author{login} category{name} comments{totalCount}`

	lookAtDiscussion = `query($owner:String!,$name:String!,$number:Int!){repository(owner:$owner,name:$name){discussion(number:$number){` + discussionFields + `}}}`

	readDiscussion = `query($owner:String!,$name:String!,$number:Int!,$after:String){repository(owner:$owner,name:$name){discussion(number:$number){
number title url createdAt updatedAt closed author{login} category{name} body
comments(first:50,after:$after){totalCount pageInfo{hasNextPage endCursor} nodes{id body createdAt isAnswer author{login}
replies(first:50){pageInfo{hasNextPage endCursor} nodes{body createdAt author{login}}}}}}}}`

	readReplies = `query($id:ID!,$after:String){node(id:$id){... on DiscussionComment{
replies(first:100,after:$after){pageInfo{hasNextPage endCursor} nodes{body createdAt author{login}}}}}}`
)

type pageInfo struct {
	HasNextPage bool   `json:"hasNextPage"`
	EndCursor   string `json:"endCursor"`
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
		name: contentDiscussions,
		has:  func(c config, r repo) bool { return c.has(contentDiscussions) && r.HasDiscussions },
		walk: walkDiscussions, least: 100,
		check: func(ctx context.Context, s *source, r repo) error {
			if !s.config.has(contentDiscussions) || !r.HasDiscussions {
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
	var answer struct {
		Repository *struct {
			Discussions discussionList `json:"discussions"`
		} `json:"repository"`
	}
	variables := discussionVariables(r)
	if after != "" {
		variables["after"] = after
	}
	const list = "repository.discussions."
	err := s.graphql(ctx, listDiscussions, variables, &answer, list+"nodes", list+"pageInfo.hasNextPage")
	if err == nil {
		err = improper(answer.Repository.Discussions.Nodes...)
	}
	if err != nil {
		return discussionList{}, fmt.Errorf("list the discussions of %s (config.%s can leave them out): %w", r.FullName, optionContent, stopped(err, r))
	}
	return answer.Repository.Discussions, nil
}

func discussionVariables(r repo) map[string]any {
	return map[string]any{"owner": r.owner(), "name": r.FullName[len(r.owner())+1:]}
}

func walkDiscussions(ctx context.Context, s *source, r repo, p place, _ int) (step, error) {
	trail, after := splitTrail(p.rest)
	list, err := s.discussions(ctx, r, after)
	if err != nil {
		return step{}, err
	}
	out := step{more: list.PageInfo.HasNextPage}
	if out.more {
		if err := trail.Visit("GitHub", "the discussions of "+r.FullName, list.PageInfo.EndCursor); err != nil {
			return step{}, err
		}
		if list.PageInfo.EndCursor == "" || list.PageInfo.EndCursor == after {
			return step{}, restapi.LoopError("GitHub", "the discussions of "+r.FullName, list.PageInfo.EndCursor)
		}
		out.rest = joinTrail(trail, list.PageInfo.EndCursor)
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
		ID: idOf(r, kindDiscussion, number), Path: r.FullName + "#" + number, Version: d.version(), Size: -1,
		Title: d.Title + " #" + number, URL: d.URL, MediaType: "text/markdown", Author: d.Author.login(),
		CreatedAt: d.CreatedAt.UTC(), ModifiedAt: d.UpdatedAt.UTC(),
		Metadata: map[string]string{"repository": r.FullName, "kind": "discussion", "state": d.state()},
	}, true
}

// improper is an error where something among discussions is none: passed over, it
// would be taken for deleted.
func improper(all ...discussion) error {
	for _, d := range all {
		if d.Number <= 0 || d.UpdatedAt.IsZero() {
			return connectors.Retryable(errors.New("GitHub lists a discussion that cannot be; "+advice), 0)
		}
	}
	return nil
}

type discussionAnswer struct {
	Repository *struct {
		Discussion *discussion `json:"discussion"`
	} `json:"repository"`
}

func (s *source) askDiscussion(ctx context.Context, r repo, query string, number int, after string) (discussion, error) {
	variables := discussionVariables(r)
	variables["number"] = number
	if after != "" {
		variables["after"] = after
	}
	var answer discussionAnswer
	const of = "repository.discussion."
	needs := []string{of + "number", of + "comments.totalCount"}
	if query == readDiscussion {
		needs = append(needs, of+"body", of+"comments.nodes", of+"comments.pageInfo.hasNextPage")
	}
	if err := s.graphql(ctx, query, variables, &answer, needs...); err != nil {
		return discussion{}, err
	}
	if err := improper(*answer.Repository.Discussion); err != nil {
		return discussion{}, err
	}
	return *answer.Repository.Discussion, nil
}

// readDiscussion makes the document of a discussion, with comments and replies.
func (s *source) readDiscussion(ctx context.Context, r repo, number int) (version string, text []byte, err error) {
	var first discussion
	var remarks []remark
	cut := true
	after := ""
	var trail restapi.LoopDetector
	for page := range maxRemarkPages {
		d, err := s.askDiscussion(ctx, r, readDiscussion, number, after)
		if err != nil {
			return "", nil, err
		}
		if page == 0 {
			first = d
		}
		for _, c := range d.Comments.Nodes {
			word := "Comment"
			if c.IsAnswer {
				word = "Answer"
			}
			remarks = append(remarks, remark{word: word, author: c.Author.login(), at: c.CreatedAt, text: c.Body})
			more, err := s.replies(ctx, c.ID, c.Replies)
			if err != nil {
				return "", nil, err
			}
			remarks = append(remarks, more...)
		}
		after = d.Comments.PageInfo.EndCursor
		if cut = d.Comments.PageInfo.HasNextPage; !cut {
			break
		}
		if err := trail.Visit("GitHub", "the comments of a discussion", after); err != nil {
			return "", nil, err
		}
	}
	facts := []string{"Discussion in " + r.FullName, first.state(), "by @" + first.Author.login(), "opened " + first.CreatedAt.UTC().Format(time.DateOnly)}
	if first.Category != nil {
		facts = append(facts, "category: "+first.Category.Name)
	}
	return first.version(), render(first.Title, first.Number, facts, first.Body, remarks, cut), nil
}

// replies are those of a comment, the first of which are at hand.
func (s *source) replies(ctx context.Context, id string, first replies) (all []remark, err error) {
	var trail restapi.LoopDetector
	for range maxRemarkPages {
		for _, one := range first.Nodes {
			all = append(all, remark{word: "Reply", author: one.Author.login(), at: one.CreatedAt, text: one.Body, reply: true})
		}
		if !first.PageInfo.HasNextPage {
			break
		}
		var answer struct {
			Node struct {
				Replies replies `json:"replies"`
			} `json:"node"`
		}
		if err := trail.Visit("GitHub", "the replies to a comment", first.PageInfo.EndCursor); err != nil {
			return nil, err
		}
		variables := map[string]any{"id": id, "after": first.PageInfo.EndCursor}
		if err := s.graphql(ctx, readReplies, variables, &answer, "node.replies.nodes", "node.replies.pageInfo.hasNextPage"); err != nil {
			return nil, err
		}
		first = answer.Node.Replies
	}
	return all, nil
}
