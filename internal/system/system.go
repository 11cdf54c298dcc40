package system

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/redis/go-redis/v9"

	"github.com/magpie-search/magpie/internal/queue"
	"github.com/magpie-search/magpie/internal/search/resident"
	"github.com/magpie-search/magpie/internal/viewer"
)

const (
	// checkTimeout bounds the questions to each store.
	checkTimeout = 2 * time.Second
	// maxCollections bounds the collections of a report.
	maxCollections = 500
)

// Options configure a System. All fields are required.
type Options struct {
	Pool  *pgxpool.Pool
	Redis redis.UniversalClient
	Queue *queue.Asynq
	// Loaded returns the sizes of the resident collections of a workspace.
	Loaded func(workspace uuid.UUID) map[uuid.UUID]resident.Size
	// Models are the configured models.
	Models []ConfiguredModel
	// HasEngine says that this process has a search engine.
	HasEngine bool
	// IsOpen says that anybody may create a workspace, whose administrator must not learn
	// about workers, queues and failures of models.
	IsOpen bool
	Now    func() time.Time
}

// A ConfiguredModel is a model of the settings.
type ConfiguredModel struct {
	Kind string // chat, embedding or reranker
	Name string
	// IsFailing reports whether calls fail at the moment; nil if that is not known.
	IsFailing func() bool
	// LastFailure returns the last failure, or false; nil if that is not known.
	LastFailure func() (Failure, bool)
}

// A Failure is a failure of a model. The reason is a sentence that is safe to show.
type Failure struct {
	At     time.Time
	Reason string
}

// System reports the state of the installation, as this process sees it. It is safe
// for concurrent use.
type System struct {
	o       Options
	started time.Time
}

// New returns a System of a process that starts now.
func New(o Options) *System { return &System{o: o, started: o.Now()} }

// A Report is the state of the installation. Collections and some warnings are those
// of one workspace; everything else is the same for all and names no workspace.
type Report struct {
	Version   string
	StartedAt time.Time // of this process
	// SchemaVersion is the newest step of the database's schema.
	SchemaVersion int64
	Services      []*Service
	Restricted    bool                 // without workers, queues and failures of models
	Workers       []*queue.WorkerState // none while Redis cannot be reached
	Queues        []*queue.State
	Models        []*Model
	Collections   []*Collection
	Warnings      []*Warning
}

// A Service is a store.
type Service struct {
	Name      string // PostgreSQL, pgvector or Redis
	Version   string // empty while it cannot be reached
	Reachable bool
}

// A Model is a configured model.
type Model struct {
	Kind, Name string
	Failing    bool // calls fail at the moment
	// LastFailure is nil for none.
	LastFailure *Failure
}

// A Collection is a collection with the way in which it is searched.
type Collection struct {
	ID   uuid.UUID
	Name string
	// Resident tells that this process searches it in memory, with this many passages
	// and bytes. It searches all others in PostgreSQL, or loads them when asked.
	Resident bool
	Passages int
	Bytes    int64
	Engine   *Projection // nil if it is not to be in the search engine
}

// A Warning is something that needs attention.
type Warning struct {
	Code string // in capitals, for programs
	Text string // a sentence with what is wrong
	// Action is a sentence with what to do.
	Action string
}

// Report returns the present state, with what belongs to the workspace of the scope.
// A store that cannot be reached is a part of the report; only without PostgreSQL it
// is an error.
func (s *System) Report(ctx context.Context, scope viewer.Scope) (*Report, error) {
	workspace, err := scope.Workspace()
	if err != nil {
		return nil, fmt.Errorf("report the state of the system: %w", err)
	}
	r := &Report{Version: Version(), StartedAt: s.started.UTC(), Restricted: s.o.IsOpen, Workers: []*queue.WorkerState{}, Queues: []*queue.State{}, Models: []*Model{}, Warnings: []*Warning{}}
	if err := s.readDatabase(ctx, r); err != nil {
		return nil, fmt.Errorf("report the state of the system: %w", err)
	}
	s.readRedis(ctx, r)
	s.readModels(r)
	if err := s.readFingerprints(ctx, r); err != nil {
		return nil, fmt.Errorf("report the state of the system: %w", err)
	}
	if err := s.readWorkspace(ctx, r, workspace); err != nil {
		return nil, fmt.Errorf("report the state of the system: %w", err)
	}
	return r, nil
}

