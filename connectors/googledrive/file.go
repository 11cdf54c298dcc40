package googledrive

import (
	"encoding/json"
	"path"
	"strconv"
	"strings"
	"time"

	"github.com/magpie-search/magpie/connectors"
)

// The media types of Google's own files.
const (
	googleTypes  = "application/vnd.google-apps."
	typeFolder   = googleTypes + "folder"
	typeShortcut = googleTypes + "shortcut"
	typeDocument = googleTypes + "document"
	typeSheet    = googleTypes + "spreadsheet"
	typeSlides   = googleTypes + "presentation"
	typeDrawing  = googleTypes + "drawing"
)

// The names of metadata. Open uses both.
const (
	metaType     = "driveType"
	metaDownload = "download"

	downloadDisabled = "disabled"
)

// A file is a file or folder of the API.
type file struct {
	ID, Name, MimeType, MD5Checksum, DriveID, WebViewLink string
	Version, Size                                         json.Number
	ModifiedTime, CreatedTime                             string
	Parents                                               []string
	Owners                                                []struct{ DisplayName, EmailAddress string }
	OwnedByMe                                             *bool
	Trashed                                               bool
	ShortcutDetails                                       struct{ TargetID, TargetMimeType string }
	Capabilities                                          struct{ CanDownload *bool }
	ExportLinks                                           map[string]string
	PermissionIDs                                         []string
	Permissions                                           []permission
	HasAugmentedPermissions                               *bool
	InheritedPermissionsDisabled                          bool
}

func (f *file) isFolder() bool   { return f.MimeType == typeFolder }
func (f *file) isShortcut() bool { return f.MimeType == typeShortcut }

// parent returns the id of the folder that the file is in, "" if it is not visible.
func (f *file) parent() string {
	if len(f.Parents) == 0 {
		return ""
	}
	return f.Parents[0]
}

// An export is how a file of Google's own types is read.
type export struct{ mediaType, extension string }

// exportOf returns the export of a type. It reports false for a type that is read
// as it is, and an export without a media type for one that cannot be read.
func (s *source) exportOf(mimeType string) (export, bool) {
	if !strings.HasPrefix(mimeType, googleTypes) {
		return export{}, false
	}
	pdf := export{"application/pdf", ".pdf"}
	asPDF := s.settings.String(optionFormat) == formatPDF
	switch {
	case mimeType == typeDocument && asPDF, mimeType == typeSlides && asPDF, mimeType == typeDrawing:
		return pdf, true
	case mimeType == typeDocument:
		return export{"text/markdown", ".md"}, true
	case mimeType == typeSheet:
		return export{"application/vnd.openxmlformats-officedocument.spreadsheetml.sheet", ".xlsx"}, true
	case mimeType == typeSlides:
		return export{"application/vnd.openxmlformats-officedocument.presentationml.presentation", ".pptx"}, true
	}
	return export{}, true
}

// nameOf returns the name of a file in paths. Exports have the extension of their
// format.
func (s *source) nameOf(name, mimeType string) string {
	name = strings.ToValidUTF8(name, "?")
	if as, exported := s.exportOf(mimeType); exported && as.extension != "" && !strings.HasSuffix(strings.ToLower(name), as.extension) {
		name += as.extension
	}
	return segment(name)
}

// segment returns a name as a segment of a path.
func segment(name string) string {
	if name = connectors.PathSegment(strings.ToValidUTF8(name, "?")); name == "" {
		return "-"
	}
	return name
}

// version changes with the content, and with whether and how it is read. Google's
// own files have no checksum. Their version also rises with their metadata, so
// that a hash of the content decides what is new.
func (s *source) version(f *file) string {
	text := f.MD5Checksum
	if as, exported := s.exportOf(f.MimeType); exported || text == "" {
		text = f.Version.String()
		if t := parseTime(f.ModifiedTime); !t.IsZero() {
			text += "-" + strconv.FormatInt(t.UnixMilli(), 36)
		}
		text += as.extension
	}
	if f.isLocked() {
		text += "-" + downloadDisabled
	}
	return text
}

// isLocked reports whether the owner disabled downloads.
func (f *file) isLocked() bool {
	return f.Capabilities.CanDownload != nil && !*f.Capabilities.CanDownload
}

func parseTime(text string) time.Time {
	t, err := time.Parse(time.RFC3339, text)
	if err != nil {
		return time.Time{}
	}
	return t.UTC()
}

// item returns the item of a file at a path.
func (s *source) item(u unit, f *file, place string) connectors.Item {
	item := connectors.Item{
		ID: f.ID, Path: place, Version: s.version(f), Title: f.Name, URL: f.WebViewLink, MediaType: f.MimeType, Container: u.key(), Size: -1,
		CreatedAt: parseTime(f.CreatedTime), ModifiedAt: parseTime(f.ModifiedTime), Metadata: map[string]string{metaType: f.MimeType},
	}
	if len(f.Owners) > 0 {
		item.Author = f.Owners[0].DisplayName
		if item.Author == "" {
			item.Author = f.Owners[0].EmailAddress
		}
	}
	if as, exported := s.exportOf(f.MimeType); exported {
		item.MediaType = as.mediaType
	} else if size, err := f.Size.Int64(); err == nil && size >= 0 {
		item.Size = size
	}
	if f.isLocked() {
		// Open gives the reason, whatever the type is.
		item.Metadata[metaDownload], item.MediaType, item.Size = downloadDisabled, "", -1
	}
	if len(item.Path) > connectors.MaxIDBytes {
		extension := path.Ext(item.Path)
		if len(extension) > 20 {
			extension = ""
		}
		item.Path = u.prefix() + "/" + f.ID + extension
	}
	return item
}
