package connectors

import (
	"errors"
	"time"
)

// permissionsGroup is the heading of the options for permissions.
const permissionsGroup = "Permissions"

const (
	filtersField            = "filters"
	includePermissionsField = "include_permissions"
	permissionModeField     = "permission_mode"
	// VerifyField is the config field that asks to verify access at each search.
	VerifyField = "verifyAccess"
	// SubscriptionField is the config field that asks for a webhook subscription.
	SubscriptionField = "webhook_subscription"
	thresholdField    = "deletion_threshold"
	fullScanField     = "full_scan_interval"
)

// defaultFullScan is the value of an absent full_scan_interval.
const defaultFullScan = "7d"

// MaxDeletionThreshold is the largest share of a connector's documents, in
// percent, that a sync may delete without approval.
const MaxDeletionThreshold = 50

// The values of permission_mode.
const (
	// ModeStrict restricts people to what they may read at the source.
	ModeStrict = "strict"
	// ModePermissive lets everybody with access to the collection find everything.
	ModePermissive = "permissive"
)

// CommonOptions returns the config fields that every kind has. [ParseFilters]
// describes the object "filters".
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
			Name: includePermissionsField, Title: "Import permissions", Type: TypeBoolean, Default: false, Group: permissionsGroup,
			Help: "Import who may see what from the source and enforce it in search.",
		},
		{
			Name: permissionModeField, Title: "Permission mode", Type: TypeString, Choices: []string{ModeStrict, ModePermissive}, Group: permissionsGroup,
			Help:    "strict (the default) shows people what they may see at the source, permissive shows everything.",
			Example: ModeStrict, DependsOn: []Dependency{{Option: includePermissionsField, Values: []any{true}}},
		},
		{
			Name: VerifyField, Title: "Verify access", Type: TypeBoolean, Default: false, Group: permissionsGroup,
			Help: "In strict mode: ask the platform at each search whether the person may read what is to be shown. It costs requests, " +
				"and hides results while the platform does not answer.",
			DependsOn: []Dependency{{Option: includePermissionsField, Values: []any{true}}},
		},
		{
			Name: SubscriptionField, Title: "Ask for webhooks", Type: TypeBoolean, Default: false, Group: "Webhooks", Advanced: true,
			Help: "Subscribe to the platform's webhooks, so that changes arrive at once. The connector's credentials need the right to.",
		},
		{
			Name: thresholdField, Title: "Deletion threshold", Type: TypeInteger, Min: 1, Max: MaxDeletionThreshold, Group: "Deletions", Advanced: true,
			Help: "The largest share of the documents, in percent, that a sync may delete without approval (50 by default). A deletion of more " +
				"waits until it is approved or dismissed.",
			Example: "20",
		},
		{
			Name: fullScanField, Title: "Full scan interval", Type: TypeString, Format: FormatDuration, Default: defaultFullScan,
			Group: "Changes", Advanced: true, Check: CheckString(checkDuration), Example: "7d",
			Help: "Syncs read what changed. After this time, in hours, days or weeks (12h, 7d, 2w), a sync looks at the whole source again.",
		},
	}
}

func checkDuration(text string) error {
	if _, reason := parseDuration(text); reason != "" {
		return errors.New(reason)
	}
	return nil
}

// AllOptions returns the kind's options and those of [CommonOptions] that have an
// effect for it.
func (k Kind) AllOptions() []Option {
	all := append([]Option{}, k.Options...)
	for _, option := range CommonOptions() {
		switch {
		case option.Name == filtersField && k.AttachesDatabase():
		case option.Name == thresholdField && !k.Enumerates:
		case option.Name == fullScanField && !k.Feeds:
		case option.Group == permissionsGroup && !k.Permissions, option.Name == VerifyField && !k.VerifiesAccess:
		case option.Name == SubscriptionField && !k.Subscribes():
		default:
			all = append(all, option)
		}
	}
	return all
}

// IncludesPermissions reports whether the connector imports permissions, and
// whether search enforces them.
func (s Settings) IncludesPermissions() (imports, enforced bool) {
	imports = s.Boolean(includePermissionsField)
	return imports, imports && s.String(permissionModeField) != ModePermissive
}

// VerifiesAccess reports whether the platform is asked at each search who may read what
// is to be shown.
func (s Settings) VerifiesAccess() bool {
	_, enforced := s.IncludesPermissions()
	return enforced && s.Boolean(VerifyField)
}

// WantsSubscription reports whether the connector has a webhook subscription.
func (s Settings) WantsSubscription() bool { return s.Boolean(SubscriptionField) }

// DeletionThreshold returns the largest share of the connector's documents, in
// percent, that a sync may delete without approval.
func (s Settings) DeletionThreshold() int {
	if share := s.Integer(thresholdField); share >= 1 && share <= MaxDeletionThreshold {
		return int(share)
	}
	return MaxDeletionThreshold
}

// FullScanInterval returns the time after which a sync walks the whole source of a
// kind with a feed again.
func (s Settings) FullScanInterval() time.Duration {
	if interval, reason := parseDuration(s.Config[fullScanField]); interval > 0 && reason == "" {
		return interval
	}
	interval, _ := parseDuration(defaultFullScan)
	return interval
}