func (r *Report) warn(code, text, action string) {
	r.Warnings = append(r.Warnings, &Warning{Code: code, Text: text, Action: action})
}

func (s *System) readDatabase(ctx context.Context, r *Report) error {
	var server, vector string
	err := s.o.Pool.QueryRow(ctx, `select current_setting('server_version'), (select extversion from pg_extension where extname = 'vector'),
		(select coalesce(max(version_id), 0) from goose_db_version where is_applied)`).Scan(&server, &vector, &r.SchemaVersion)
	if err != nil {
		return fmt.Errorf("read the versions of the database: %w", err)
	}
	server, _, _ = strings.Cut(server, " ") // without the name of the package
	r.Services = append(r.Services, &Service{"PostgreSQL", server, true}, &Service{"pgvector", vector, true})
	return nil
}

func (s *System) readRedis(ctx context.Context, r *Report) {
	ctx, cancel := context.WithTimeout(ctx, checkTimeout)
	defer cancel()
	info, err := s.o.Redis.Info(ctx, "server").Result()
	service := &Service{Name: "Redis", Version: lineOf(info, "redis_version"), Reachable: err == nil}
	r.Services = append(r.Services, service)
	var workers []*queue.WorkerState
	var queues []*queue.State
	if err == nil {
		workers, queues, err = s.readQueues()
	}
	if err != nil {
		service.Version, service.Reachable = "", false
		r.warn("REDIS_UNREACHABLE", "Redis cannot be reached, so syncs do not start and rate limits count in each process.", "Start Redis, or correct REDIS_URL.")
		return
	}
	if len(workers) == 0 {
		r.warn("NO_WORKER", "No worker is running, so that no sync, deletion or automation goes on.", "Start magpie worker with the same settings.")
	}
	if s.o.IsOpen {
		return
	}
	r.Workers, r.Queues = workers, queues
	for _, q := range queues {
		if q.Archived > 0 {
			r.warn("ARCHIVED_TASKS", fmt.Sprintf("%d tasks of the queue %s were given up after many attempts.", q.Archived, q.Name), "Look for \"task failed\" in the log of the workers.")
		}
	}
}

func (s *System) readQueues() ([]*queue.WorkerState, []*queue.State, error) {
	workers, err := s.o.Queue.Workers()
	if err != nil {
		return nil, nil, err
	}
	queues, err := s.o.Queue.States()
	return workers, queues, err
}

// lineOf returns the value of a line of Redis's INFO.
func lineOf(info, name string) string {
	for line := range strings.Lines(info) {
		if value, ok := strings.CutPrefix(strings.TrimSpace(line), name+":"); ok {
			return value
		}
	}
	return ""
}

func (s *System) readModels(r *Report) {
	chats := 0
	for _, m := range s.o.Models {
		model := &Model{Kind: m.Kind, Name: m.Name, Failing: m.IsFailing != nil && m.IsFailing()}
		if m.LastFailure != nil && !s.o.IsOpen {
			if last, ok := m.LastFailure(); ok {
				model.LastFailure = &last
			}
		}
		if m.Kind == "chat" {
			chats++
		}
		if model.Failing {
			r.warn("MODEL_FAILING", fmt.Sprintf("The %s model %q fails at the moment.", m.Kind, m.Name), "Check that its service is up and accepts the key; the log has the errors.")
		}
		r.Models = append(r.Models, model)
	}
	if chats == 0 {
		r.warn("NO_CHAT_MODEL", "No chat model is configured, so that answers quote passages and agents only look things up.", "Set LLM_CONFIG, or LLM_BASE_URL and LLM_MODEL.")
	}
}

