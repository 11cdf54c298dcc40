package client

import (
	"time"

	"github.com/google/uuid"
)

// The types of the answers. Commands print them with --json, so their JSON is
// part of the command line's interface.

// CollectionStats counts the contents of a collection.
type CollectionStats struct {
	Documents    int        `json:"documentCount"`
	Embeddings   int        `json:"embeddingCount"`
	StorageBytes int64      `json:"storageBytes"`
	LastSync     *time.Time `json:"lastSync"`
}

// A Collection is a collection of documents.
type Collection struct {
	ID             uuid.UUID       `json:"id"`
	Name           string          `json:"name"`
	Description    *string         `json:"description"`
	EmbeddingModel string          `json:"embeddingModel"`
	NextModel      *string         `json:"nextEmbeddingModel"`
	CreatedAt      time.Time       `json:"createdAt"`
	UpdatedAt      time.Time       `json:"updatedAt"`
	Stats          CollectionStats `json:"stats"`
	ConnectorIDs   []uuid.UUID     `json:"connectorIds,omitempty"`
	ModelChange    *ModelChange    `json:"modelChange,omitempty"` // nil for none, and in lists
}

// A ModelChange is a change of a collection's embedding model that has not ended.
type ModelChange struct {
	Model    string     `json:"model"`
	State    string     `json:"state"`
	Passages *int       `json:"passages"`
	Embedded *int       `json:"embedded"`
	Reason   *string    `json:"reason"`
	FailedAt *time.Time `json:"failedAt"`
}

// A Connector is a source that fills a collection.
type Connector struct {
	ID             uuid.UUID      `json:"id"`
	Name           string         `json:"name"`
	Type           string         `json:"type"`
	Status         string         `json:"status"`
	Enabled        bool           `json:"enabled"`
	CollectionID   uuid.UUID      `json:"collectionId"`
	CollectionName string         `json:"collectionName"`
	Config         map[string]any `json:"config"`
	DocSync        struct {
		Strategy string `json:"syncStrategy"`
		Interval string `json:"scheduleInterval"`
	} `json:"docSync"`
	NextSyncAt *time.Time `json:"nextSyncAt"`
	LastSync   *time.Time `json:"lastSync"`
	LastError  *string    `json:"lastError"`
	CreatedAt  time.Time  `json:"createdAt"`
}

// An Option is a setting or a credential of a kind of connectors.
type Option struct {
	Name      string   `json:"name"`
	Title     string   `json:"title"`
	Help      string   `json:"help"`
	Type      string   `json:"type"`
	Required  bool     `json:"required"`
	Sensitive bool     `json:"sensitive"`
	Default   any      `json:"default"`
	Example   *string  `json:"example"`
	Choices   []string `json:"choices"`
	DependsOn []struct {
		Option string `json:"option"`
		Values []any  `json:"values"`
	} `json:"dependsOn"`
	Multiline bool `json:"multiline"`
}

// A Kind is a kind of connectors.
type Kind struct {
	Name         string   `json:"name"`
	Title        string   `json:"title"`
	Description  string   `json:"description"`
	Aliases      []string `json:"aliases"`
	AcceptsFiles bool     `json:"acceptsFiles"`
	Options      []Option `json:"options"`
	Credentials  []Option `json:"credentials"`
}

// A File is an uploaded file of a connector.
type File struct {
	ID        uuid.UUID `json:"id"`
	Path      string    `json:"path"`
	MediaType string    `json:"mediaType"`
	Bytes     int64     `json:"bytes"`
	SHA256    string    `json:"sha256"`
	UpdatedAt time.Time `json:"updatedAt"`
}

// JobProgress counts the items that a job has listed, read and stored.
type JobProgress struct {
	Collected int `json:"collected"`
	Parsed    int `json:"parsed"`
	Indexed   int `json:"indexed"`
}

// JobStats counts the items of a job by their outcome.
type JobStats struct {
	Added     int `json:"added"`
	Modified  int `json:"modified"`
	Deleted   int `json:"deleted"`
	Unchanged int `json:"unchanged"`
	Skipped   int `json:"skipped"`
	Errors    int `json:"errors"`
}

// Finished returns the number of items with an outcome. Deletions do not count.
func (s JobStats) Finished() int {
	return s.Added + s.Modified + s.Unchanged + s.Skipped + s.Errors
}

// A Job is a sync job.
type Job struct {
	ID          uuid.UUID   `json:"id"`
	ConnectorID uuid.UUID   `json:"connectorId,omitzero"`
	Status      string      `json:"status"`
	Mode        string      `json:"mode,omitempty"`
	Cause       string      `json:"cause,omitempty"`
	Progress    JobProgress `json:"progress"`
	Stats       JobStats    `json:"stats"`
	Warnings    []string    `json:"warnings"`
	Error       *string     `json:"error"`
	StartedAt   time.Time   `json:"startedAt"`
	FinishedAt  *time.Time  `json:"finishedAt"`
}

// Ended reports whether the job is over.
func (j Job) Ended() bool { return j.Status != "QUEUED" && j.Status != "RUNNING" }

// Failure returns the error of a failed job, or "".
func (j Job) Failure() string {
	if j.Error == nil {
		return ""
	}
	return *j.Error
}

// An Item is a ledger entry: an item of a source and its outcome.
type Item struct {
	Path       string     `json:"path"`
	Status     string     `json:"status"`
	Reason     *string    `json:"reason"`
	Retryable  bool       `json:"retryable"`
	Suppressed bool       `json:"suppressed"`
	DocumentID *uuid.UUID `json:"documentId"`
	UpdatedAt  time.Time  `json:"updatedAt"`
}

