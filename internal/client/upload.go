package client

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

	"github.com/google/uuid"
	"golang.org/x/sync/errgroup"

	"github.com/magpie-search/magpie/internal/apierr"
	"github.com/magpie-search/magpie/internal/config/namedfile"
)

// maxUploads is the number of uploads at a time. More than one hides the latency
// of the disk that stores them.
const maxUploads = 8

// An Upload is the content of a file as a variable of an operation.
type Upload struct {
	Content     io.ReadSeeker
	Name        string
	Size        int64
	ContentType string
}

// A DiskFile is a file on this machine to upload.
type DiskFile struct {
	Path string // of the uploaded file, slash-separated
	Name string // on this machine
	Size int64
}

// A RefusedFile is a file that was not uploaded.
type RefusedFile struct {
	Path   string `json:"path"`
	Reason string `json:"reason"`
}

// Scan lists the regular files at and below a path in lexical order, and the
// other files with the reason why they are skipped. Links are not followed below
// the path, and the folders of version control are left out; the path itself may
// be a link.
func Scan(root string) (files []DiskFile, skipped []RefusedFile, err error) {
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
		return []DiskFile{{Path: filepath.Base(root), Name: root, Size: info.Size()}}, nil, nil
	}
	if root, err = filepath.EvalSymlinks(root); err != nil { // WalkDir does not follow a link
		return nil, nil, fmt.Errorf("read the folder: %w", err)
	}
	err = filepath.WalkDir(root, func(name string, entry fs.DirEntry, err error) error {
		relative, relErr := filepath.Rel(root, name)
		path := filepath.ToSlash(relative)
		switch {
		case err != nil:
			skipped = append(skipped, RefusedFile{path, "it cannot be read"})
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
			skipped = append(skipped, RefusedFile{path, "it is no regular file"})
			return nil
		case !utf8.ValidString(path):
			skipped = append(skipped, RefusedFile{fmt.Sprintf("%q", path), "its name is not UTF-8"})
			return nil
		}
		info, err := entry.Info()
		if err != nil {
			skipped = append(skipped, RefusedFile{path, "it cannot be read"})
			return nil
		}
		files = append(files, DiskFile{Path: path, Name: name, Size: info.Size()})
		return nil
	})
	if err != nil {
		return nil, nil, fmt.Errorf("read %s: %w", root, err)
	}
	return files, skipped, nil
}

// An UploadResult is the outcome of an upload of several files.
type UploadResult struct {
	Uploaded  int           `json:"uploaded"`
	Unchanged int           `json:"unchanged"`
	Bytes     int64         `json:"bytes"`
	Refused   []RefusedFile `json:"refused"`
}

// Files lists the uploaded files of a connector by path.
func (c *Client) Files(ctx context.Context, connector uuid.UUID) ([]File, error) {
	type answer struct {
		Connector Page[File] `json:"connector"`
	}
	return ListFrom(ctx, c, "ListFiles", Variables{"connector": connector}, 0,
		func(a *answer) *Connection[File] { return &a.Connector.Page })
}

// DeleteFiles deletes uploaded files and returns the paths of those that existed.
func (c *Client) DeleteFiles(ctx context.Context, connector uuid.UUID, paths []string) ([]string, error) {
	var answer struct {
		Deleted []string `json:"deleted"`
	}
	err := c.Do(ctx, "DeleteFiles", Variables{"connector": connector, "paths": paths}, &answer)
	return answer.Deleted, err
}

// Upload uploads files to a connector and leaves out those that it has with the
// same content. A refused file does not stop the others.
func (c *Client) Upload(ctx context.Context, connector uuid.UUID, files []DiskFile, r Reporter) (UploadResult, error) {
	result := UploadResult{Refused: []RefusedFile{}}
	uploaded, err := c.Files(ctx, connector)
	if err != nil {
		return result, err
	}
	known := make(map[string]File, len(uploaded))
	for _, row := range uploaded {
		known[row.Path] = row
	}
	progress := r.Progress("upload")
	defer progress.Done("")
	var mutex sync.Mutex // of result and progress
	group, groupCtx := errgroup.WithContext(ctx)
	group.SetLimit(maxUploads)
	for _, file := range files {
		if groupCtx.Err() != nil {
			break
		}
		group.Go(func() error {
			row, found := known[file.Path]
			unchanged := found && row.Bytes == file.Size && hasHash(file.Name, row.SHA256)
			var err error
			if !unchanged {
				err = c.uploadOne(groupCtx, connector, file)
			}
			mutex.Lock()
			defer mutex.Unlock()
			switch {
			case unchanged:
				result.Unchanged++
			case err == nil:
				result.Uploaded++
				result.Bytes += file.Size
			case isRefusal(err):
				result.Refused = append(result.Refused, RefusedFile{file.Path, Message(err)})
			default:
				return fmt.Errorf("upload %s: %w", file.Path, err)
			}
			progress.Show(result.Uploaded+result.Unchanged+len(result.Refused), len(files), "")
			return nil
		})
	}
	err = errors.Join(group.Wait(), ctx.Err())
	slices.SortFunc(result.Refused, func(a, b RefusedFile) int { return strings.Compare(a.Path, b.Path) })
	return result, err
}

// isRefusal reports whether an error concerns one file and not the others.
func isRefusal(err error) bool {
	var edge *apierr.Error
	if errors.As(err, &edge) {
		return edge.Code == apierr.InvalidRequest || edge.Code == apierr.TooLarge || edge.Code == apierr.UnsupportedMediaType
	}
	return errors.Is(err, fs.ErrNotExist) || errors.Is(err, fs.ErrPermission)
}

func (c *Client) uploadOne(ctx context.Context, connector uuid.UUID, file DiskFile) error {
	content, err := namedfile.Open(file.Name)
	if err != nil {
		return fmt.Errorf("open the file: %w", err)
	}
	defer func() { _ = content.Close() }() // opened for reading
	media := mime.TypeByExtension(strings.ToLower(filepath.Ext(file.Name)))
	return c.Do(ctx, "UploadFiles", Variables{
		"connector": connector, "paths": []string{file.Path},
		"files": []Upload{{Content: content, Name: filepath.Base(file.Path), Size: file.Size, ContentType: media}},
	}, nil)
}

// hasHash reports whether the content of a file has a SHA-256 in hexadecimal.
func hasHash(name, sum string) bool {
	content, err := namedfile.Open(name)
	if err != nil {
		return false // uploadOne returns the error
	}
	defer func() { _ = content.Close() }() // opened for reading
	digest := sha256.New()
	if _, err := io.Copy(digest, content); err != nil {
		return false
	}
	return hex.EncodeToString(digest.Sum(nil)) == sum
}
