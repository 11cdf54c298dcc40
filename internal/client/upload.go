package command

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"mime"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"unicode/utf8"

	"github.com/99designs/gqlgen/graphql"
	"github.com/google/uuid"
	"golang.org/x/sync/errgroup"

	"github.com/magpie-search/magpie/cmd/magpie/console"
	"github.com/magpie-search/magpie/internal/apierr"
	"github.com/magpie-search/magpie/internal/config/namedfile"
)

// uploadsAtOnce hides the wait for the disk at the other end.
const uploadsAtOnce = 8

// diskFile is a file that is to be uploaded.
type diskFile struct {
	path string // the uploaded file's, slash separated
	name string // on this machine
	size int64
}

// leftOut is what is not uploaded, and why.
type leftOut struct{ path, reason string }

// gather lists the files at and below a path in their order. Links, devices and
// the folders of version control are left out below it; the path itself may be a
// link to a file or a folder.
func gather(root string) (files []diskFile, left []leftOut, err error) {
	info, err := os.Stat(root)
	if err != nil {
		return nil, nil, fmt.Errorf("read %s: %w", root, err)
	}
	if !info.IsDir() {
		if err := namedfile.Kind(info.Mode()); err != nil {
			return nil, nil, fmt.Errorf("%s %w", root, err)
		}
		if !info.Mode().IsRegular() {
			return nil, nil, fmt.Errorf("%s is no regular file", root)
		}
		return []diskFile{{path: filepath.Base(root), name: root, size: info.Size()}}, nil, nil
	}
	if root, err = filepath.EvalSymlinks(root); err != nil { // a walk follows none
		return nil, nil, fmt.Errorf("read the folder: %w", err)
	}
	err = filepath.WalkDir(root, func(name string, entry fs.DirEntry, err error) error {
		relative, relErr := filepath.Rel(root, name)
		path := filepath.ToSlash(relative)
		switch {
		case err != nil:
			left = append(left, leftOut{path, "it cannot be read"})
			if entry != nil && entry.IsDir() {
				return fs.SkipDir
			}
			return nil
		case relErr != nil:
			return relErr
		case entry.IsDir():
			if slices.Contains([]string{".git", ".hg", ".svn"}, entry.Name()) {
				return fs.SkipDir
			}
			return nil
		case !entry.Type().IsRegular():
			left = append(left, leftOut{path, "it is no regular file"})
			return nil
		case !utf8.ValidString(path):
			left = append(left, leftOut{fmt.Sprintf("%q", path), "its name is not UTF-8"})
			return nil
		}
		info, err := entry.Info()
		if err != nil {
			left = append(left, leftOut{path, "it cannot be read"})
			return nil
		}
		files = append(files, diskFile{path: path, name: name, size: info.Size()})
		return nil
	})
	if err != nil {
		return nil, nil, fmt.Errorf("read %s: %w", root, err)
	}
	return files, left, nil
}

// uploadOutcome says what became of an upload.
type uploadOutcome struct {
	Uploaded  int           `json:"uploaded"`
	Unchanged int           `json:"unchanged"`
	Bytes     int64         `json:"bytes"`
	Refused   []refusedFile `json:"refused"`
}

type refusedFile struct {
	Path   string `json:"path"`
	Reason string `json:"reason"`
}

func (o uploadOutcome) print(c *console.Console) {
	c.Note("Uploaded %s (%s), %d were there already.", console.Count(o.Uploaded, "file"), size(o.Bytes), o.Unchanged)
	for _, refused := range o.Refused {
		c.Warn("not uploaded: %s: %s", refused.Path, refused.Reason)
	}
}

// upload stores files with a connector, those left out that are there already
// with the same content. A file that is refused does not stop the others.
func upload(ctx context.Context, c *console.Console, s *session, connector uuid.UUID, files []diskFile) (uploadOutcome, error) {
	outcome := uploadOutcome{Refused: []refusedFile{}}
	present, err := listFiles(ctx, s, connector)
	if err != nil {
		return outcome, err
	}
	known := make(map[string]fileRow, len(present))
	for _, row := range present {
		known[row.Path] = row
	}
	progress := c.Progress("upload")
	defer progress.Done("")
	var mutex sync.Mutex // of outcome and progress
	group, groupCtx := errgroup.WithContext(ctx)
	group.SetLimit(uploadsAtOnce)
	for _, file := range files {
		if groupCtx.Err() != nil {
			break
		}
		group.Go(func() error {
			row, found := known[file.path]
			same := found && row.Bytes == file.size && sameContent(file.name, row.SHA256)
			var err error
			if !same {
				err = uploadOne(groupCtx, s, connector, file)
			}
			mutex.Lock()
			defer mutex.Unlock()
			switch {
			case same:
				outcome.Unchanged++
			case err == nil:
				outcome.Uploaded++
				outcome.Bytes += file.size
			case refusal(err):
				outcome.Refused = append(outcome.Refused, refusedFile{file.path, describe(err)})
			default:
				return fmt.Errorf("upload %s: %w", file.path, err)
			}
			progress.Show(outcome.Uploaded+outcome.Unchanged+len(outcome.Refused), len(files), "")
			return nil
		})
	}
	err = errors.Join(group.Wait(), ctx.Err())
	slices.SortFunc(outcome.Refused, func(a, b refusedFile) int { return strings.Compare(a.Path, b.Path) })
	return outcome, err
}

// refusal reports whether an error concerns one file and not the others.
func refusal(err error) bool {
	var edge *apierr.Error
	if errors.As(err, &edge) {
		return edge.Code == apierr.InvalidRequest || edge.Code == apierr.TooLarge || edge.Code == apierr.UnsupportedMediaType
	}
	return errors.Is(err, fs.ErrNotExist) || errors.Is(err, fs.ErrPermission)
}

func uploadOne(ctx context.Context, s *session, connector uuid.UUID, file diskFile) error {
	content, err := namedfile.Open(file.name)
	if err != nil {
		return fmt.Errorf("open the file: %w", err)
	}
	defer func() { _ = content.Close() }() // was only read
	media := mime.TypeByExtension(strings.ToLower(filepath.Ext(file.name)))
	return s.do(ctx, "UploadFiles", variables{
		"connector": connector, "paths": []string{file.path},
		"files": []graphql.Upload{{File: content, Filename: filepath.Base(file.path), Size: file.size, ContentType: media}},
	}, nil)
}

func sameContent(name, sum string) bool {
	content, err := namedfile.Open(name)
	if err != nil {
		return false // the upload says why
	}
	defer func() { _ = content.Close() }() // was only read
	digest := sha256.New()
	if _, err := io.Copy(digest, content); err != nil {
		return false
	}
	return hex.EncodeToString(digest.Sum(nil)) == sum
}
