package slack_test

import (
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/magpie-search/magpie/connectors/connectortest"
	"github.com/magpie-search/magpie/connectors/slack"
	"github.com/magpie-search/magpie/internal/testkit/slackserver"
)

// newLargeWorkspace returns a workspace in which every list has three entries.
func newLargeWorkspace(t *testing.T) *slackserver.Server {
	t.Helper()
	world := slackserver.New(t)
	var users []string
	for n := range 3 {
		users = append(users, world.AddUser(slackserver.User{Name: fmt.Sprintf("user%d", n), RealName: fmt.Sprintf("User %d", n), Email: fmt.Sprintf("user%d@example.com", n)}))
	}
	general := world.AddChannel(slackserver.Channel{Name: "general", Members: append([]string{world.BotUser}, users...)})
	world.AddChannel(slackserver.Channel{Name: "elsewhere", Members: users})
	world.AddChannel(slackserver.Channel{Name: "quiet", Members: []string{world.BotUser}})
	root := world.Post(general, slackserver.Message{User: users[0], Text: "How do we deploy?"})
	for n := range 3 {
		world.Post(general, slackserver.Message{User: users[n], Thread: root, Text: fmt.Sprintf("Reply %d", n)})
		world.Share(general, slackserver.File{Name: fmt.Sprintf("file%d.md", n), MediaType: "text/markdown", User: users[n], Content: []byte(fmt.Sprintf("# File %d, and some more of it", n))})
	}
	world.SetClock(time.Date(2024, 5, 3, 9, 0, 0, 0, time.UTC))
	world.Post(general, slackserver.Message{User: "U0404040", Text: "from elsewhere"})
	world.Share(general, slackserver.File{Name: "page.html", MediaType: "text/html", User: users[0], Content: []byte("<html><body><p>a page of its own</p></body></html>")})
	return world
}

func TestFaultInjection(t *testing.T) {
	t.Parallel()
	connectortest.RunFaultInjection(t, func(t *testing.T) connectortest.FaultInjection {
		world := newLargeWorkspace(t)
		return connectortest.FaultInjection{
			Kind: slack.Kind, Dial: world.Dial,
			Settings:    settings(world, map[string]any{"include_permissions": true}),
			AbsentNames: []string{"F404404", "#elsewhere/2024-05-01"}, ShrinkPages: connectortest.OneItemPages,
			PagedList: func(r *http.Request) string {
				if r.ParseForm() != nil {
					return ""
				}
				method := strings.TrimPrefix(r.URL.Path, "/api/")
				switch method {
				case "conversations.history", "conversations.members":
					if r.Form.Get("limit") == "1" { // Check requests one message
						return ""
					}
					return method + " of " + r.Form.Get("channel")
				case "conversations.list", "users.list", "conversations.replies", "files.list":
				default:
					return ""
				}
				return method
			},
		}
	})
}
