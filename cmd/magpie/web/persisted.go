package web

import (
	"bytes"
	"container/list"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"io"
	"net/http"
	"sync"

	"github.com/magpie-search/magpie/internal/apierr"
	"github.com/magpie-search/magpie/internal/request/body"
	"github.com/magpie-search/magpie/internal/viewer"
)

// persistedBytes is the size of the documents that a process keeps.
const persistedBytes = 8 << 20

// documents keeps documents of operations by their SHA-256, those that were used last.
// It is the server side of Apollo's automatic persisted queries: a client sends the hash
// of a document, and the document itself if the server does not have it. A hash
// identifies its text, so that the documents belong to no workspace. The zero value is
// ready. It is safe for concurrent use.
type documents struct {
	mu     sync.Mutex
	byHash map[[sha256.Size]byte]*list.Element
	order  list.List // of texts, the last used first
	size   int
}

// get returns the document with a hash.
func (d *documents) get(hash [sha256.Size]byte) (text string, ok bool) {
	d.mu.Lock()
	defer d.mu.Unlock()
	kept, ok := d.byHash[hash]
	if !ok {
		return "", false
	}
	d.order.MoveToFront(kept)
	text, _ = kept.Value.(string)
	return text, true
}

// put keeps a document.
func (d *documents) put(text string) {
	hash := sha256.Sum256([]byte(text))
	d.mu.Lock()
	defer d.mu.Unlock()
	if _, ok := d.byHash[hash]; ok {
		return
	}
	if d.byHash == nil {
		d.byHash = map[[sha256.Size]byte]*list.Element{}
	}
	d.byHash[hash] = d.order.PushFront(text)
	d.size += len(text) + documentOverhead
	for d.size > persistedBytes && d.order.Len() > 1 {
		last := d.order.Back()
		old, _ := d.order.Remove(last).(string)
		delete(d.byHash, sha256.Sum256([]byte(old)))
		d.size -= len(old) + documentOverhead
	}
}

// documentOverhead is about what an entry takes beside its text.
const documentOverhead = 200

// operationBody is the body of an operation.
type operationBody struct {
	Query         string          `json:"query"`
	OperationName string          `json:"operationName,omitempty"`
	Variables     json.RawMessage `json:"variables,omitempty"`
	Extensions    json.RawMessage `json:"extensions,omitempty"`
}

// A persistedQuery is the extension of an operation with the hash of its document.
type persistedQuery struct {
	Version    int    `json:"version"`
	SHA256Hash string `json:"sha256Hash"`
}

// errNotPersisted says that a document must be sent. Clients know its text and its code.
var errNotPersisted = apierr.New(apierr.InvalidRequest, "PersistedQueryNotFound")

const codeNotPersisted = "PERSISTED_QUERY_NOT_FOUND"

// resolve sets the document of an operation that has only its hash, or keeps the
// document of one that has both. Only signed-in callers have this.
func (d *documents) resolve(who viewer.Viewer, o *operationBody) error {
	var extensions struct {
		PersistedQuery *persistedQuery `json:"persistedQuery"`
	}
	if len(o.Extensions) > 0 && json.Unmarshal(o.Extensions, &extensions) != nil {
		return apierr.New(apierr.InvalidRequest, "extensions.persistedQuery must have version 1 and sha256Hash")
	}
	given := extensions.PersistedQuery
	if given == nil {
		return nil
	}
	if who.Kind == viewer.KindAnonymous {
		if o.Query != "" {
			return nil
		}
		return apierr.New(apierr.InvalidRequest, "PersistedQueryNotSupported") // clients know this message and then send the document
	}
	hash, err := hex.DecodeString(given.SHA256Hash)
	if err != nil || len(hash) != sha256.Size || given.Version != 1 {
		return apierr.New(apierr.InvalidRequest, "extensions.persistedQuery must have version 1 and sha256Hash, 64 hexadecimal digits")
	}
	if o.Query == "" {
		text, ok := d.get([sha256.Size]byte(hash))
		if !ok {
			return errNotPersisted
		}
		o.Query = text
		return nil
	}
	if sha256.Sum256([]byte(o.Query)) != [sha256.Size]byte(hash) {
		return apierr.New(apierr.InvalidRequest, "extensions.persistedQuery.sha256Hash is not the SHA-256 of the query")
	}
	d.put(o.Query)
	return nil
}

type queriesOnlyKey struct{}

// queriesOnly reports whether ctx is that of a GET request, which must not change
// anything.
func queriesOnly(ctx context.Context) bool { return ctx.Value(queriesOnlyKey{}) != nil }

// fromGET turns a GET request for an operation into the POST request for the same one.
// The caller must be signed in: browsers send no credentials to /graphql but in the
// header Authorization, which no link or form of another site can set.
func fromGET(r *http.Request, who viewer.Viewer) (*http.Request, error) {
	if limit := body.Limit(who); int64(len(r.URL.RawQuery)) > limit {
		return nil, apierr.New(apierr.TooLarge, "The operation is larger than "+body.FormatLimit(limit))
	}
	given := r.URL.Query()
	o := operationBody{Query: given.Get("query"), OperationName: given.Get("operationName")}
	for name, into := range map[string]*json.RawMessage{"variables": &o.Variables, "extensions": &o.Extensions} {
		if text := given.Get(name); text != "" {
			if !json.Valid([]byte(text)) {
				return nil, apierr.Invalid(name, "must be JSON")
			}
			*into = json.RawMessage(text)
		}
	}
	text, err := json.Marshal(o)
	if err != nil {
		return nil, apierr.New(apierr.InvalidRequest, "The parameters are not an operation")
	}
	r = r.Clone(context.WithValue(r.Context(), queriesOnlyKey{}, true))
	r.Method = http.MethodPost
	r.Header.Set("Content-Type", typeJSON)
	r.Body, r.ContentLength = io.NopCloser(bytes.NewReader(text)), int64(len(text))
	return r, nil
}

// writeNotPersisted sends errNotPersisted with the status of an operation that cannot be
// executed.
func writeNotPersisted(w http.ResponseWriter, r *http.Request) {
	status := http.StatusOK
	if answer, _ := accepted(r.Header.Values("Accept")); answer == typeResponse {
		status = http.StatusBadRequest
		w.Header().Set("Content-Type", typeResponse+"; charset=utf-8")
	} else {
		w.Header().Set("Content-Type", typeJSON+"; charset=utf-8")
	}
	w.Header().Set("X-Content-Type-Options", "nosniff")
	w.Header().Add("Vary", "Accept")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(map[string]any{ // the client may have disconnected
		"errors": []any{map[string]any{"message": errNotPersisted.Message, "extensions": map[string]any{"code": codeNotPersisted}}},
	})
}
