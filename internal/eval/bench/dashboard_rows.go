package bench

import (
	"context"
	"errors"
	"fmt"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
)

// DashboardRows are the numbers of rows in a workspace that a dashboard shows.
type DashboardRows struct {
	Collections   int `json:"collections"`
	Connectors    int `json:"connectors"`
	Documents     int `json:"documents"`
	Jobs          int `json:"jobs"`          // per connector
	Conversations int `json:"conversations"` // of one person, with four messages each
	Keys          int `json:"keys"`
	Entries       int `json:"auditEntries"`
}

// Fill adds rows to a workspace until it has the numbers of d. It writes the rows
// that the pipeline writes, without passages and vectors, as the owner of the
// schema, in about a second for 10,000 documents. Documents are spread evenly over
// connectors, and connectors over collections. Each document has a text and a
// ledger entry. One document in thirty has failed.
func (d DashboardRows) Fill(ctx context.Context, owner *pgx.Conn, workspace, person uuid.UUID, model string) error {
	err := pgx.BeginFunc(ctx, owner, func(tx pgx.Tx) error {
		if _, err := tx.Exec(ctx, "select set_config('magpie.workspace', $1, true)", workspace.String()); err != nil {
			return fmt.Errorf("choose the workspace: %w", err)
		}
		for _, step := range d.steps(workspace, person, model) {
			if _, err := tx.Exec(ctx, step.sql, step.arguments...); err != nil {
				return fmt.Errorf("fill %s: %w", step.what, err)
			}
		}
		return nil
	})
	if err != nil {
		return fmt.Errorf("fill the workspace: %w", err)
	}
	if _, err := owner.Exec(ctx, "vacuum analyze"); err != nil {
		return fmt.Errorf("analyze the tables: %w", err)
	}
	return nil
}

// A step is one statement of Fill.
type step struct {
	what, sql string
	arguments []any
}

