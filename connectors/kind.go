package connectors

import "context"

// A Kind describes one kind of connector. Name, Title, Options, Credentials and
// either New or Attach are required; a useful kind also has a Description, a
// Category and Documentation.
type Kind struct {
	// Name is the connector type on the wire: lower-case letters, digits and
	// underscores. Title and Description are for people.
	Name, Title, Description string
	// Aliases are further names that are accepted on input.
	Aliases []string
	// Category groups the kinds for people.
	Category Category
	// Documentation is the address of a page about the access that the kind needs.
	Documentation string
	// Options are the fields of config, Credentials those of credentials. Every
	// kind also has the fields of CommonOptions, which are not listed here.
	Options, Credentials []Option
	// Enumerates says that a complete walk lists every item, so that an item
	// which is missing from it was deleted at the source.
	Enumerates bool
	// ConfirmDeletions says that a walk may miss items, as a search index does. The
	// sources are a [Resolver]: an item that is missing from a walk is resolved by its
	// id, and deleted only if the source does not find it.
	ConfirmDeletions bool
	// Feeds says that the sources implement [Feeder].
	Feeds bool
	// ReportsBytes says that the sources count the content that they read, with
	// Settings.ReportBytes, because the walk reads content that becomes no item. For
	// other kinds the caller counts the content of the items.
	ReportsBytes bool
	// AcceptsFiles says that people upload the content to Magpie itself.
	AcceptsFiles bool
	// Permissions says that the sources implement [PermissionLister].
	Permissions bool
	// VerifiesAccess says that the sources implement [AccessVerifier].
	VerifiesAccess bool
	// Webhook describes how the platform notifies of changes. It is nil if the
	// platform does not.
	Webhook *Webhook
	// APIVersion is the version of the platform's API that the sources use, such as
	// "2026-03-11" or "v3". It is empty for an API without versions.
	APIVersion string
	// RateLimit is how often the platform may be asked.
	RateLimit RateLimit
	// OAuth names the provider whose grant can replace the credentials, "" for
	// none.
	OAuth string
	// CheckSettings checks what concerns more than one option, such as a field that
	// needs another. Each field is valid by itself when it is called. It returns an
	// *OptionError. It may be nil.
	CheckSettings func(s Settings) error
	// New opens a source, without network access. The New of a kind from a Registry
	// validates the settings and fills in defaults first.
	New func(ctx context.Context, s Settings) (Source, error)
	// Attach opens a database for agents in the same way. A kind with Attach has no
	// documents and no filters.
	Attach func(ctx context.Context, s Settings) (Database, error)
}

// AttachesDatabase reports whether the kind attaches databases for agents
// instead of reading documents.
func (k Kind) AttachesDatabase() bool { return k.Attach != nil }

// Subscribes reports whether the sources implement [Subscriber].
func (k Kind) Subscribes() bool { return k.Webhook != nil && k.Webhook.Subscribes }

// A RateLimit is how many requests a platform accepts. All workers and all
// connectors with the same credentials share it. The zero RateLimit is no limit.
type RateLimit struct {
	// PerMinute is the number of requests in a minute, evenly spread.
	PerMinute int
	// Burst is how many requests may be made at once. 0 means 1.
	Burst int
}

// A Category groups kinds for people.
type Category string

// The categories of kinds.
const (
	CategoryFiles         Category = "files"
	CategoryStorage       Category = "storage"
	CategoryCollaboration Category = "collaboration"
	CategoryDevelopment   Category = "development"
	CategoryCRM           Category = "crm"
	CategoryITSM          Category = "itsm"
	CategoryWeb           Category = "web"
	CategoryDatabase      Category = "database"
)

func categories() []Category {
	return []Category{
		CategoryFiles, CategoryStorage, CategoryCollaboration, CategoryDevelopment, CategoryCRM, CategoryITSM, CategoryWeb, CategoryDatabase,
	}
}
