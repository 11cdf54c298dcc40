package sample

import (
	"time"

	"github.com/magpie-search/magpie/internal/testkit/confluenceserver"
	"github.com/magpie-search/magpie/internal/testkit/driveserver"
	"github.com/magpie-search/magpie/internal/testkit/githubserver"
	"github.com/magpie-search/magpie/internal/testkit/gitlabserver"
	"github.com/magpie-search/magpie/internal/testkit/hubspotserver"
	"github.com/magpie-search/magpie/internal/testkit/jiraserver"
	"github.com/magpie-search/magpie/internal/testkit/notionserver"
	"github.com/magpie-search/magpie/internal/testkit/salesforceserver"
	"github.com/magpie-search/magpie/internal/testkit/servicenowserver"
	"github.com/magpie-search/magpie/internal/testkit/sharepointserver"
	"github.com/magpie-search/magpie/internal/testkit/slackserver"
)

// The people of the samples.
const (
	ada = "ada@example.com"
	bob = "bob@example.com"
)

func startConfluence(s *Server) {
	site := confluenceserver.NewCenter(s)
	reader := site.AddUser(confluenceserver.User{Name: "ada", Email: ada})
	other := site.AddUser(confluenceserver.User{Name: "bob", Email: bob})
	staff := site.AddGroup("staff", reader.ID, other.ID)
	site.AddSpace(confluenceserver.Space{Key: "ENG", Groups: []string{staff}})
	home := site.Add(confluenceserver.Content{Space: "ENG", Title: "Home", Body: "<h1>Rota</h1><p>Whoever is on call keeps the telephone.</p>", Labels: []string{"ops"}, Author: reader.ID})
	site.Add(confluenceserver.Content{Parent: home, Title: "Deployment", Body: "<p>A release goes out on Tuesday, after the tests.</p>"})
	site.Add(confluenceserver.Content{Parent: home, Title: "Salaries", Body: "<p>Only Ada reads this.</p>", Users: []string{reader.ID}})
	site.Add(confluenceserver.Content{Type: "attachment", Container: home, Title: "rota.csv", Data: []byte("week,person\n1,Ada\n2,Bob\n"), Media: "text/csv"})
	s.Config["instanceUrl"] = site.URL
	s.Credentials["personalAccessToken"] = reader.Token
}

func startGitHub(s *Server) {
	server := githubserver.New()
	s.Cleanup(server.Close)
	const token, repo = "github_pat_sample0123456789", "acme/handbook" //nolint:gosec // of the stand-in
	server.AddToken(token, githubserver.Token{Login: "ada", Repos: []string{"acme/*"}})
	server.AddRepo(repo, githubserver.RepoOptions{Private: true, Wiki: true, Discussions: true})
	server.Put(repo, "", "readme.md", []byte("# Handbook\n\nHow we work.\n"))
	server.Put(repo, "", "docs/backups.md", []byte("# Backups\n\nA copy is made each night and tried each Monday.\n"))
	server.OpenThread(repo, githubserver.Thread{
		Title: "Restore takes too long", Body: "It took four hours.", Comments: []githubserver.Comment{{Author: "bob", Body: "The index is built twice.", At: time.Now()}},
	})
	server.OpenThread(repo, githubserver.Thread{Title: "Build the index once", Body: "Fixes the slow restore.", Pull: true})
	server.OpenDiscussion(repo, githubserver.Discussion{Title: "Names of machines", Body: "Birds or rivers?"})
	server.PutPage(repo, "Home.md", []byte("# Welcome\n\nThis is the wiki."))
	s.Config["repos"], s.Config["apiUrl"] = []any{repo}, server.API
	s.Credentials["token"] = token
}

func startGitLab(s *Server) {
	server := gitlabserver.NewSample()
	s.Cleanup(server.Close)
	s.Config["instanceUrl"], s.Config["includeSnippets"] = server.URL, true
	s.Credentials["token"] = gitlabserver.Token
}

func startDrive(s *Server) {
	server, account := driveserver.NewSample()
	s.Cleanup(server.Close)
	s.Config["apiUrl"], s.Config["include_permissions"], s.Config["users"] = server.URL, true, []any{driveserver.SampleAdmin, "*"}
	s.Credentials["serviceAccountJson"], s.Credentials["adminEmail"] = account, driveserver.SampleAdmin
}

func startHubSpot(s *Server) {
	server := hubspotserver.New()
	s.Cleanup(server.Close)
	server.AddSample()
	s.Config["apiUrl"] = server.URL
	s.Credentials["accessToken"] = server.Token
}

func startJira(s *Server) {
	site := jiraserver.NewCenter()
	s.Cleanup(site.Close)
	reader := site.AddUser(jiraserver.User{Name: "ada", Display: "Ada Lovelace", Email: ada})
	site.AddProject(jiraserver.Project{Key: "OPS", Lead: reader.ID, Browse: []jiraserver.Holder{{Type: "user", Parameter: reader.ID}}})
	site.Add(jiraserver.Issue{Project: "OPS", Summary: "Restore takes too long"})
	site.Add(jiraserver.Issue{Project: "OPS", Summary: "The telephone of the rota is lost"})
	s.Config["instanceUrl"] = site.URL
	s.Credentials["personalAccessToken"] = reader.Token
}

func startNotion(s *Server) {
	server := notionserver.New()
	s.Cleanup(server.Close)
	home := server.Add(notionserver.Page{Title: "Handbook", Text: "How we work."})
	server.Add(notionserver.Page{Title: "Holidays", Parent: home, Text: "Everybody has 30 days a year. Ask two weeks before."})
	s.Config["apiUrl"] = server.URL
	s.Credentials["integrationToken"] = server.Token
}

func startSalesforce(s *Server) {
	server := salesforceserver.NewSample(ada)
	s.Cleanup(server.Close)
	s.Config["instanceUrl"], s.Config["includeFiles"] = server.URL, true
	s.Credentials["clientId"], s.Credentials["clientSecret"] = salesforceserver.ClientID, salesforceserver.ClientSecret
}

func startServiceNow(s *Server) {
	server := servicenowserver.New()
	s.Cleanup(server.Close)
	server.AddSample()
	s.Config["instanceUrl"], s.Config["includeAttachments"] = server.URL, true
	s.Credentials["username"], s.Credentials["password"] = server.User, server.Password
}

func startSharePoint(s *Server) {
	server := sharepointserver.NewSample()
	s.Cleanup(server.Close)
	s.Config["graphUrl"], s.Config["authUrl"] = server.URL, server.URL
	s.Config["include_permissions"], s.Config["includePersonalSites"] = true, true
	s.Credentials["tenantId"], s.Credentials["clientId"] = sharepointserver.Tenant, sharepointserver.SampleClientID
	s.Credentials["clientSecret"] = sharepointserver.SampleSecret
}

func startSlack(s *Server) {
	w := slackserver.New(s)
	person := w.AddUser(slackserver.User{Name: "ada", RealName: "Ada Lovelace", Email: ada})
	general := w.AddChannel(slackserver.Channel{Name: "general", Members: []string{w.BotUser, person}})
	w.SetClock(time.Now().AddDate(0, 0, -3).Truncate(24 * time.Hour))
	root := w.Post(general, slackserver.Message{User: person, Text: "Where is the telephone of the rota?"})
	w.Post(general, slackserver.Message{User: person, Text: "In the drawer of the kitchen.", Thread: root})
	s.Config["apiUrl"], s.Config["include_permissions"] = w.API(), true
	s.Credentials["botToken"] = w.Token(slackserver.AllScopes)
}
