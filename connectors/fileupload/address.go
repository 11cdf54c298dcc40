package fileupload

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"net/url"
	"path"
	"slices"
	"strings"

	"github.com/magpie-search/magpie/connectors"
)

const (
	optionBase  = "baseUrl"
	optionStrip = "stripExtension"
	optionIndex = "indexPages"
)

// options say where the pages are that a site makes from the files.
func options() []connectors.Option {
	withBase := []connectors.Dependency{{Option: optionBase}}
	return []connectors.Option{
		{
			Name: optionBase, Title: "Address of the site", Type: connectors.TypeString, Example: "https://docs.example.com/guide/",
			Help: "The address of the site that is made from the files. Results link to it, with the path of the file.",
			Check: connectors.CheckString(func(text string) error {
				_, err := parseBase(text)
				return err
			}),
		},
		{
			Name: optionStrip, Title: "Addresses without extension", Type: connectors.TypeBoolean, Default: false, DependsOn: withBase,
			Help: "The page of guide/install.md is guide/install.",
		},
		{
			Name: optionIndex, Title: "Index pages", Type: connectors.TypeStringList, Default: []string{"index"}, DependsOn: withBase, Example: "index",
			Help: "Names of files, without extension, whose page is that of their folder: guide/index.md has the address guide/.",
			Check: connectors.CheckEach(func(text string) error {
				if text == "" || len(text) > 100 || strings.ContainsAny(text, "/\\\x00") {
					return errors.New("must be the name of a file without folder and extension, of at most 100 bytes")
				}
				return nil
			}),
		},
	}
}

// addresses are those of the pages of files. Its zero value has none.
type addresses struct {
	base  *url.URL
	strip bool
	index []string
}

func newAddresses(s connectors.Settings) (addresses, error) {
	text := s.String(optionBase)
	if text == "" {
		return addresses{}, nil
	}
	base, err := parseBase(text)
	if err != nil {
		return addresses{}, connectors.Fatal(&connectors.OptionError{Field: "config." + optionBase, Message: err.Error()})
	}
	return addresses{base: base, strip: s.Boolean(optionStrip), index: s.Strings(optionIndex)}, nil
}

// parseBase returns an address whose path ends with a slash.
func parseBase(text string) (*url.URL, error) {
	base, err := url.Parse(text)
	if err != nil || base.Scheme != "https" && base.Scheme != "http" || base.Host == "" || base.User != nil || base.RawQuery != "" || base.Fragment != "" || len(text) > 1000 {
		return nil, errors.New("must be an address such as https://docs.example.com/guide/, without user, query or fragment")
	}
	base = base.JoinPath("/")
	return base, nil
}

// of returns the address of the page of a file, or "" if there is no site.
func (a addresses) of(file string) string {
	if a.base == nil {
		return ""
	}
	folder, name := path.Split(file)
	stem := strings.TrimSuffix(name, path.Ext(name))
	switch {
	case stem == "": // .hidden
	case slices.Contains(a.index, stem):
		name = ""
	case a.strip:
		name = stem
	}
	page := *a.base
	page.Path += folder + name
	page.RawPath = ""
	return page.String()
}

// version returns the version of a file with the address of its page: both change what is stored.
func version(file, address string) string {
	if address == "" {
		return file
	}
	sum := sha256.Sum256([]byte(address))
	return file + "@" + hex.EncodeToString(sum[:8])
}

// contentVersion returns the version of the file in that of an item.
func contentVersion(version string) string {
	file, _, _ := strings.Cut(version, "@")
	return file
}
