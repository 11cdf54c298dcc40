package sharepointserver

// The credentials of the app of [NewSample].
const (
	SampleClientID = "66666666-7777-8888-9999-000000000000"
	SampleSecret   = "sample-secret-of-the-fake-organisation"
)

// NewSample starts an organisation with some content: two sites with libraries,
// pages and a list, a OneDrive, and files that not everybody may read. Every right is
// granted to its app. Connect it with the Tenant, SampleClientID and SampleSecret,
// and its URL as graphUrl and authUrl.
func NewSample() *Server {
	s := New()
	s.AddApp(App{ClientID: SampleClientID, Secret: SampleSecret, Rights: map[string]bool{
		"Sites.Read.All": true, "Sites.FullControl.All": true, "GroupMember.Read.All": true, "User.Read.All": true,
	}})
	ada := s.AddUser(User{DisplayName: "Ada Lovelace", Mail: "ada@acme.example"})
	grace := s.AddUser(User{DisplayName: "Grace Hopper", Mail: "grace@acme.example"})
	guest := s.AddUser(User{DisplayName: "A guest", Mail: "guest@partner.example", UPN: "guest_partner.example#EXT#@acme.onmicrosoft.example"})
	board := s.AddGroup("Board", ada.ID)
	staff := s.AddGroup("Staff", grace.ID, board.ID)

	handbook, documents := s.AddSite("sites/handbook", "Handbook")
	s.ShareDrive(documents, ToGroup(staff))
	s.Put(documents, "Holidays.md", []byte("# Holidays\n\nEverybody has 30 days of holidays a year. Ask for them two weeks before.\n"))
	s.Put(documents, "Travel/Expenses.md", []byte("# Expenses\n\nKeep the receipts. A hotel may cost 150 a night, 220 in capitals.\n"))
	s.Put(documents, "Travel/Rates.csv", []byte("country,per day\nNorway,97\nPortugal,70\n"))
	s.Put(documents, "Board/Salaries.md", []byte("# Salaries\n\nThe salaries rise by 3 percent in March.\n"))
	s.Share(documents, "Board", ToGroup(board))
	s.Put(documents, "For partners.md", []byte("# For partners\n\nThe price list holds until the end of the year.\n"))
	s.Share(documents, "For partners.md", ToGroup(staff), ToUser(guest), ToLink("organization"))
	s.PutPage(handbook, Page{Name: "Home.aspx", Title: "Welcome to the handbook", Text: "<p>Here is what you need on your first day: a laptop, a badge and <strong>patience</strong>.</p>"})
	s.SharePage(handbook, "Home.aspx", ToClaim("c:0-.f|rolemanager|spo-grid-all-users/"+Tenant))
	risks := s.AddList(handbook, "Risks", "genericList")
	s.PutEntry(risks, "", map[string]any{"Title": "The only key is lost", "Owner": "Ada", "Level": 3})

	_, plans := s.AddSite("sites/engineering", "Engineering")
	s.ShareDrive(plans, ToUser(grace))
	s.Put(plans, "Plans/Compiler.md", []byte("# Compiler\n\nThe new compiler reads words instead of numbers.\n"))
	s.Put(s.AddOneDrive(ada), "Notes.md", []byte("# Notes\n\nThe engine weaves algebraic patterns.\n"))
	return s
}
