package notion

import (
	"bufio"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"hash/fnv"
	"io"
	"maps"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/magpie-search/magpie/connectors"
	"github.com/magpie-search/magpie/connectors/restapi"
)

const (
	keyFiles    = "files/"
	fileBuckets = 256
	maxGone     = 200
	maxTexts    = 100
)

// pageFiles are the files of a page in one of its versions. Gone are keys of files
// that the page had before.
type pageFiles struct {
	Version string    `json:"v"`
	Files   []fileRef `json:"f,omitempty"`
	Gone    []string  `json:"g,omitempty"`
}

func bucketOf(id string) string {
	hash := fnv.New32a()
	_, _ = hash.Write([]byte(id))
	return keyFiles + strconv.Itoa(int(hash.Sum32()%fileBuckets))
}

// bucket returns the file lists of the pages in a bucket. The caller holds the mutex.
func (s *source) bucket(ctx context.Context, key string) (map[string]pageFiles, error) {
	if lists, ok := s.fileLists[key]; ok {
		return lists, nil
	}
	lists := map[string]pageFiles{}
	if _, err := connectors.GetJSON(ctx, s.state, key, &lists); err != nil {
		return nil, err
	}
	s.fileLists[key] = lists
	return lists, nil
}

// filesOf returns the files of a page. A page that has not been edited since its
// files were read is not requested.
func (s *source) filesOf(ctx context.Context, n node) (files pageFiles, fetched bool, err error) {
	key := bucketOf(n.ID)
	s.mutex.Lock()
	lists, err := s.bucket(ctx, key)
	known, ok := lists[n.ID]
	s.mutex.Unlock()
	if err != nil || ok && known.Version == n.version() {
		return known, false, err
	}
	text, blocks, err := s.readText(ctx, n.ID)
	switch {
	case errors.Is(err, connectors.ErrNotFound):
		return known, true, nil // the page is gone meanwhile
	case err != nil:
		return pageFiles{}, true, err
	}
	files = pageFiles{Version: n.version(), Gone: known.Gone}
	if blocks == nil && hasFiles(text) {
		if _, blocks, err = s.client.readBlocks(ctx, n.ID); err != nil && !errors.Is(err, connectors.ErrNotFound) {
			return pageFiles{}, true, err
		}
	}
	for i := range blocks {
		files.Files = append(files.Files, fileRef{blocks[i].ID, blocks[i].Value.name(), fileVersion(blocks[i].Value.File.URL)})
	}
	for _, f := range n.Files {
		files.Files = append(files.Files, fileRef{f.Property + "/" + strconv.Itoa(f.Index), f.Name, f.Version})
	}
	for _, f := range known.Files {
		if !slices.ContainsFunc(files.Files, func(now fileRef) bool { return now.Key == f.Key }) {
			files.Gone = append(files.Gone, f.Key)
		}
	}
	files.Gone = slices.DeleteFunc(files.Gone, func(key string) bool {
		return slices.ContainsFunc(files.Files, func(now fileRef) bool { return now.Key == key })
	})
	if extra := len(files.Gone) - maxGone; extra > 0 {
		files.Gone = files.Gone[extra:]
	}
	s.mutex.Lock()
	defer s.mutex.Unlock()
	if len(s.texts) >= maxTexts {
		clear(s.texts)
	}
	s.texts[n.ID+n.version()] = text
	lists = maps.Clone(lists)
	lists[n.ID] = files
	s.fileLists[key] = lists
	return files, true, connectors.PutJSON(ctx, s.state, key, lists)
}

// fileVersion depends on the address of a file without its signature: each upload
// has another one.
func fileVersion(address string) string {
	if target, err := url.Parse(address); err == nil {
		address = target.Host + target.Path
	}
	hash := sha256.Sum256([]byte(address))
	return hex.EncodeToString(hash[:8])
}

