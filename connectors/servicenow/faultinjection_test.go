package servicenow_test

import (
	"fmt"
	"net"
	"net/http"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/magpie-search/magpie/connectors/connectortest"
	"github.com/magpie-search/magpie/connectors/servicenow"
	. "github.com/magpie-search/magpie/internal/testkit/servicenowserver"
)

func TestFaultInjection(t *testing.T) {
	t.Parallel()
	connectortest.RunFaultInjection(t, func(t *testing.T) connectortest.FaultInjection {
		i := newInstance(t)
		_, _, role := newPeople(i)
		for n := range 2 { // pages of one holder, too
			holder := i.Add("sys_user", Row{"user_name": fmt.Sprint("holder", n), "email": fmt.Sprintf("holder%d@example.com", n), "active": "true"})
			i.Add("sys_user_has_role", Row{"user": holder, "role": role, "state": "active"})
		}
		criterion := i.Add("user_criteria", Row{"active": "true", "role": role})
		i.Add("kb_uc_can_read_mtom", Row{"kb_knowledge_base": i.base, "user_criteria": criterion})
		i.Add("kb_uc_cannot_read_mtom", Row{"kb_knowledge_base": "none", "user_criteria": criterion})
		i.Add("sys_properties", Row{"name": "glide.knowman.block_access_with_no_user_criteria", "value": "false"})
		var articles []string
		for n := range 3 {
			id := i.AddArticle(i.base, Row{"short_description": fmt.Sprint("Article ", n), "text": "<p>Some text</p>"})
			for part := range 3 { // pages of one file: the second has a next one
				i.Attach("kb_knowledge", id, fmt.Sprintf("file%d-%d.csv", n, part), "text/csv", []byte("a,b,c\n1,2,3\n"))
			}
			articles = append(articles, id)
		}
		settings := i.settings(map[string]any{"tables": []any{"kb_knowledge"}, "include_permissions": true, "includeAttachments": true})
		i.Advance(time.Hour)
		token, state := connectortest.RecordFeed(t, servicenow.Kind(new(net.Dialer).DialContext), settings)
		i.Advance(time.Hour)
		i.Remove("kb_knowledge", articles[0], true)
		i.Change("kb_knowledge", articles[1], Row{"short_description": "Changed"})
		i.Attach("kb_knowledge", articles[2], "new.csv", "text/csv", []byte("a,b,c,d\n1,2,3,4\n"))
		retired := i.AddArticle(i.base, Row{"short_description": "Draft", "workflow_state": "draft"})
		i.Change("kb_knowledge", retired, Row{"short_description": "Still a draft"})
		lists := map[string]*regexp.Regexp{
			"articles": regexp.MustCompile(`/table/kb_knowledge\?.*workflow_state.*valid_to.*ORDERBY`),
			"people":   regexp.MustCompile(`/table/sys_user\?.*ORDERBY`),
			"roles":    regexp.MustCompile(`/table/sys_user_has_role\?`),
			"files":    regexp.MustCompile(`/attachment\?`),
		}
		return connectortest.FaultInjection{
			Kind: servicenow.Kind, Settings: settings, FeedToken: token, FeedState: state,
			AbsentNames: []string{"kb_knowledge:" + strings.Repeat("0", 32), "file:" + strings.Repeat("0", 32), "kb_knowledge/KB9", "nothing"},
			PagedList: func(r *http.Request) string {
				for name, pattern := range lists {
					if pattern.MatchString(r.RequestURI) && !strings.Contains(r.RequestURI, "RELATIVEGT") && !strings.Contains(r.RequestURI, "sys_id%3D") && !strings.Contains(r.RequestURI, "number") {
						return name
					}
				}
				return ""
			},
			ShrinkPages: func(r *http.Request) {
				if query := r.URL.Query(); query.Has("sysparm_limit") {
					query.Set("sysparm_limit", "1")
					r.URL.RawQuery = query.Encode()
				}
			},
		}
	})
}
