package salesforceserver

// NewSample starts an organization with some records, of which one person is the owner.
func NewSample(email string) *Server {
	s := New()
	owner := s.AddUser(email, "")
	s.AddPermissionSet([]string{s.Reader, owner}, "Account", "Contact", "Opportunity", "Lead", "Case", "Knowledge__kav")
	acme := s.Add("Account", Row{"Name": "Acme Bridges", "Industry": "Construction", "Description": "Builds bridges over cold rivers.", "OwnerId": owner})
	s.Add("Contact", Row{"Name": "Grace Hopper", "Title": "Head of engineering", "AccountId": acme, "OwnerId": owner})
	s.Add("Opportunity", Row{"Name": "Spare bolts for 2027", "StageName": "Negotiation", "AccountId": acme, "OwnerId": owner})
	c := s.Add("Case", Row{"Subject": "Bolts rust after a week", "Status": "Working", "Description": "The bolts of the last delivery rust.\nWe need others.", "AccountId": acme, "OwnerId": owner})
	s.Add("CaseComment", Row{"ParentId": c, "CommentBody": "The coating was left out. New bolts are on their way."})
	s.Add("Task", Row{"WhatId": c, "Subject": "Call Grace", "Status": "Open", "OwnerId": owner})
	s.AddFile("Delivery note.txt", []byte("400 bolts, uncoated"), c)
	s.Add("Knowledge__kav", Row{
		"Title": "How bolts are coated", "Language": "en_US", "PublishStatus": "Online", "KnowledgeArticleId": newID("kA0", 1), "Answer__c": "<p>Coat bolts <b>twice</b> before they are sent.</p>",
	})
	return s
}
