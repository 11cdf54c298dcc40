package driveserver

import (
	"crypto/md5" //nolint:gosec // the checksum of the API
	"encoding/hex"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"
)

func (s *Server) rootOf(email string) string {
	for _, u := range s.users {
		if u.email == email {
			return u.root
		}
	}
	return ""
}

// resource returns the fields of a file as a user sees it.
func (c *call) resource(f *File) object {
	o := object{
		"kind": "drive#file", "id": f.ID, "name": f.Name, "mimeType": f.MimeType, "version": strconv.Itoa(f.version), "parents": []string{f.Parent},
		"createdTime": f.created.Format("2006-01-02T15:04:05.000Z"), "modifiedTime": f.modified.Format("2006-01-02T15:04:05.000Z"),
		"webViewLink": "https://drive.google.com/file/d/" + f.ID + "/view", "trashed": c.isTrashed(f), "capabilities": object{"canDownload": !f.Locked},
	}
	if f.driveID != "" {
		o["driveId"] = f.driveID
		if strings.Contains(c.query.Get("fields"), "hasAugmentedPermissions") {
			o["hasAugmentedPermissions"], o["inheritedPermissionsDisabled"] = len(f.Permissions) > 0, f.NoInheritance
		}
	} else {
		o["ownedByMe"] = f.Owner == c.email
		o["owners"] = []object{{"kind": "drive#user", "displayName": strings.ToUpper(f.Owner[:min(1, len(f.Owner))]), "emailAddress": f.Owner}}
		// A parent that the user does not see is not told.
		if above := c.files[f.Parent]; above != nil && !c.visible(c.email, above) || above == nil && f.Parent != c.rootOf(c.email) {
			delete(o, "parents")
		}
	}
	if !strings.HasPrefix(f.MimeType, "application/vnd.google-apps.") {
		sum := md5.Sum(f.Content) //nolint:gosec // the checksum of the API
		o["md5Checksum"], o["size"] = hex.EncodeToString(sum[:]), strconv.Itoa(len(f.Content))
	}
	if f.MimeType == Shortcut {
		target := object{"targetId": f.Target}
		if to := c.files[f.Target]; to != nil {
			target["targetMimeType"] = to.MimeType
		}
		o["shortcutDetails"] = target
	}
	if len(f.Exports) > 0 && strings.Contains(c.query.Get("fields"), "exportLinks") {
		links := object{}
		for kind := range f.Exports {
			links[kind] = c.URL + "/export/" + f.ID + "?mimeType=" + kind
		}
		o["exportLinks"] = links
	}
	if strings.Contains(c.query.Get("fields"), "permissionIds") {
		c.addPermissions(o, f)
	}
	return o
}

// addPermissions adds the access list as far as lists of files have it: not for
// shared drives, and only for those who may share the file.
func (c *call) addPermissions(o object, f *File) {
	var ids []string
	var list []object
	for _, p := range c.permissions(f) {
		ids = append(ids, p.id())
		list = append(list, permissionObject(p))
	}
	o["permissionIds"] = ids
	if f.driveID == "" && c.mayShare(f) {
		o["permissions"] = list
	}
}

func (c *call) mayShare(f *File) bool {
	return slices.ContainsFunc(c.permissions(f), func(p Permission) bool {
		return slices.Contains([]string{"owner", "writer", "organizer", "fileOrganizer"}, p.Role) && c.admits(p, c.email)
	})
}

func permissionObject(p Permission) object {
	role := p.Role
	if role == "" {
		role = "reader"
	}
	o := object{"kind": "drive#permission", "id": p.id(), "type": p.Type, "role": role}
	switch p.Type {
	case "user", "group":
		o["emailAddress"], o["deleted"] = p.Email, p.Deleted
		if p.Deleted {
			delete(o, "emailAddress")
		}
	case "domain":
		o["domain"], o["allowFileDiscovery"] = p.Domain, p.Discoverable
	case "anyone":
		o["allowFileDiscovery"] = p.Discoverable
	}
	if p.View != "" {
		o["view"] = p.View
	}
	if !p.Expires.IsZero() {
		o["expirationTime"] = p.Expires.UTC().Format(time.RFC3339)
	}
	return o
}

func (c *call) isMember(d *sharedDrive) bool {
	return slices.ContainsFunc(d.members, func(p Permission) bool { return c.admits(p, c.email) })
}

// listFiles answers files.list.
func (c *call) listFiles() {
	all, supports := c.query.Get("includeItemsFromAllDrives") == "true", c.query.Get("supportsAllDrives") == "true"
	if all && !supports {
		c.refuse(http.StatusForbidden, "teamDrivesSupportRequired", "The supportsAllDrives parameter must be true.")
		return
	}
	matches, err := c.parseQuery(c.query.Get("q"), c.email)
	if err != nil {
		c.refuse(http.StatusBadRequest, "invalid", "Invalid Value")
		return
	}
	corpora, driveID := c.query.Get("corpora"), c.query.Get("driveId")
	if corpora == "drive" {
		if d := c.drive(driveID); d == nil || !c.isMember(d) || !all {
			c.refuse(http.StatusNotFound, "notFound", "Shared drive not found: "+driveID)
			return
		}
	}
	var found []*File
	incomplete := false
	for _, id := range c.order {
		f := c.files[id]
		if f == nil || !matches(f) || !c.visible(c.email, f) {
			continue
		}
		switch {
		case corpora == "drive" && f.driveID != driveID, corpora != "drive" && corpora != "allDrives" && f.driveID != "", corpora == "allDrives" && !all && f.driveID != "":
		case c.hidden[id]:
			incomplete = true
		default:
			found = append(found, f)
		}
	}
	most := 1000
	if strings.Contains(c.query.Get("fields"), "permissions(") {
		most = 100
	}
	from, to, next, ok := c.page(len(found), most)
	if !ok {
		return
	}
	files := []object{}
	for _, f := range found[from:to] {
		files = append(files, c.resource(f))
	}
	answer := object{"kind": "drive#fileList", "incompleteSearch": incomplete, "files": files}
	if next != "" {
		answer["nextPageToken"] = next
	}
	c.answer(answer)
}

