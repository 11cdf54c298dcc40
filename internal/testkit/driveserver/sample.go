package driveserver

import "strings"

// The people of the sample.
const (
	SampleAdmin = "ada@example.com"
	SampleGuest = "bob@example.com"
)

// NewSample starts a server with a small organization, to try the connector without
// an account: My Drive of two people, a shared drive, a group, a shortcut, and files
// that cannot be read. It also returns the key file of a service account that may
// act for SampleAdmin.
func NewSample() (s *Server, serviceAccount string) {
	s = New()
	s.Admins = []string{SampleAdmin}
	s.AddUser(SampleAdmin)
	s.AddUser(SampleGuest)
	staff := Permission{Type: "group", Email: "staff@example.com"}
	s.AddGroup(staff.Email, Member{Email: SampleGuest}, Member{Email: SampleAdmin})
	team := s.AddDrive("Team", Permission{Type: "user", Role: "organizer", Email: SampleAdmin}, staff)
	document := func(name, parent, owner, text string, permissions ...Permission) string {
		return s.Add(File{Name: name, Parent: parent, Owner: owner, MimeType: Document, Permissions: permissions, Exports: map[string][]byte{"text/markdown": []byte(text)}})
	}
	handbook := s.Add(File{Name: "Handbook", Parent: team, MimeType: Folder})
	document("On call", handbook, "", "# On call\n\nThe rota changes on Monday. Whoever is on call keeps the telephone.\n")
	s.Add(File{Name: "rota.csv", Parent: handbook, MimeType: "text/csv", Content: []byte("week,person\n1,Ada\n2,Bob\n")})
	s.Add(File{Name: "Survey", Parent: handbook, MimeType: Form})
	salaries := s.Add(File{Name: "Salaries", Parent: team, MimeType: Folder, NoInheritance: true, Permissions: []Permission{{Type: "user", Role: "writer", Email: SampleAdmin}}})
	document("Raises", salaries, "", "# Raises\n\nOnly the administrator reads this.\n")
	document("Ideas", "", SampleAdmin, "# Ideas\n\nA garden on the roof.\n", Permission{Type: "domain", Domain: "example.com", Discoverable: true})
	notes := document("Notes", "", SampleGuest, "# Notes\n\nThe talk was about tides.\n", Permission{Type: "user", Email: SampleAdmin})
	s.Add(File{Name: "Notes of Bob", Owner: SampleAdmin, MimeType: Shortcut, Target: notes})
	s.Add(File{Name: "contract.txt", Owner: SampleAdmin, Locked: true, Content: []byte("Its owner disabled downloads.")})
	return s, s.ServiceAccount(strings.Fields(Scopes)...)
}