func (d DashboardRows) steps(workspace, person uuid.UUID, model string) []step {
	return []step{
		{"collections", `insert into collections (id, created_at, updated_at, workspace_id, name, description, embedding_model)
			select gen_random_uuid(), now() - n * interval '1 minute', now(), $1, 'Collection ' || lpad(n::text, 4, '0'), 'Pages of department ' || n, $3
			from generate_series((select count(*) from collections where workspace_id = $1) + 1, $2::int) n`, []any{workspace, d.Collections, model}},
		{"connectors", `with c as (select id, row_number() over (order by name) - 1 as place, count(*) over () as many from collections where workspace_id = $1)
			insert into connectors (id, created_at, updated_at, workspace_id, name, type, config, collection_id, last_sync)
			select gen_random_uuid(), now() - n * interval '1 minute', now(), $1, 'Connector ' || lpad(n::text, 4, '0'), 'file_upload', '{}', c.id, now() - n * interval '1 second'
			from generate_series((select count(*) from connectors where workspace_id = $1) + 1, $2::int) n join c on c.place = (n - 1) % c.many`, []any{workspace, d.Connectors}},
		{"documents", `with c as (select id, collection_id, row_number() over (order by name) - 1 as place, count(*) over () as many from connectors where workspace_id = $1)
			insert into documents (id, created_at, updated_at, workspace_id, source_id, path, title, status, section, tags, language, metadata, bytes, passage_count,
				failure, processed_at, indexed_at, collection_id, connector_id)
			select gen_random_uuid(), now() - n * interval '1 second', now(), $1, 'page-' || n, 'guides/part-' || n % 37 || '/page-' || n || '.md', 'Page ' || md5(n::text),
				case when n % 30 = 0 then 'FAILED' when n % 41 = 0 then 'PENDING' else 'INDEXED' end, 'guides', '["guide"]', 'en', '{"author": "Ada"}', 2000, 0,
				case when n % 30 = 0 then 'the file is damaged' end, now(), case when n % 41 <> 0 then now() end, c.collection_id, c.id
			from generate_series((select count(*) from documents where workspace_id = $1) + 1, $2::int) n join c on c.place = n % c.many`, []any{workspace, d.Documents}},
		{"texts", `insert into document_texts (document_id, collection_id, workspace_id, body, summary)
			select id, collection_id, workspace_id, repeat('A sentence of ' || title || ', which is one of many. ', 20), 'What ' || title || ' is about.'
			from documents where workspace_id = $1 on conflict do nothing`, []any{workspace}},
		{"counters", `insert into collection_state (collection_id, workspace_id, documents, passages, bytes)
			select collection_id, workspace_id, count(*) filter (where indexed_at is not null), 0, sum(bytes) from documents where workspace_id = $1 group by 1, 2
			on conflict (collection_id) do update set documents = excluded.documents, bytes = excluded.bytes`, []any{workspace}},
		{"jobs", `insert into sync_jobs (id, created_at, updated_at, workspace_id, status, collected, parsed, indexed, added, warnings, started_at, finished_at, heartbeat_at, connector_id)
			select gen_random_uuid(), now() - n * interval '6 hours', now(), $1, 'COMPLETED', 1000, 900, 900, 900, '[]', now() - n * interval '6 hours', now() - n * interval '5 hours', now(), c.id
			from connectors c, generate_series(1, $2::int) n where c.workspace_id = $1 and not exists (select from sync_jobs j where j.connector_id = c.id)`, []any{workspace, d.Jobs}},
		{"the ledger", `insert into sync_items (id, created_at, updated_at, workspace_id, job_id, document_id, source_id, path, status, reason, retryable, connector_id)
			select gen_random_uuid(), d.created_at, now(), $1, j.id, d.id, d.source_id, d.path, case when d.status = 'FAILED' then 'FAILED' else 'INDEXED' end, d.failure, d.status = 'FAILED', d.connector_id
			from documents d join (select distinct on (connector_id) connector_id, id from sync_jobs where workspace_id = $1 order by connector_id, created_at desc) j using (connector_id)
			where d.workspace_id = $1 on conflict do nothing`, []any{workspace}},
		{"conversations", `insert into conversations (id, created_at, updated_at, workspace_id, subject_id, title)
			select gen_random_uuid(), now(), now() - n * interval '1 hour', $1, $3, 'How is part ' || n || ' restored?'
			from generate_series((select count(*) from conversations where workspace_id = $1) + 1, $2::int) n`, []any{workspace, d.Conversations, person}},
		{"messages", `insert into messages (id, created_at, updated_at, workspace_id, conversation_id, subject_id, role, content)
			select gen_random_uuid(), c.created_at + n * interval '1 second', now(), $1, c.id, $2, case when n % 2 = 1 then 'USER' else 'ASSISTANT' end, repeat('Words of a talk. ', 20)
			from conversations c, generate_series(1, 4) n where c.workspace_id = $1 and not exists (select from messages m where m.conversation_id = c.id)`, []any{workspace, person}},
		{"keys", `insert into api_keys (id, created_at, updated_at, workspace_id, name, publishable_hash, secret_hash, publishable_hint, secret_hint, allowed_collections, allowed_hosts, allowed_referers)
			select gen_random_uuid(), now(), now(), $1, 'Site ' || n, sha256(('p' || n)::bytea), sha256(('s' || n)::bytea), 'svc_pk_' || n, 'svc_sk_' || n, '[]', '["*"]', '[]'
			from generate_series((select count(*) from api_keys where workspace_id = $1) + 1, $2::int) n`, []any{workspace, d.Keys}},
		{"questions", `insert into query_texts (workspace_id, id, text, last_day, queries, zero_results)
			select $1, n, 'how do i restore part ' || n, current_date, 1000 - n, n % 7 from generate_series(1, 500) n on conflict do nothing`, []any{workspace}},
		{"counts of days", `insert into query_stats (workspace_id, day, kind, surface, bucket, queries, pages, zero_results, clicks, clicked, ranked_clicks, reciprocal_ranks, positive, negative)
			select $1, current_date - n, k, 'public', b, 100, 10, 5, 20, 15, 15, 9, 3, 1 from generate_series(0, 29) n, unnest(array['search', 'chat']) k, generate_series(0, 15) b
			on conflict do nothing`, []any{workspace}},
		{"counts of questions", `insert into query_text_days (workspace_id, day, text_id, kind, queries, zero_results, clicks, scored, scores, last_at)
			select $1, current_date - n, t, 'search', 10, t % 7, 2, 10, 5, now() from generate_series(0, 29) n, generate_series(1, 500) t on conflict do nothing`, []any{workspace}},
		{"audit entries", `insert into audit_entries (id, workspace_id, created_at, actor_kind, actor_id, actor_name, action, target_kind, target_name, changes)
			select gen_random_uuid(), $1, now() - n * interval '1 minute', 'PERSON', $3, 'admin@example.com', 'connector.update', 'connector', 'Connector ' || n % 100,
				'[{"field": "name", "old": "a", "new": "b", "hidden": false}]'
			from generate_series((select count(*) from audit_entries where workspace_id = $1) + 1, $2::int) n`, []any{workspace, d.Entries, person}},
	}
}

