package command

import (
	"strings"
	"time"

	"github.com/google/uuid"

	"github.com/magpie-search/magpie/internal/client"
)

type whyCommand struct {
	Document string `arg:"" help:"Id, path, title or URL of the document."`
	Mail     string `arg:"" help:"Email address of the person."`
}

// whyRow says whether somebody finds a document, and why.
type whyRow struct {
	DocumentID  uuid.UUID `json:"documentId"`
	User        string    `json:"user"`
	Visible     bool      `json:"visible"`
	Rule        string    `json:"rule"`
	Explanation string    `json:"explanation"`
	Groups      []struct {
		ID   string `json:"id"`
		Name string `json:"name"`
	} `json:"groups"`
	ReadersReadAt *time.Time `json:"readersReadAt"`
	GroupsReadAt  *time.Time `json:"groupsReadAt"`
}

// Run prints why somebody finds a document, or does not.
func (c whyCommand) Run(r *runtime) error {
	return r.operate(func(api *client.Client) error {
		id, err := documentID(r, api, c.Document)
		if err != nil {
			return err
		}
		var got struct{ Why whyRow }
		if err := api.Do(r, "WhyVisible", client.Variables{"document": id, "user": c.Mail}, &got); err != nil {
			return err
		}
		return r.console.Result(got.Why, func() {
			verdict := "does not find"
			if got.Why.Visible {
				verdict = "finds"
			}
			r.console.Printf("%s %s the document (%s).\n%s\n", got.Why.User, verdict, strings.ToLower(got.Why.Rule), got.Why.Explanation)
			r.console.Pairs([2]string{"readers read", moment(got.Why.ReadersReadAt)}, [2]string{"groups read", moment(got.Why.GroupsReadAt)})
		})
	})
}
