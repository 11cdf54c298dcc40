package salesforce_test

import (
	"net"
	"net/http"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/magpie-search/magpie/connectors/connectortest"
	"github.com/magpie-search/magpie/connectors/salesforce"
	. "github.com/magpie-search/magpie/internal/testkit/salesforceserver"
)

// newOrganizationWithLists returns an organization with every sort of list, of which an
// answer has three rows.
func newOrganizationWithLists(t *testing.T) (o *organization, accounts []string) {
	t.Helper()
	o = newOrganization(t)
	o.MaxRows = 3
	o.Define(NewObject("Project__c", "a00"))
	o.Define(NewObject("Step__c", "a01", Field{Name: "Project__c", Label: "Project", Type: "reference", ReferenceTo: []string{"Project__c"}, Relation: "Project__r", Master: true}))
	o.SetDefault("Account", "Private", "Private")
	o.SetDefault("Contact", "ControlledByParent", "ControlledByParent")
	o.SetDefault("Case", "Private", "Private")
	o.SetDefault("Step__c", "ControlledByParent", "ControlledByParent")
	top := o.AddRole("Top", "")
	ada, bob := o.AddUser("ada@acme.example", top), o.AddUser("bob@acme.example", o.AddRole("Sales", top))
	o.AddPermissionSet([]string{o.Reader, ada, bob}, "Account", "Contact", "Case", "Project__c", "Step__c", "Knowledge__kav")
	team, queue := o.AddGroup("Regular", true, bob), o.AddGroup("Queue", false, ada)
	west := o.Add("Territory2", Row{"Name": "West"})
	o.Add("UserTerritory2Association", Row{"UserId": bob, "Territory2Id": west, "IsActive": true})
	territory := o.Add("Group", Row{"Type": "Territory", "RelatedId": west, "DoesIncludeBosses": false})
	for _, name := range []string{"Acme", "Bolts", "Cogs", "Dials"} {
		accounts = append(accounts, o.Add("Account", Row{"Name": name, "Industry": "Metal", "OwnerId": ada}))
	}
	o.Share(accounts[0], team, Row{"CaseAccessLevel": "Read"})
	o.Share(accounts[0], territory, nil)
	o.Add("Contact", Row{"Name": "Ann", "AccountId": accounts[0]})
	c := o.Add("Case", Row{"Subject": "It leaks", "Status": "New", "Description": "Water\neverywhere", "AccountId": accounts[0], "OwnerId": queue})
	o.Add("CaseComment", Row{"ParentId": c, "CommentBody": "We look"})
	o.Add("EmailMessage", Row{"ParentId": c, "Subject": "Re", "TextBody": "Thanks", "FromAddress": "ann@example.com", "MessageDate": "2026-05-01T09:00:00.000+0000"})
	o.Add("Task", Row{"WhatId": accounts[0], "Subject": "Call"})
	project := o.Add("Project__c", Row{"Name": "Bridge", "OwnerId": bob})
	o.Add("Step__c", Row{"Name": "Measure", "Project__c": project})
	o.Add("Knowledge__kav", Row{"Title": "Reset", "Language": "en_US", "PublishStatus": "Online", "Answer__c": "<p>Press</p>", "KnowledgeArticleId": "kA0000000000001AAA"})
	o.AddFile("plan.txt", []byte("the plan"), accounts[0])
	return o, accounts
}

func TestFaultInjection(t *testing.T) {
	t.Parallel()
	connectortest.RunFaultInjection(t, func(t *testing.T) connectortest.FaultInjection {
		o, accounts := newOrganizationWithLists(t)
		settings := o.settings(map[string]any{
			"objects": []any{"Account", "Contact", "Case", "Knowledge__kav"}, "includeCustomObjects": true, "include_permissions": true, "includeFiles": true, "knowledgeForReaders": true,
		})
		o.Advance(time.Hour)
		token, state := connectortest.RecordFeed(t, salesforce.Kind(new(net.Dialer).DialContext), settings)
		o.Advance(time.Hour)
		o.Remove(accounts[3])
		for _, id := range accounts[:3] {
			o.Change(id, Row{"Industry": "Steel"})
		}
		o.AddFile("offer.txt", []byte("the offer"), accounts[1])
		position := regexp.MustCompile(`( WHERE| AND) Id > '[A-Za-z0-9]+'`)
		return connectortest.FaultInjection{
			Kind: salesforce.Kind, Settings: settings, FeedToken: token, FeedState: state,
			AbsentNames: []string{"Account/001000000000999AAA", "Account/Acme", "nothing"},
			PagedList: func(r *http.Request) string {
				soql := r.URL.Query().Get("q")
				if !strings.Contains(soql, " ORDER BY ") {
					return ""
				}
				return position.ReplaceAllString(soql, "")
			},
		}
	})
}