// readFingerprints warns of models that give other vectors than before.
func (s *System) readFingerprints(ctx context.Context, r *Report) error {
	rows, err := s.o.Pool.Query(ctx, "select model, reason from embedding_fingerprints where changed_at is not null order by model")
	if err != nil {
		return fmt.Errorf("read the fingerprints of models: %w", err)
	}
	var name, reason string
	_, err = pgx.ForEachRow(rows, []any{&name, &reason}, func() error {
		if slices.ContainsFunc(s.o.Models, func(m ConfiguredModel) bool { return m.Kind == "embedding" && m.Name == name }) {
			r.warn("MODEL_CHANGED", fmt.Sprintf("The embedding model %q gives other vectors than before. %s", name, reason),
				fmt.Sprintf("Configure the model under a new name and change its collections to that. If its vectors fit the stored ones, run `magpie models accept %s`.", name))
		}
		return nil
	})
	if err != nil {
		return fmt.Errorf("read the fingerprints of models: %w", err)
	}
	return nil
}

func (s *System) readWorkspace(ctx context.Context, r *Report, workspace uuid.UUID) error {
	loaded := s.o.Loaded(workspace)
	rows, err := s.o.Pool.Query(ctx, `select c.id, c.name, c.search_tier = 'ENGINE', `+projectionColumns+`
		from (select * from collections where workspace_id = $1 and deleting_at is null order by name, id limit $2) c
		left join collection_state s on s.collection_id = c.id left join engine_collections e on e.collection_id = c.id
		order by c.name, c.id`, workspace, maxCollections)
	if err != nil {
		return fmt.Errorf("list the collections: %w", err)
	}
	chosen := 0
	r.Collections, err = pgx.CollectRows(rows, func(row pgx.CollectableRow) (*Collection, error) {
		c := &Collection{}
		var isChosen bool
		var p projectionRow
		err := row.Scan(append([]any{&c.ID, &c.Name, &isChosen}, p.fields()...)...)
		c.Engine = p.projection()
		if isChosen {
			chosen++
		}
		if size, ok := loaded[c.ID]; ok {
			c.Resident, c.Passages, c.Bytes = true, size.Passages, size.Bytes
		}
		return c, err
	})
	if err != nil {
		return fmt.Errorf("list the collections: %w", err)
	}
	s.warnOfProjections(r, chosen)
	var failing, closed, waiting int
	err = s.o.Pool.QueryRow(ctx, `select count(*) filter (where status = 'ERROR'), count(*) filter (where status = 'NEEDS_AUTH'),
			(select count(*) from quarantines q where q.workspace_id = $1)
		from connectors where workspace_id = $1 and deleting_at is null and enabled`, workspace).Scan(&failing, &closed, &waiting)
	if err != nil {
		return fmt.Errorf("count the connectors: %w", err)
	}
	if failing > 0 {
		r.warn("CONNECTORS_FAILING", fmt.Sprintf("The last sync of %s failed.", several(failing)), "Open the connectors with the status error; each has its last error.")
	}
	if closed > 0 {
		r.warn("CONNECTORS_NEED_AUTH", fmt.Sprintf("%s cannot sign in to the source.", upper(several(closed))), "Open the connectors that need authorization, and connect them again.")
	}
	if waiting > 0 {
		r.warn("QUARANTINE_WAITING", fmt.Sprintf("Deletions of %s wait for a decision.", several(waiting)), "Look at the quarantine of each, and approve or dismiss.")
	}
	return nil
}

func several(n int) string {
	if n == 1 {
		return "one connector"
	}
	return fmt.Sprintf("%d connectors", n)
}

func upper(text string) string { return strings.ToUpper(text[:1]) + text[1:] }
