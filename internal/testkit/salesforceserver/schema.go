package salesforceserver

import (
	"slices"
	"strings"
)

// A Field describes a field of an object.
type Field struct {
	Name, Label, Type string
	// ReferenceTo are the objects that a reference leads to, Relation the name of the
	// relationship.
	ReferenceTo []string
	Relation    string
	// Master says that the field is a master-detail relationship.
	Master bool
	// Restricted says that the field has field-level security.
	Restricted bool
	HTML       bool
	Values     []string // of a picklist
}

// An Object describes an object.
type Object struct {
	Name, Label, Prefix string
	NameField           string
	Fields              []Field
	// Internal and External are the organization-wide defaults; "" for an object without
	// sharing.
	Internal, External string
	// Hierarchy says that access is granted by the role hierarchy.
	Hierarchy bool
	// SharedBy is the field of the share object with the record's id.
	SharedBy string
	// Hidden objects are not shown to the account.
	Hidden bool
	// Replicates says that the log of deleted records has those of the object.
	Replicates bool
}

func (o *Object) field(name string) *Field {
	i := slices.IndexFunc(o.Fields, func(f Field) bool { return strings.EqualFold(f.Name, name) })
	if i < 0 {
		return nil
	}
	return &o.Fields[i]
}

// ShareName returns the name of the object with the shares.
func (o *Object) ShareName() string {
	if custom, found := strings.CutSuffix(o.Name, "__c"); found {
		return custom + "__Share"
	}
	return o.Name + "Share"
}

func fields(kind string, names ...string) []Field {
	var made []Field
	for _, name := range names {
		made = append(made, Field{Name: name, Label: spaced(name), Type: kind})
	}
	return made
}

// spaced returns a name with a space before each capital.
func spaced(name string) string {
	var b strings.Builder
	for i, r := range strings.TrimSuffix(name, "__c") {
		if i > 0 && r >= 'A' && r <= 'Z' {
			b.WriteByte(' ')
		}
		b.WriteRune(r)
	}
	return b.String()
}

func reference(name string, to ...string) Field {
	relation, custom := strings.CutSuffix(name, "__c")
	if custom {
		relation += "__r"
	} else {
		relation = strings.TrimSuffix(name, "Id")
	}
	return Field{Name: name, Label: spaced(strings.TrimSuffix(name, "Id")), Type: "reference", ReferenceTo: to, Relation: relation}
}

// common are the fields of all objects.
func common() []Field {
	return slices.Concat([]Field{{Name: "Id", Label: "Record ID", Type: "id"}}, fields("datetime", "CreatedDate", "LastModifiedDate", "SystemModstamp"),
		fields("boolean", "IsDeleted"), []Field{reference("CreatedById", "User")})
}

func owned() []Field { return []Field{reference("OwnerId", "User", "Group")} }

func restricted(list []Field) []Field {
	for i := range list {
		list[i].Restricted = true
	}
	return list
}

// NewObject returns the description of a custom object with fields. It is private.
func NewObject(name, prefix string, more ...Field) Object {
	return Object{
		Name: name, Label: spaced(name), Prefix: prefix, NameField: "Name", Internal: "Private", External: "Private", SharedBy: "ParentId", Replicates: true,
		Fields: slices.Concat(common(), fields("string", "Name"), owned(), more),
	}
}

