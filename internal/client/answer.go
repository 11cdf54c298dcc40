package command

import (
	"time"

	"github.com/google/uuid"
)

// The rows that operations answer with, as commands print them. Their JSON is
// what --json prints.

type collectionStats struct {
	Documents    int        `json:"documentCount"`
	Embeddings   int        `json:"embeddingCount"`
	StorageBytes int64      `json:"storageBytes"`
	LastSync     *time.Time `json:"lastSync"`
}

type collectionRow struct {
	ID             uuid.UUID       `json:"id"`
	Name           string          `json:"name"`
	Description    *string         `json:"description"`
	EmbeddingModel string          `json:"embeddingModel"`
	NextModel      *string         `json:"nextEmbeddingModel"`
	CreatedAt      time.Time       `json:"createdAt"`
	UpdatedAt      time.Time       `json:"updatedAt"`
	Stats          collectionStats `json:"stats"`
	ConnectorIDs   []uuid.UUID     `json:"connectorIds,omitempty"`
}

type connectorRow struct {
	ID         uuid.UUID `json:"id"`
	Name       string    `json:"name"`
	Type       string    `json:"type"`
	Status     string    `json:"status"`
	Enabled    bool      `json:"enabled"`
	Collection struct {
		ID   uuid.UUID `json:"id"`
		Name string    `json:"name"`
	} `json:"collection"`
	Config  map[string]any `json:"config"`
	DocSync struct {
		Strategy string `json:"syncStrategy"`
		Interval string `json:"scheduleInterval"`
	} `json:"docSync"`
	NextSyncAt *time.Time `json:"nextSyncAt"`
	LastSync   *time.Time `json:"lastSync"`
	LastError  *string    `json:"lastError"`
	CreatedAt  time.Time  `json:"createdAt"`
}

type kindOption struct {
	Name      string   `json:"name"`
	Title     string   `json:"title"`
	Help      string   `json:"help"`
	Type      string   `json:"type"`
	Required  bool     `json:"required"`
	Sensitive bool     `json:"sensitive"`
	Default   any      `json:"default"`
	Example   *string  `json:"example"`
	Choices   []string `json:"choices"`
}

type kindRow struct {
	Name         string       `json:"name"`
	Title        string       `json:"title"`
	Description  string       `json:"description"`
	Aliases      []string     `json:"aliases"`
	AcceptsFiles bool         `json:"acceptsFiles"`
	Options      []kindOption `json:"options"`
	Credentials  []kindOption `json:"credentials"`
}

type fileRow struct {
	ID        uuid.UUID `json:"id"`
	Path      string    `json:"path"`
	MediaType string    `json:"mediaType"`
	Bytes     int64     `json:"bytes"`
	SHA256    string    `json:"sha256"`
	UpdatedAt time.Time `json:"updatedAt"`
}

type jobProgress struct {
	Collected int `json:"collected"`
	Parsed    int `json:"parsed"`
	Indexed   int `json:"indexed"`
}

type jobStats struct {
	Added     int `json:"added"`
	Modified  int `json:"modified"`
	Deleted   int `json:"deleted"`
	Unchanged int `json:"unchanged"`
	Skipped   int `json:"skipped"`
	Errors    int `json:"errors"`
}

// settled is how many items have come to an end.
func (s jobStats) settled() int {
	return s.Added + s.Modified + s.Unchanged + s.Skipped + s.Errors
}

type jobRow struct {
	ID          uuid.UUID   `json:"id"`
	ConnectorID uuid.UUID   `json:"connectorID,omitzero"`
	Status      string      `json:"status"`
	Mode        string      `json:"mode,omitempty"`
	Cause       string      `json:"cause,omitempty"`
	Progress    jobProgress `json:"progress"`
	Stats       jobStats    `json:"stats"`
	Warnings    []string    `json:"warnings"`
	Error       *string     `json:"error"`
	StartedAt   time.Time   `json:"startedAt"`
	FinishedAt  *time.Time  `json:"finishedAt"`
}

func (j jobRow) ended() bool { return j.Status != "QUEUED" && j.Status != "RUNNING" }

type itemRow struct {
	Path       string     `json:"path"`
	Status     string     `json:"status"`
	Reason     *string    `json:"reason"`
	Retryable  bool       `json:"retryable"`
	Suppressed bool       `json:"suppressed"`
	DocumentID *uuid.UUID `json:"documentID"`
	UpdatedAt  time.Time  `json:"updatedAt"`
}

type keyRow struct {
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

type hitRow struct {
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
}

type searchAnswer struct {
	Total   int      `json:"total"`
	Limit   int      `json:"limit"`
	Offset  int      `json:"offset"`
	TookMs  float64  `json:"tookMs"`
	Results []hitRow `json:"results"`
}

type chatSource struct {
	ID    uuid.UUID `json:"id"`
	Title string    `json:"title"`
	URL   *string   `json:"url"`
}

type chatUsage struct {
	Prompt     int `json:"promptTokens"`
	Completion int `json:"completionTokens"`
	Total      int `json:"totalTokens"`
}

type chatEvent struct {
	Kind           string       `json:"kind"`
	ConversationID uuid.UUID    `json:"conversationId,omitzero"`
	Delta          string       `json:"delta,omitempty"`
	Sources        []chatSource `json:"sources,omitempty"`
	Questions      []string     `json:"questions,omitempty"`
	Usage          *chatUsage   `json:"usage,omitempty"`
	Code           string       `json:"code,omitempty"`
	Message        string       `json:"message,omitempty"`
}

// text is what a possible text prints as.
func text(s *string) string {
	if s == nil {
		return ""
	}
	return *s
}

// moment is what a possible time prints as.
func moment(t *time.Time) string {
	if t == nil {
		return "-"
	}
	return t.Local().Format("2006-01-02 15:04")
}
