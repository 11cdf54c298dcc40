package connectors

const permissions = "Permissions" // the heading of their options

const (
	filtersField        = "filters"
	permissionsField    = "include_permissions"
	permissionModeField = "permission_mode"
	// SubscriptionField is the field of config that asks the platform for webhooks.
	SubscriptionField = "webhook_subscription"
	thresholdField    = "deletion_threshold"
)

// MaxDeletionThreshold is the largest share of a connector's documents, in
// percent, that one sync deletes by itself: at most half.
const MaxDeletionThreshold = 50

// The values of permission_mode.
const (
	// ModeStrict lets people find what they may see at the source.
	ModeStrict = "strict"
	// ModePermissive lets everybody who reaches the collection find everything.
	ModePermissive = "permissive"
)

// CommonOptions returns the config fields that every kind accepts besides its
// own. The object under "filters" is described by [ParseFilters].
func CommonOptions() []Option {
	const filters = "Filters"
	return []Option{
		{
			Name: filtersField, Title: "Filters", Type: TypeObject, Group: filters, Advanced: true,
			Help: "Which items become documents; all of them when left out.", Example: `{"include": ["docs/**"]}`,
			Fields: []Option{
				{
					Name: "include", Title: "Include", Type: TypeStringList, Format: FormatPattern, Example: "docs/**",
					Help: "Patterns of paths, one of which an item must match.",
				},
				{
					Name: "exclude", Title: "Exclude", Type: TypeStringList, Format: FormatPattern, Example: "**/drafts/**",
					Help: "Patterns of paths that an item must not match.",
				},
				{
					Name: "extensions", Title: "File extensions", Type: TypeStringList, Example: "md",
					Help: "Endings of file names, one of which an item must have.",
				},
				{
					Name: "excludeExtensions", Title: "Excluded file extensions", Type: TypeStringList, Example: "min.js",
					Help: "Endings of file names that an item must not have.",
				},
				{
					Name: "modifiedAfter", Title: "Modified after", Type: TypeString, Format: FormatDate, Example: "2024-01-31",
					Help: "Leaves out what was last modified before this day or time.",
				},
				{
					Name: "createdWithin", Title: "Created within", Type: TypeString, Format: FormatDuration, Example: "90d",
					Help: "Leaves out what was created longer ago, in hours, days or weeks (12h, 30d, 8w).",
				},
			},
		},
		{
			Name: permissionsField, Title: "Import permissions", Type: TypeBoolean, Default: false, Group: permissions,
			Help: "Import who may see what from the source and enforce it in search.",
		},
		{
			Name: permissionModeField, Title: "Permission mode", Type: TypeString, Choices: []string{ModeStrict, ModePermissive}, Group: permissions,
			Help:    "strict (the default) shows people what they may see at the source, permissive shows everything.",
			Example: ModeStrict, DependsOn: []Dependency{{Option: permissionsField, Values: []any{true}}},
		},
		{
			Name: SubscriptionField, Title: "Ask for webhooks", Type: TypeBoolean, Default: false, Group: "Webhooks", Advanced: true,
			Help: "Have the platform tell of changes at once: the webhook is made and kept up with the connector's credentials, which need the right to.",
		},
		{
			Name: thresholdField, Title: "Deletion threshold", Type: TypeInteger, Min: 1, Max: MaxDeletionThreshold, Group: "Deletions", Advanced: true,
			Help: "The largest share of the documents, in percent, that one sync deletes by itself (50 by default). A deletion of more " +
				"waits to be approved or dismissed.",
			Example: "20",
		},
	}
}

// AllOptions are the options of a kind's config with those of [CommonOptions]
// that it can make use of.
func (k Kind) AllOptions() []Option {
	all := append([]Option{}, k.Options...)
	for _, option := range CommonOptions() {
		switch {
		case option.Name == filtersField && k.AttachesDatabase():
		case option.Name == thresholdField && !k.Bounded:
		case option.Group == permissions && !k.Permissions:
		case option.Name == SubscriptionField && !k.Subscribes():
		default:
			all = append(all, option)
		}
	}
	return all
}

// IncludesPermissions reports whether a connector imports who may see what, and
// whether search is to go by it.
func (s Settings) IncludesPermissions() (imports, enforced bool) {
	imports = s.Boolean(permissionsField)
	return imports, imports && s.String(permissionModeField) != ModePermissive
}

// WantsSubscription reports whether the platform is to be asked for webhooks.
func (s Settings) WantsSubscription() bool { return s.Boolean(SubscriptionField) }

// DeletionThreshold is the largest share of a connector's documents, in percent,
// that one sync deletes by itself.
func (s Settings) DeletionThreshold() int {
	if share := s.Integer(thresholdField); share >= 1 && share <= MaxDeletionThreshold {
		return int(share)
	}
	return MaxDeletionThreshold
}
