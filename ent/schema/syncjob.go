package schema

import (
	"entgo.io/contrib/entgql"
	"entgo.io/ent"
	"entgo.io/ent/schema"
	"entgo.io/ent/schema/edge"
	"entgo.io/ent/schema/field"
	"entgo.io/ent/schema/index"
	"github.com/google/uuid"

	"github.com/magpie-search/magpie/ent/gid"
	"github.com/magpie-search/magpie/ent/rule"
	"github.com/magpie-search/magpie/internal/viewer"
)

// A SyncJob is a job that reads a connector's source. The row is the only state of the job;
// queues carry its id.
type SyncJob struct{ ent.Schema }

// Mixin of SyncJob.
func (SyncJob) Mixin() []ent.Mixin { return []ent.Mixin{base{kind: gid.SyncJob}, tenant{}} }

// Fields of SyncJob.
func (SyncJob) Fields() []ent.Field {
	count := func(name string) ent.Field {
		return field.Int(name).Default(0).NonNegative().Annotations(hidden())
	}
	return []ent.Field{
		field.UUID("connector_id", uuid.UUID{}).Immutable().Annotations(entgql.Type("ID")),
		field.Enum("status").
			NamedValues("Queued", "QUEUED", "Running", "RUNNING", "Completed", "COMPLETED", "Partial", "PARTIAL", "Failed", "FAILED", "Canceled", "CANCELED").
			Default("QUEUED"),
		field.Enum("mode").NamedValues("Auto", "AUTO", "Full", "FULL", "Incremental", "INCREMENTAL", "Permissions", "PERMISSIONS",
			"Plan", "PLAN", "Delete", "DELETE", "Restore", "RESTORE").Default("AUTO").Immutable(),
		field.Enum("planned_mode").NamedValues("Auto", "AUTO", "Full", "FULL", "Incremental", "INCREMENTAL").Optional().Nillable().Immutable().
			Comment("of a plan: the mode of the planned sync"),
		field.UUID("target_job_id", uuid.UUID{}).Optional().Nillable().Immutable().Annotations(entgql.Type("ID")).
			Comment("of a restore: the job whose deletions are undone"),
		field.Enum("cause").NamedValues("Manual", "MANUAL", "Schedule", "SCHEDULE", "Webhook", "WEBHOOK", "Retry", "RETRY").Default("MANUAL").Immutable(),
		field.JSON("file_filter", []string{}).Optional().Immutable(),
		count("collected"), count("parsed"), count("indexed"),
		count("added"), count("modified"), count("deleted"), count("unchanged"), count("skipped"), count("failed"),
		field.Int("pages").Default(0).NonNegative().Comment("number of pages of the source that were read"),
		field.Int64("bytes_fetched").Default(0).NonNegative().Annotations(entgql.Type("Int64")).Comment("bytes of content that were read from the source"),
		field.Int("retried").Default(0).NonNegative().Comment("how often a slice was retried after a failure or a rate limit"),
		field.JSON("warnings", []string{}).Default([]string{}),
		field.String("error").Optional().Nillable().MaxLen(2000).Comment("why the whole job failed, safe to show"),
		field.Time("started_at").Optional().Nillable().Annotations(hidden()).Comment("when a worker first took it"),
		field.Time("finished_at").Optional().Nillable(),
		field.Int("attempt").Default(0).Annotations(hidden()).Comment("fence: increased when a worker takes the job; writes must name the current number"),
		field.Int("revision").Default(0).Annotations(hidden()).Comment("increased by every change of state or counters"),
		field.Text("cursor").Default("").Annotations(hidden()).Comment("where the walk continues"),
		field.Bool("walked").Default(false).Annotations(hidden()).Comment("the walk is complete"),
		field.Bool("feed").Default(false).Annotations(hidden()).Comment("it reads changes; the cursor is a token of the source"),
		field.Text("feed_token").Optional().Nillable().Annotations(hidden()).Comment("the token from which the next sync reads changes"),
		field.String("settings_hash").Default("").MaxLen(64).Annotations(hidden()).Comment("of the connector's settings when it began; empty before"),
		field.JSON("incomplete", []string{}).Optional().Annotations(hidden()).Comment("containers that the source cannot list completely"),
		field.Int("announced").Default(0).NonNegative().Annotations(hidden()).Comment("number of items that the source says it has; 0 if it does not say"),
		field.String("waits_for").Default("").MaxLen(16).Annotations(hidden()).Comment("why turn_at is in the future: pace or retry"),
		field.Time("heartbeat_at").Default(timeNow).Annotations(hidden()),
		field.Int("retries").Default(0).Annotations(hidden()).Comment("failed attempts in a row without progress"),
		field.Bool("cancel_requested").Default(false).Annotations(hidden()),
		field.Time("turn_at").Optional().Nillable().Annotations(hidden()).Comment("when it began to wait for a worker; null while a worker has it"),
		field.Time("taken_at").Optional().Nillable().Annotations(hidden()).Comment("when a worker last took it"),
		field.Int("turns").Default(0).NonNegative().Annotations(hidden()).Comment("how often a worker took it"),
	}
}

// Edges of SyncJob.
func (SyncJob) Edges() []ent.Edge {
	return []ent.Edge{
		edge.From("connector", Connector.Type).Ref("jobs").Field("connector_id").Unique().Required().Immutable(),
	}
}

// Indexes of SyncJob. The migrations add a unique index, which allows a connector one open
// job, and the indexes of the scheduler.
func (SyncJob) Indexes() []ent.Index {
	return []ent.Index{
		index.Fields("connector_id", "created_at"),
	}
}

// Policy of SyncJob.
func (SyncJob) Policy() ent.Policy {
	return rule.Tenant{Role: viewer.RoleEditor, OfConnector: true}
}

// Annotations of SyncJob.
func (SyncJob) Annotations() []schema.Annotation {
	return []schema.Annotation{entgql.RelayConnection(), entgql.MultiOrder()}
}