// standardObjects are the objects of a new organization.
func standardObjects() []Object {
	record := func(name, prefix, nameField string, lists ...[]Field) Object {
		return Object{
			Name: name, Label: spaced(name), Prefix: prefix, NameField: nameField, Internal: "ReadWrite", External: "Private", Hierarchy: true, SharedBy: name + "Id", Replicates: true,
			Fields: slices.Concat(append([][]Field{common(), owned()}, lists...)...),
		}
	}
	plain := func(name, prefix string, lists ...[]Field) Object {
		return Object{Name: name, Label: spaced(name), Prefix: prefix, Replicates: true, Fields: slices.Concat(append([][]Field{common()}, lists...)...)}
	}
	account := []Field{reference("AccountId", "Account")}
	article := []Field{
		{Name: "Title", Label: "Title", Type: "string"}, {Name: "Answer__c", Label: "Answer", Type: "textarea", HTML: true, Restricted: true},
		{Name: "Language", Label: "Language", Type: "picklist", Values: []string{"en_US", "de", "fr"}},
		{Name: "PublishStatus", Label: "Publication Status", Type: "picklist", Values: []string{"Draft", "Online", "Archived"}},
		reference("KnowledgeArticleId", "Knowledge__ka"),
	}
	mail := []Field{reference("ParentId", "Case"), reference("RelatedToId", "Account", "Opportunity", "Case")}
	task := []Field{reference("WhatId", "Account", "Opportunity", "Case"), reference("WhoId", "Contact", "Lead")}
	objects := []Object{
		record("Account", "001", "Name", fields("string", "Name"), restricted(fields("string", "Industry", "Site")), restricted(fields("phone", "Phone")), restricted(fields("textarea", "Description"))),
		record("Contact", "003", "Name", fields("string", "Name"), restricted(fields("email", "Email")), restricted(fields("string", "Title")), restricted(fields("textarea", "Description")), account),
		record("Opportunity", "006", "Name", fields("string", "Name", "StageName"), restricted(fields("currency", "Amount")), restricted(fields("textarea", "Description")), account),
		record("Lead", "00Q", "Name", fields("string", "Name", "Company"), fields("picklist", "Status"), restricted(fields("textarea", "Description"))),
		record("Case", "500", "CaseNumber", fields("string", "CaseNumber"), restricted(fields("string", "Subject")), fields("picklist", "Status"), restricted(fields("textarea", "Description")), account),
		{
			Name: "Knowledge__kav", Label: "Knowledge", Prefix: "ka0", NameField: "Title", Internal: "ReadWrite", External: "Private",
			Fields: slices.Concat(common(), owned(), article, fields("datetime", "LastPublishedDate"), fields("string", "UrlName")),
		},
		plain("CaseComment", "00a", []Field{reference("ParentId", "Case")}, fields("textarea", "CommentBody"), fields("boolean", "IsPublished")),
		plain("EmailMessage", "02s", mail, fields("string", "Subject", "FromAddress", "FromName", "ToAddress"), fields("textarea", "TextBody", "HtmlBody"), fields("datetime", "MessageDate"), fields("boolean", "IsExternallyVisible")),
		plain("Task", "00T", task, owned(), fields("string", "Subject"), fields("textarea", "Description"), fields("picklist", "Status"), fields("date", "ActivityDate"), fields("boolean", "IsVisibleInSelfService")),
		plain("ContentDocument", "069", owned(), fields("string", "Title", "FileExtension", "FileType"), fields("int", "ContentSize"), []Field{reference("LatestPublishedVersionId", "ContentVersion")}, fields("datetime", "ContentModifiedDate")),
		plain("ContentVersion", "068", []Field{reference("ContentDocumentId", "ContentDocument")}, fields("boolean", "IsLatest")),
		plain("ContentDocumentLink", "06A", []Field{reference("ContentDocumentId", "ContentDocument"), reference("LinkedEntityId", "Account", "Contact", "Opportunity", "Lead", "Case")}, fields("picklist", "ShareType", "Visibility")),
		plain("User", "005", fields("string", "Name", "Username"), fields("email", "Email"), fields("boolean", "IsActive"), fields("picklist", "UserType"), []Field{reference("UserRoleId", "UserRole"), reference("ManagerId", "User")}),
		plain("UserRole", "00E", fields("string", "Name"), []Field{reference("ParentRoleId", "UserRole")}, fields("picklist", "PortalType")),
		plain("Group", "00G", fields("string", "Name"), fields("picklist", "Type"), []Field{reference("RelatedId", "UserRole", "Territory2", "User")}, fields("boolean", "DoesIncludeBosses")),
		plain("GroupMember", "011", []Field{reference("GroupId", "Group"), reference("UserOrGroupId", "User", "Group")}),
		plain("PermissionSet", "0PS", fields("string", "Name"), fields("boolean", "PermissionsViewAllData", "HasActivationRequired")),
		plain("PermissionSetAssignment", "0Pa", []Field{reference("AssigneeId", "User"), reference("PermissionSetId", "PermissionSet")}),
		plain("ObjectPermissions", "110", []Field{reference("ParentId", "PermissionSet")}, fields("picklist", "SobjectType"), fields("boolean", "PermissionsRead", "PermissionsViewAllRecords")),
		plain("FieldPermissions", "01k", []Field{reference("ParentId", "PermissionSet")}, fields("picklist", "SobjectType", "Field"), fields("boolean", "PermissionsRead")),
		plain("Territory2", "0MI", fields("string", "Name"), []Field{reference("ParentTerritory2Id", "Territory2")}),
		plain("UserTerritory2Association", "0MX", []Field{reference("UserId", "User"), reference("Territory2Id", "Territory2")}, fields("boolean", "IsActive")),
		plain("Organization", "00D", fields("string", "Name"), fields("picklist", "DefaultAccountAccess", "DefaultContactAccess", "DefaultOpportunityAccess", "DefaultLeadAccess", "DefaultCaseAccess")),
	}
	return objects
}