// A Key is a pair of API keys without their secrets.
type Key struct {
	ID                 uuid.UUID   `json:"id"`
	Name               string      `json:"name"`
	Status             string      `json:"status"`
	PublishableHint    string      `json:"publishableHint"`
	SecretHint         string      `json:"secretHint"`
	AllCollections     bool        `json:"allowAllCollections"`
	AllowedCollections []uuid.UUID `json:"allowedCollections"`
	DefaultCollection  *uuid.UUID  `json:"defaultCollection"`
	AllowedHosts       []string    `json:"allowedHosts"`
	AllowedReferers    []string    `json:"allowedReferers"`
	WidgetModelID      *string     `json:"widgetModelId"`
	WidgetContext      *string     `json:"widgetContext"`
	RequireSignature   bool        `json:"requireSignature"`
	DatabaseTools      bool        `json:"databaseTools"`
	RatePerMinute      *int        `json:"rateLimitPerMinute"`
	ExpiresAt          *time.Time  `json:"expiresAt"`
	RevokedAt          *time.Time  `json:"revokedAt"`
	LastUsedAt         *time.Time  `json:"lastUsedAt"`
	RotatedAt          *time.Time  `json:"rotatedAt"`
	PreviousExpiresAt  *time.Time  `json:"previousExpiresAt"`
	LeakedAt           *time.Time  `json:"leakedAt"`
	LeakedOrigin       *string     `json:"leakedOrigin"`
	CreatedAt          time.Time   `json:"createdAt"`
	UpdatedAt          time.Time   `json:"updatedAt"`
}

// A CreatedKey is a new pair of API keys. It is the only answer with the secrets.
type CreatedKey struct {
	PublishableKey string `json:"publishableKey"`
	SecretKey      string `json:"secretKey"`
	APIKey         Key    `json:"apiKey"`
}

// A Token is a personal or service token. The token itself is only in a CreatedToken.
type Token struct {
	ID          uuid.UUID  `json:"id"`
	Kind        string     `json:"kind"`
	Name        string     `json:"name"`
	Status      string     `json:"status"`
	Hint        string     `json:"hint"`
	Role        *string    `json:"role"`   // nil: that of its person
	Groups      []string   `json:"groups"` // nil: all
	UserID      *uuid.UUID `json:"userId"` // nil for a service token
	CreatedBy   *uuid.UUID `json:"createdBy"`
	ExpiresAt   *time.Time `json:"expiresAt"`
	RevokedAt   *time.Time `json:"revokedAt"`
	LastUsedAt  *time.Time `json:"lastUsedAt"`
	LastAddress string     `json:"lastAddress"`
	CreatedAt   time.Time  `json:"createdAt"`
}

// A CreatedToken is a new token. It is the only answer with the token itself.
type CreatedToken struct {
	Secret string `json:"secret"`
	Token  Token  `json:"token"`
}

// A Hit is a search result.
type Hit struct {
	ID           uuid.UUID      `json:"id"`
	DocumentID   uuid.UUID      `json:"documentId"`
	Title        string         `json:"title"`
	URL          *string        `json:"url"`
	Snippet      string         `json:"snippet"`
	Score        float64        `json:"score"`
	Section      *string        `json:"section"`
	Version      *string        `json:"version"`
	Tags         []string       `json:"tags"`
	DocType      *string        `json:"docType"`
	Language     *string        `json:"language"`
	Collection   string         `json:"collection"`
	CollectionID uuid.UUID      `json:"collectionId"`
	Source       string         `json:"source"`
	HeadingPath  []string       `json:"headingPath"`
	UpdatedAt    *time.Time     `json:"updatedAt"`
	Metadata     map[string]any `json:"metadata"`
	Duplicates   *Duplicates    `json:"duplicates"` // nil for none
	Explanation  *Explanation   `json:"explanation,omitempty"`
}

// Duplicates are the passages with the same or nearly the same text that a result stands
// for, too.
type Duplicates struct {
	Count    int      `json:"count"`
	Versions []string `json:"versions"` // but the result's own, the newest first
}

// SearchResults is a page of search results.
type SearchResults struct {
	Total   int     `json:"total"`
	Limit   int     `json:"limit"`
	Offset  int     `json:"offset"`
	TookMs  float64 `json:"tookMs"`
	Results []Hit   `json:"results"`
	// DidYouMean is the corrected query, whose results these are; nil if nothing was
	// corrected.
	DidYouMean *string      `json:"didYouMean,omitempty"`
	Corrected  []Correction `json:"corrected,omitempty"`
}

// A Correction is a word of a query and the word that was searched for in its place.
type Correction struct {
	From string `json:"from"`
	To   string `json:"to"`
}

// A ChatSource is a document that an answer cites.
type ChatSource struct {
	ID    uuid.UUID `json:"id"`
	Title string    `json:"title"`
	URL   *string   `json:"url"`
}

// ChatUsage counts the tokens of an answer.
type ChatUsage struct {
	Prompt     int `json:"promptTokens"`
	Completion int `json:"completionTokens"`
	Total      int `json:"totalTokens"`
}

// A ChatEvent is one event of an answer. Kind is its GraphQL type.
type ChatEvent struct {
	Kind           string       `json:"kind"`
	ConversationID uuid.UUID    `json:"conversationId,omitzero"`
	Delta          string       `json:"delta,omitempty"`
	Sources        []ChatSource `json:"sources,omitempty"`
	Questions      []string     `json:"questions,omitempty"`
	Usage          *ChatUsage   `json:"usage,omitempty"`
	Code           string       `json:"code,omitempty"`
	Message        string       `json:"message,omitempty"`
}