// visibleFile returns a file that the user may read.
func (c *call) visibleFile(id string) *File {
	f := c.files[id]
	isShared := f != nil && f.driveID != ""
	if f == nil || !c.visible(c.email, f) || isShared && c.query.Get("supportsAllDrives") != "true" && !c.is("drive", "v3", "files", "*", "export") {
		c.notFound(id)
		return nil
	}
	return f
}

// getFile answers files.get, with the content for alt=media.
func (c *call) getFile(id string) {
	root := c.rootOf(c.email)
	if id == "root" || id == root && root != "" {
		if root == "" {
			c.notFound(id)
			return
		}
		c.answer(object{"kind": "drive#file", "id": root, "name": "My Drive", "mimeType": Folder, "ownedByMe": true})
		return
	}
	if d := c.drive(id); d != nil && c.isMember(d) {
		c.answer(object{"kind": "drive#file", "id": id, "name": d.name, "mimeType": Folder, "driveId": id})
		return
	}
	f := c.visibleFile(id)
	switch {
	case f == nil:
	case c.query.Get("alt") != "media":
		c.answer(c.resource(f))
	case strings.HasPrefix(f.MimeType, "application/vnd.google-apps."):
		c.refuse(http.StatusForbidden, "fileNotDownloadable", "Only files with binary content can be downloaded. Use Export with Docs Editors files.")
	case f.Locked:
		c.refuse(http.StatusForbidden, "cannotDownloadFile", "This file cannot be downloaded by the user.")
	case f.Abusive:
		c.refuse(http.StatusForbidden, "cannotDownloadAbusiveFile", "This file has been identified as malware or spam and cannot be downloaded.")
	default:
		c.w.Header().Set("Content-Type", f.MimeType)
		_, _ = c.w.Write(f.Content)
	}
}

const exportLimit = "exportSizeLimitExceeded"

// export answers files.export.
func (c *call) export(id string) {
	f := c.visibleFile(id)
	if f == nil {
		return
	}
	content, known := f.Exports[c.query.Get("mimeType")]
	switch {
	case !known:
		c.refuse(http.StatusBadRequest, "badRequest", "The requested conversion is not supported.")
	case f.Locked:
		c.refuse(http.StatusForbidden, "cannotExportFile", "This file cannot be exported by the user.")
	case f.LargeExports:
		c.refuse(http.StatusForbidden, exportLimit, "This file is too large to be exported.")
	default:
		c.w.Header().Set("Content-Type", c.query.Get("mimeType"))
		_, _ = c.w.Write(content)
	}
}

// exportLink answers an export link, whose size is not limited.
func (c *call) exportLink(id string) {
	f := c.files[id]
	if f == nil || !c.visible(c.email, f) {
		c.notFound(id)
		return
	}
	c.w.Header().Set("Content-Type", c.query.Get("mimeType"))
	_, _ = c.w.Write(f.Exports[c.query.Get("mimeType")])
}

// listPermissions answers permissions.list of a file or a shared drive.
func (c *call) listPermissions(id string) {
	var all []Permission
	asAdmin := c.query.Get("useDomainAdminAccess") == "true"
	if asAdmin && !slices.Contains(c.Admins, c.email) {
		c.notFound(id)
		return
	}
	if d := c.drive(id); d != nil && (c.isMember(d) || asAdmin) {
		all = d.members
	} else {
		f := c.visibleFile(id)
		if f == nil {
			return
		}
		if f.driveID == "" && !c.mayShare(f) {
			c.refuse(http.StatusForbidden, "insufficientFilePermissions", "The user does not have sufficient permissions for this file.")
			return
		}
		all = c.permissions(f)
	}
	from, to, next, ok := c.page(len(all), 100)
	if !ok {
		return
	}
	list := []object{}
	for _, p := range all[from:to] {
		list = append(list, permissionObject(p))
	}
	answer := object{"kind": "drive#permissionList", "permissions": list}
	if next != "" {
		answer["nextPageToken"] = next
	}
	c.answer(answer)
}

// listDrives answers drives.list.
func (c *call) listDrives() {
	admin := c.query.Get("useDomainAdminAccess") == "true"
	if admin && !slices.Contains(c.Admins, c.email) {
		c.refuse(http.StatusBadRequest, "invalid", "Invalid Value")
		return
	}
	var found []*sharedDrive
	for _, d := range c.drives {
		if admin || c.isMember(d) {
			found = append(found, d)
		}
	}
	from, to, next, ok := c.page(len(found), 100)
	if !ok {
		return
	}
	list := []object{}
	for _, d := range found[from:to] {
		list = append(list, object{"kind": "drive#drive", "id": d.id, "name": d.name})
	}
	answer := object{"kind": "drive#driveList", "drives": list}
	if next != "" {
		answer["nextPageToken"] = next
	}
	c.answer(answer)
}

func (c *call) getDrive(id string) {
	d := c.drive(id)
	if d == nil || !c.isMember(d) {
		c.refuse(http.StatusNotFound, "notFound", "Shared drive not found: "+id)
		return
	}
	c.answer(object{"kind": "drive#drive", "id": d.id, "name": d.name})
}
