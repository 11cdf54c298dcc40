package command

import (
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"github.com/google/uuid"

	"github.com/magpie-search/magpie/internal/client"
)

type auditCommand struct {
	Actor      string     `placeholder:"ID|NAME" help:"Only what this person (id or email), key (id or name) or login did."`
	Action     string     `placeholder:"ACTION" help:"Only this action, such as connector.update; connector.* for all of a kind."`
	TargetKind string     `placeholder:"KIND" help:"Only what was done to this kind of thing, such as connector."`
	Target     *uuid.UUID `placeholder:"ID" help:"Only what was done to this thing."`
	Matching   string     `placeholder:"TEXT" help:"Only entries of whose action or names this is a part."`
	Days       int        `help:"Only the last so many days; 0 for all."`
	Limit      int        `default:"50" help:"The most entries, the newest first; 0 for all."`
}

// auditRow is an entry of the audit log as commands print it.
type auditRow struct {
	ID         string     `json:"id"`
	CreatedAt  time.Time  `json:"createdAt"`
	ActorKind  string     `json:"actorKind"`
	ActorID    *string    `json:"actorId"`
	ActorName  string     `json:"actorName"`
	SessionID  *string    `json:"sessionId"`
	TokenID    *string    `json:"tokenId"`
	TokenName  string     `json:"tokenName"`
	IP         *string    `json:"ip"`
	RequestID  *string    `json:"requestId"`
	Action     string     `json:"action"`
	TargetKind string     `json:"targetKind"`
	TargetID   *string    `json:"targetId"`
	TargetName string     `json:"targetName"`
	Changes    []auditSet `json:"changes"`
}

type auditSet struct {
	Field  string `json:"field"`
	Old    any    `json:"old"`
	New    any    `json:"new"`
	Hidden bool   `json:"hidden"`
}

// String says what changed in a few words.
func (s auditSet) String() string {
	if s.Hidden {
		return s.Field
	}
	text := func(v any) string {
		if v == nil {
			return "-"
		}
		raw, err := json.Marshal(v)
		if err != nil {
			return "?"
		}
		return string(raw)
	}
	return fmt.Sprintf("%s: %s -> %s", s.Field, text(s.Old), text(s.New))
}

// Run prints entries of the audit log.
func (c auditCommand) Run(r *runtime) error {
	return r.operate(func(api *client.Client) error {
		filter := client.Variables{}
		for name, value := range map[string]string{"actor": c.Actor, "action": c.Action, "targetKind": c.TargetKind, "matching": c.Matching} {
			if value != "" {
				filter[name] = value
			}
		}
		if c.Target != nil {
			filter["targetId"] = *c.Target
		}
		if c.Days > 0 {
			filter["from"] = time.Now().AddDate(0, 0, -c.Days).Format(time.RFC3339)
		}
		rows, err := client.List[auditRow](r, api, "AuditLog", client.Variables{"filter": filter}, max(c.Limit, 0))
		if err != nil {
			return err
		}
		return r.console.Result(rows, func() {
			table := make([][]string, 0, len(rows))
			for _, e := range rows {
				who := strings.ToLower(e.ActorKind)
				if e.ActorName != "" {
					who += " " + e.ActorName
				}
				changes := make([]string, len(e.Changes))
				for i, change := range e.Changes {
					changes[i] = change.String()
				}
				what := []rune(strings.Join(changes, ", "))
				if len(what) > maxShown {
					what = append(what[:maxShown], '…')
				}
				table = append(table, []string{moment(&e.CreatedAt), who, e.Action, e.TargetName, string(what)})
			}
			r.console.Table([]string{"WHEN", "WHO", "ACTION", "TARGET", "CHANGED"}, table, "Nothing is in the audit log.")
		})
	})
}

// maxShown is how many characters of its changes a line has.
const maxShown = 100