// propertyFiles returns the files in the properties of a row that Notion serves.
func propertyFiles(properties map[string]property) []propertyFile {
	var files []propertyFile
	for _, name := range slices.Sorted(maps.Keys(properties)) {
		p := properties[name]
		if p.Type != "files" {
			continue
		}
		var list []hosted
		_ = json.Unmarshal(p.Value, &list)
		for i, f := range list {
			if f.File != nil && f.File.URL != "" {
				files = append(files, propertyFile{p.ID, i, f.name(), fileVersion(f.File.URL)})
			}
		}
	}
	return files
}

// fileAddress returns the address of a file, which expires, and its version.
func (s *source) fileAddress(ctx context.Context, page, key string) (*hosted, error) {
	gone := fmt.Errorf("the page does not have the file: %w", connectors.ErrNotFound)
	slash := strings.LastIndex(key, "/")
	if slash < 0 {
		var found block
		if err := s.client.get(ctx, &found, nil, "blocks", key); err != nil {
			return nil, err
		}
		if found.ID == "" || found.Type == "" {
			return nil, errInvalid("a block")
		}
		if found.InTrash || !found.isFile() {
			return nil, gone
		}
		file := found.Value.hosted
		file.Name = file.name()
		return &file, nil
	}
	id := key[:slash]
	index, err := strconv.Atoi(key[slash+1:])
	if err != nil {
		return nil, gone
	}
	found, err := s.client.page(ctx, page)
	if err != nil {
		return nil, err
	}
	for _, p := range found.Properties {
		if p.ID != id || p.Type != "files" {
			continue
		}
		var list []hosted
		_ = json.Unmarshal(p.Value, &list)
		if index < len(list) && index >= 0 && list[index].File != nil {
			return &list[index], nil
		}
	}
	return nil, gone
}

// openFile opens a file at its own host, without the token.
func (s *source) openFile(ctx context.Context, item connectors.Item, page, key string) (io.ReadCloser, error) {
	if !s.withFiles {
		return nil, fmt.Errorf("files are none of the connector's: %w", connectors.ErrNotFound)
	}
	file, err := s.fileAddress(ctx, page, key)
	if err != nil {
		return nil, err
	}
	if item.Version != "" && fileVersion(file.File.URL) != item.Version {
		return nil, connectors.Retryable(errChanged, 0)
	}
	target, err := url.Parse(file.File.URL)
	if err != nil || target.Host == "" {
		return nil, errInvalid("a file without an address")
	}
	client, err := restapi.New(target.Scheme+"://"+target.Host, s.client.dial, restapi.Options{Platform: "Notion", Advice: "the address of the file"})
	if err != nil {
		return nil, err
	}
	isHTML := strings.HasSuffix(strings.ToLower(file.Name), ".html") || strings.HasSuffix(strings.ToLower(file.Name), ".htm")
	content, err := client.Download(ctx, restapi.Request{Path: file.File.URL, Header: map[string][]string{"Accept": {"*/*"}}}, restapi.Expected{Size: -1, AllowHTML: isHTML})
	if err != nil {
		client.Close()
		if connectors.IsNeedsAuth(err) {
			err = connectors.Retryable(errors.New("the address of the file has expired"), 0)
		}
		return nil, err
	}
	d := &download{bufio.NewReader(content), content, client}
	if start, err := d.Peek(peekBytes); err != nil && !errors.Is(err, io.EOF) {
		return nil, errors.Join(err, d.Close())
	} else if !isHTML && restapi.StartsAsHTML(start) {
		// Notion tells no type or size of a file that the response could be held against.
		return nil, errors.Join(connectors.Retryable(errors.New("the host of the file answered with a web page"), 0), d.Close())
	}
	return d, nil
}

const peekBytes = 512

// A download closes the client of its host.
type download struct {
	*bufio.Reader
	body   io.Closer
	client *restapi.Client
}

// Close implements [io.Closer].
func (d *download) Close() error {
	err := d.body.Close()
	d.client.Close()
	return err
}
