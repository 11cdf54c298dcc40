package main

import (
	"cmp"
	"compress/bzip2"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
)

// thesaurusMark matches the language in the name of a MyThes thesaurus.
var thesaurusMark = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`/mythes/th_([a-z]{2})_`) })

// A source is an input file.
type source struct {
	path       string // relative to the folder
	collection string // the first part of the path: a package or a corpus
	language   string
	parallel   string
	read       func(s *source, full string) (reading, error)
	full       string
}

// maxFile is the largest size of a file; larger files are usually generated.
const maxFile = 1 << 20

// findSources returns the readable files of a folder in order.
func findSources(folder string) ([]source, error) {
	var found []source
	err := filepath.WalkDir(folder, func(full string, entry fs.DirEntry, err error) error {
		if err != nil || !entry.Type().IsRegular() {
			return err
		}
		path, err := filepath.Rel(folder, full)
		if err != nil {
			return err
		}
		path = filepath.ToSlash(path)
		read := readerOf(path)
		if read == nil {
			return nil
		}
		info, err := entry.Info()
		if err != nil {
			return err
		}
		_, inside, _ := strings.Cut(path, "/")
		language, rest, known := languageOf(inside)
		if thesaurus := thesaurusMark().FindStringSubmatch(inside); thesaurus != nil {
			language, known = languageOfLocale(thesaurus[1])
		}
		if !known || info.Size() > maxFile && strings.Contains(path, ".html") {
			return nil
		}
		collection, _, _ := strings.Cut(path, "/")
		found = append(found, source{path: path, collection: collection, language: language, parallel: rest, read: read, full: full})
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("list the sources: %w", err)
	}
	slices.SortFunc(found, func(a, b source) int { return strings.Compare(a.path, b.path) })
	return found, nil
}

func readerOf(path string) func(*source, string) (reading, error) {
	name := strings.TrimSuffix(path, ".gz")
	switch {
	case strings.Contains(path, "/copyright") || strings.Contains(strings.ToLower(path), "changelog") || strings.Contains(path, "/lintian/"):
		return nil
	case strings.Contains(path, "_i18n_Translation-"):
		return readDescriptions
	case strings.Contains(path, "_dep11_Components-"):
		return readComponents
	case strings.Contains(path, "/cldr/common/") && strings.HasSuffix(path, ".xml"):
		return readLocaleData
	case strings.HasSuffix(path, ".docbook"):
		return func(s *source, full string) (reading, error) {
			content, err := readFile(full)
			return s.document(readDocBook(content)), err
		}
	case strings.Contains(path, "/endless-sky/data/") && strings.HasSuffix(path, ".txt"):
		return func(s *source, full string) (reading, error) {
			content, err := readFile(full)
			return s.document(readStory(string(content))), err
		}
	case strings.HasSuffix(name, ".html") || strings.HasSuffix(name, ".htm") || strings.HasSuffix(name, ".page"):
		return func(s *source, full string) (reading, error) {
			content, err := readFile(full)
			return s.document(readHTML(content)), err
		}
	case strings.Contains(path, "/share/man/"):
		return func(s *source, full string) (reading, error) {
			content, err := readFile(full)
			return s.document(readManual(strings.ToValidUTF8(string(content), " "))), err
		}
	case strings.Contains(path, "/games/fortunes/") && !strings.HasSuffix(path, ".u8"):
		return func(s *source, full string) (reading, error) {
			content, err := readFile(full)
			return s.document(readPlain(strings.ReplaceAll(strings.ToValidUTF8(string(content), " "), "\n%\n", "\n\n"))), err
		}
	case strings.HasSuffix(name, ".rst") || strings.HasSuffix(name, ".md") || strings.HasSuffix(name, ".mdx") ||
		strings.HasSuffix(name, ".txt") && strings.Contains(path, "/doc/") && !strings.Contains(path, "/html/"):
		return func(s *source, full string) (reading, error) {
			content, err := readFile(full)
			return s.document(readPlain(strings.ToValidUTF8(string(content), " "))), err
		}
	case strings.HasSuffix(path, ".mo"):
		return pairsOf(func(content []byte, _ string) []pair { return readCatalog(content) })
	case strings.Contains(path, "/dictd/") && strings.HasSuffix(path, ".index"):
		return func(_ *source, full string) (reading, error) {
			pairs, err := readDictionary(full, path)
			return reading{pairs: pairs}, err
		}
	case strings.Contains(path, "/wordnet/data."):
		return pairsOf(func(content []byte, _ string) []pair { return readWordNet(string(content)) })
	case strings.Contains(path, "/mythes/") && strings.HasSuffix(path, ".dat"):
		return pairsOf(func(content []byte, _ string) []pair { return readThesaurus(string(content)) })
	case strings.HasSuffix(path, "Unihan_Readings.txt.bz2"):
		return pairsOf(func(content []byte, _ string) []pair { return readUnihan(string(content)) })
	default:
		return nil
	}
}

func pairsOf(read func(content []byte, path string) []pair) func(*source, string) (reading, error) {
	return func(s *source, full string) (reading, error) {
		content, err := readFile(full)
		if err != nil {
			return reading{}, err
		}
		pairs := read(content, s.path)
		for i := range pairs {
			p := &pairs[i]
			if p.kind != kindMessage {
				p.from = cmp.Or(p.from, s.language)
			}
			if p.kind != kindTranslation {
				p.to = cmp.Or(p.to, s.language)
			}
		}
		return reading{pairs: pairs}, nil
	}
}

func readFile(path string) ([]byte, error) {
	switch {
	case strings.HasSuffix(path, ".gz"):
		return readCompressed(path)
	case strings.HasSuffix(path, ".bz2"):
		file, err := os.Open(path) //nolint:gosec // the folder that the command line names
		if err != nil {
			return nil, fmt.Errorf("read a source: %w", err)
		}
		defer func() { _ = file.Close() }()
		return io.ReadAll(bzip2.NewReader(file))
	default:
		return os.ReadFile(path) //nolint:gosec // the folder that the command line names
	}
}

func (s *source) document(blocks []block) reading {
	if len(blocks) == 0 {
		return reading{}
	}
	d := document{collection: s.collection, language: s.language, blocks: blocks}
	if s.parallel != s.path {
		d.parallel = s.parallel
	}
	return reading{documents: []document{d}}
}
