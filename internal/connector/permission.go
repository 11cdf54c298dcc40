package connector

import (
	"time"

	"github.com/magpie-search/magpie/connectors"
	"github.com/magpie-search/magpie/ent"
)

// ModeOff is the permission mode of a connector whose documents everybody may
// read. The other modes are connectors.ModeStrict and connectors.ModePermissive.
const ModeOff = "off"

// Permissions describes how far a connector enforces the permissions of its
// source.
type Permissions struct {
	Mode string
	// ReadersReadAt and GroupsReadAt are when the readers of documents and the
	// members of groups were last read from the source; nil for never.
	ReadersReadAt, GroupsReadAt *time.Time
	Warning                     string // for people; empty for none
}

// Permissions returns the permissions of a connector. ok is false if its kind has
// none.
func (c *Connectors) Permissions(row *ent.Connector) (p Permissions, ok bool) {
	kind, known := c.o.Kinds.Lookup(row.Type)
	if !known || !kind.Permissions {
		return Permissions{}, false
	}
	p = Permissions{Mode: ModeOff, ReadersReadAt: row.ReadersAt, GroupsReadAt: row.GroupsAt}
	imports, enforced := connectors.Settings{Config: row.Config}.IncludesPermissions()
	switch {
	case enforced:
		p.Mode = connectors.ModeStrict
	case imports:
		p.Mode = connectors.ModePermissive
	}
	p.Warning = c.permissionWarning(row, enforced)
	return p, true
}

func (c *Connectors) permissionWarning(row *ent.Connector, enforced bool) string {
	failure := ""
	if row.GroupsFailure != nil {
		failure = " " + *row.GroupsFailure
	}
	switch {
	case row.Closed:
		return "Who may see the documents is being read from the source; until then nobody finds them."
	case !enforced && row.ReadersRevision < row.PermissionsRevision:
		return "The documents are being opened; until then people find what they may see at the source."
	case !enforced:
		return ""
	case row.GroupsAt != nil && c.o.Now().Sub(*row.GroupsAt) > c.o.GroupsMaxAge:
		return "Who belongs to which group was read too long ago: groups grant nothing until it is read again." + failure
	case failure != "":
		return "Who belongs to which group could not be read; what was read before counts for a while." + failure
	}
	return ""
}

// updatePermissions marks the stored readers of a connector's documents as out of
// date if a change of its config turns enforcement on or off. If it turns on, the
// documents are closed to everybody until their readers have been read.
func updatePermissions(update *ent.ConnectorUpdateOne, before, after map[string]any) {
	_, enforced := connectors.Settings{Config: before}.IncludesPermissions()
	_, enforce := connectors.Settings{Config: after}.IncludesPermissions()
	if enforced == enforce {
		return
	}
	update.AddPermissionsRevision(1).SetClosed(enforce)
	if enforce {
		update.ClearGroupsDueAt()
	}
}
