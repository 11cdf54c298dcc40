package command

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/google/uuid"
)

type keysCommand struct {
	List   keysList   `cmd:"" default:"1" help:"List the API keys."`
	Create keysCreate `cmd:"" help:"Make a pair of keys; they are shown once."`
	Revoke keysRevoke `cmd:"" help:"End a pair of keys."`
}

type keysList struct{}

// Run lists the keys.
func (keysList) Run(r *runtime) error {
	return r.operate(func(s *session) error {
		rows, err := every[keyRow](r, s, "ListKeys", nil, 0)
		if err != nil {
			return err
		}
		return r.console.Result(rows, func() {
			table := make([][]string, 0, len(rows))
			for _, row := range rows {
				reach := fmt.Sprintf("%d collections", len(row.AllowedCollections))
				if row.AllCollections {
					reach = "all collections"
				}
				state := "valid"
				switch {
				case row.RevokedAt != nil:
					state = "revoked"
				case row.ExpiresAt != nil && row.ExpiresAt.Before(time.Now()):
					state = "expired"
				}
				table = append(table, []string{row.ID.String(), row.Name, row.PublishableHint + "… " + row.SecretHint + "…", reach,
					strings.Join(row.AllowedHosts, " "), state, moment(row.LastUsedAt)})
			}
			r.console.Table([]string{"ID", "NAME", "KEYS", "REACH", "HOSTS", "STATE", "LAST USED"}, table, "There is no API key yet.")
		})
	})
}

type keysCreate struct {
	Name             string        `required:"" help:"Name of the pair."`
	Host             []string      `required:"" help:"Host from which the publishable key works: example.com, *.example.com, or * for any."`
	Referer          []string      `help:"Address under which pages may use the publishable key: https://example.com/docs."`
	Collection       []string      `help:"Collection that the keys reach (id or name)."`
	AllCollections   bool          `help:"Let the keys reach every collection."`
	Default          string        `help:"Collection that is searched when a request names none (id or name)."`
	RequireSignature bool          `help:"Refuse requests of the secret key that are not signed."`
	RatePerMinute    int           `default:"-1" help:"Requests a minute; 0 for no limit; the server's setting when left out."`
	Expires          time.Duration `help:"Time until the keys end, for example 2160h."`
	Model            string        `help:"Chat model for this key."`
	Context          string        `help:"What the chat model is told about the site that uses this key."`
}

// Run makes the pair of keys.
func (c keysCreate) Run(r *runtime) error {
	return r.operate(func(s *session) error {
		if c.AllCollections == (len(c.Collection) > 0) {
			return errors.New("give --collection, or --all-collections")
		}
		input := variables{"name": c.Name, "allowedHosts": c.Host, "allowAllCollections": c.AllCollections, "requireSignature": c.RequireSignature}
		reach := make([]uuid.UUID, 0, len(c.Collection))
		for _, wanted := range c.Collection {
			id, err := collectionID(r, s, wanted)
			if err != nil {
				return err
			}
			reach = append(reach, id)
		}
		input["allowedCollections"] = reach
		if c.Default != "" {
			id, err := collectionID(r, s, c.Default)
			if err != nil {
				return err
			}
			input["defaultCollection"] = id
		}
		if len(c.Referer) > 0 {
			input["allowedReferers"] = c.Referer
		}
		if c.RatePerMinute >= 0 {
			input["rateLimitPerMinute"] = c.RatePerMinute
		}
		if c.Expires > 0 {
			input["expiresAt"] = time.Now().Add(c.Expires).UTC().Format(time.RFC3339)
		}
		optional(input, "widgetModelId", c.Model)
		optional(input, "widgetContext", c.Context)
		created, err := createKey(r, s, input)
		if err != nil {
			return err
		}
		return r.console.Result(created, func() {
			r.console.Pairs([2]string{"id", created.APIKey.ID.String()}, [2]string{"publishable key", created.PublishableKey},
				[2]string{"secret key", created.SecretKey})
			r.console.Note("The keys are shown this once.")
		})
	})
}

type createdKey struct {
	PublishableKey string `json:"publishableKey"`
	SecretKey      string `json:"secretKey"`
	APIKey         keyRow `json:"apiKey"`
}

func createKey(ctx context.Context, s *session, input variables) (createdKey, error) {
	var answer struct {
		Created createdKey `json:"created"`
	}
	err := s.do(ctx, "CreateKey", variables{"input": input}, &answer)
	return answer.Created, err
}

type keysRevoke struct {
	ID uuid.UUID `arg:"" help:"Id of the pair."`
}

// Run ends the pair of keys.
func (c keysRevoke) Run(r *runtime) error {
	return r.operate(func(s *session) error {
		var answer struct {
			Key keyRow `json:"key"`
		}
		if err := s.do(r, "RevokeKey", variables{"id": c.ID}, &answer); err != nil {
			return err
		}
		return r.console.Result(answer.Key, func() { r.console.Note("Revoked %s.", answer.Key.Name) })
	})
}