// Tenth returns a tenth of the rows.
func (d DashboardRows) Tenth() DashboardRows {
	part := func(n int) int { return max(1, n/10) }
	return DashboardRows{
		Collections: part(d.Collections), Connectors: part(d.Connectors), Documents: part(d.Documents), Jobs: d.Jobs,
		Conversations: part(d.Conversations), Keys: part(d.Keys), Entries: part(d.Entries),
	}
}

// A Query is a GraphQL query of a dashboard. It may have the variables $connector
// and $document, which are ids that change with each call.
type Query struct{ Name, Text string }

// DashboardQueries returns ten queries of a dashboard.
func DashboardQueries() []Query {
	const page = " totalCount pageInfo { hasNextPage endCursor } "
	return []Query{
		{"collections with statistics and connectors", `{ collections(first: 50, orderBy: [{field: NAME}]) {` + page + `edges { node { id name description embeddingModel createdAt
			stats { documentCount embeddingCount storageBytes lastSync } connectors(first: 5) { edges { node { id name status } } } } } } }`},
		{"connectors with their last sync", `{ connectors(first: 50, orderBy: [{field: NAME}]) {` + page + `edges { node { id name type status lastSync collection { name }
			jobs(first: 1, orderBy: [{field: CREATED_AT, direction: DESC}]) { edges { node { id status finishedAt stats { added errors } } } } } } } }`},
		{"a connector with documents, sorted and filtered", `query($connector: ID!) { connector(id: $connector) { id name config docSync { syncStrategy } }
			documents(connectorId: $connector, first: 50, status: [INDEXED], matching: "part-3", orderBy: [{field: TITLE}]) {` + page + `edges { node { id title path status bytes tags collectionName source } } } }`},
		{"a page of the ledger", `query($connector: ID!) { syncItems(connectorId: $connector, first: 50, status: [FAILED, INDEXED], orderBy: [{field: PATH}]) {` + page + `edges { node { id path status reason retryable } } } }`},
		{"the syncs of a connector", `query($connector: ID!) { syncJobs(connectorId: $connector, first: 50, orderBy: [{field: CREATED_AT, direction: DESC}]) {` + page + `edges { node { id status startedAt finishedAt progress { indexed } stats { added errors } } } } }`},
		{"conversations with their last message", `{ conversations(first: 50, orderBy: [{field: UPDATED_AT, direction: DESC}]) {` + page + `edges { node { id title updatedAt messages(last: 1) { edges { node { role content } } } } } } }`},
		{"API keys", `{ apiKeys(first: 50) {` + page + `edges { node { id name status publishableHint secretHint lastUsedAt } } } }`},
		{"query analytics", `{ queryAnalytics { totals { searches chats zeroResultRate clickThroughRate p50Ms p95Ms } daily { date searches chats } topQueries { query count } zeroResultQueries { query count } } }`},
		{"a document with its content", `query($document: ID!) { document(id: $document) { id title status content summary collectionName source allMetadata } }`},
		{"collections, their connectors, their documents", `{ collections(first: 20) { edges { node { id name connectors(first: 5) { totalCount edges { node { id name documents(first: 5) { totalCount edges { node { id title status } } } } } } } } } }`},
	}
}

// ErrNoRows says that a workspace has no connectors or no documents.
var ErrNoRows = errors.New("the workspace has no connectors or documents")

// DashboardIDs returns connectors and documents of a workspace, at most 1,000 each.
func DashboardIDs(ctx context.Context, owner *pgx.Conn, workspace uuid.UUID) (connectors, documents []uuid.UUID, err error) {
	for table, out := range map[string]*[]uuid.UUID{"connectors": &connectors, "documents": &documents} {
		rows, err := owner.Query(ctx, "select id from "+table+" where workspace_id = $1 order by id limit 1000", workspace)
		if err != nil {
			return nil, nil, fmt.Errorf("list %s: %w", table, err)
		}
		if *out, err = pgx.CollectRows(rows, pgx.RowTo[uuid.UUID]); err != nil {
			return nil, nil, fmt.Errorf("list %s: %w", table, err)
		}
		if len(*out) == 0 {
			return nil, nil, ErrNoRows
		}
	}
	return connectors, documents, nil
}
