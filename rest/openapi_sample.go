package rest

import "github.com/magpie-search/magpie/rest/openapi"

// samples are the values of the description's examples, by the names of fields.
// A field that is not here gets a value that fits its schema.
func samples() openapi.Samples {
	return openapi.Samples{ //nolint:gosec // examples only
		"query": "how do I restore a backup?", "message": "How do I restore a backup?",
		"email": "ada@example.com", "password": "correct horse battery staple",
		"access_token": "eyJhbGciOiJIUzI1NiJ9.e30.c2lnbmF0dXJl", "refresh_token": "rt_5b1f0c9d2e7a4836",
		"name": "Handbook", "collection": "Handbook", "limit": 10, "offset": 0, "description": "How we work", "embeddingModel": "builtin", "nextEmbeddingModel": nil,
		"title": "Restore a backup", "url": "https://docs.example.com/guides/restore", "path": "guides/restore.md",
		"paths": []any{"guides/restore.md"}, "file_filter": []any{"guides/restore.md"},
		"snippet": "To restore a <mark>backup</mark>, stop the server first.", "content": "# Restore a backup\n\nStop the server first.",
		"summary": "How a backup is restored.", "score": 0.82, "min_score": 0.5, "total": 12, "took_ms": 4.2,
		"section": "guides", "version": "2.0", "tags": []any{"backup"}, "doc_type": "guide", "doc_types": []any{"guide"}, "docType": "guide",
		"language": "en", "author": "Ada Lovelace", "pages": 3, "size": 5120, "mediaType": "text/markdown",
		"sha256":       "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855",
		"heading_path": []any{"Backups", "Restore"}, "source": "file_upload", "type": "s3",
		"documentCount": 42, "embeddingCount": 310, "storageBytes": 1048576,
		"config": map[string]any{"bucket": "docs", "region": "eu-central-1"}, "metadata": map[string]any{"author": "Ada Lovelace"},
		"credentials": map[string]any{"accessKeyId": "AKIAEXAMPLE", "secretAccessKey": "example"},
		"details":     map[string]any{"bucket": "docs"}, "sync_mode": "auto", "schedule_interval": "6h",
		"did_you_mean": "how do I restore a backup?", "corrected": []any{map[string]any{"from": "bakup", "to": "backup"}},
		"failure": nil, "error": nil, "lastError": nil, "warnings": []any{}, "next_cursor": nil,
		"systemPrompt": "You help colleagues to restore backups.", "tools": []any{"search_documents"}, "startMessage": "Which backup is it?", "model": nil,
		"collections": []any{"018f3c2a-5b7e-8a91-b0c4-2d6e8f0a1b3c"}, "allCollections": false, "importance": 0.5, "category": "operations", "q": "how are backups restored?",
		"action": "connector.update", "actorKind": "person", "actorName": "ada@example.com", "targetKind": "connector", "targetName": "Handbook",
		"field": "name", "old": "Docs", "new": "Handbook", "ip": "192.0.2.7", "requestId": "RQ7Z3XJ2",
		"delta": "Stop the server first [1].", "questions": []any{"How often should I back up?"},
		"ranges": []any{"2026-01-01/2026-02-01"}, "facets": "section,tags", "prefix": "resto", "distinct": "document",
		"prompt_tokens": 812, "completion_tokens": 64, "total_tokens": 876, "promptTokens": 812, "completionTokens": 64,
	}
}

func (d *describer) sample(name string, schema *openapi.Schema) any {
	return d.samples.Of(name, schema, d.doc.Components.Schemas)
}
