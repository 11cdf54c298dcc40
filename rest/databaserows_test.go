package rest_test

// databaseID is the id of an attached database of the fixture.
const databaseID = "018f0000-0000-8003-8000-00000000000d"

// databaseRows returns the results of the root fields of attached databases, of groups
// of the sources, and of the system.
func databaseRows() map[string]any {
	table := object{
		"database": "Shop", "databaseId": databaseID, "dialect": "PostgreSQL", "table": "public.orders", "kind": "table", "comment": "What customers bought", "estimatedRows": 41,
		"columns":    []any{object{"name": "state", "type": "mood", "nullable": true, "default": "", "values": []any{"good", "bad"}, "comment": ""}},
		"primaryKey": []any{"order_id"}, "joins": []any{"public.orders.customer_id = public.customers.customer_id"}, "moreColumns": 0, "matchedColumns": []any{"state"},
		"sampleRows": object{"columns": []any{"order_id", "state"}, "rows": []any{[]any{9007199254740993, "good"}, []any{2, nil}}, "notice": ""},
	}
	group := object{"id": "staff@example.com", "name": "Staff", "memberCount": 2, "emails": []any{"ada@example.com"}, "groups": []any{"7"}, "domains": []any{}}
	return map[string]any{
		"sourceGroups": page("end+of/groups", group), "sourceGroup": group,
		"directoryGroups": page("end+of/groups", object{"id": jobID, "name": "Engineers", "memberCount": 3}),
		"system": object{
			"version": "v1.2.3", "startedAt": early, "schemaVersion": 20261128000500, "restricted": false, "services": []any{object{"name": "PostgreSQL", "version": "17.1", "reachable": true}},
			"workers":     []any{object{"id": jobID, "startedAt": early, "status": "active", "concurrency": 4, "running": []any{object{"name": "sync", "startedAt": late}}}},
			"queues":      []any{object{"name": "magpie", "pending": 3, "active": 1, "scheduled": 0, "retry": 0, "archived": 0, "oldestSeconds": 1.5}},
			"models":      []any{object{"kind": "chat", "name": "m-1", "failing": true, "lastFailure": object{"at": late, "reason": "The service took too long."}}},
			"collections": []any{object{"id": collectionID, "name": "Handbook", "resident": true, "passages": 310, "bytes": 1048576}},
			"warnings":    []any{object{"code": "QUARANTINE_WAITING", "text": "Deletions of one connector wait for a decision.", "action": "Look at the quarantine of each, and approve or dismiss."}},
		},
		"databases":      []any{object{"id": databaseID, "name": "Shop", "dialect": "PostgreSQL", "collectionId": collectionID, "schemaSyncedAt": late, "tables": 1, "lastError": nil}},
		"databaseTables": page("end+of/tables", table), "databaseTable": table, "databaseSchema": []any{table},
		"queryDatabase": object{
			"database": "Shop", "columns": []any{"state", "n"}, "types": []any{"mood", "bigint"}, "rows": []any{[]any{"good", 40}, []any{nil, 1}}, "truncated": "rows",
			"leftOut": 3, "leftOutAtLeast": false, "notice": "3 rows are left out.", "tookMs": 1.5,
		},
	}
}

// databaseExamples returns the requests of the transcripts of attached databases, of
// groups of the sources, and of the system.
func databaseExamples() map[string][]example {
	const all, one = "/api/v1/databases", "/api/v1/databases/" + databaseID
	const groups = "/api/v1/connectors/" + connectorID + "/groups"
	return map[string][]example{
		"GET /api/v1/system":                           {{target: "/api/v1/system"}, {target: "/api/v1/system", bare: true}},
		"GET /api/v1/connectors/{id}/groups":           {{target: groups + "?q=staff&limit=1"}, {target: "/api/v1/connectors/x/groups"}, {target: groups + "?cursor=x"}},
		"GET /api/v1/directory-groups":                 {{target: "/api/v1/directory-groups?q=eng&limit=1"}, {target: "/api/v1/directory-groups?cursor=x"}, {target: "/api/v1/directory-groups", bare: true}},
		"GET /api/v1/connectors/{id}/groups/{groupId}": {{target: groups + "/staff@example.com"}, {target: groups + "/a%2Fb"}, {target: "/api/v1/connectors/x/groups/7"}},
		"GET " + all:                          {{target: all}, {target: all + "?collection=" + collectionID}, {target: all + "?collection=7"}, {target: all, bare: true}},
		"GET " + all + "/search":              {{target: all + "/search?query=orders&limit=3&database=" + databaseID}, {target: all + "/search"}, {target: all + "/search?query=x&limit=51"}},
		"GET " + all + "/{id}/tables":         {{target: one + "/tables?q=order&limit=1"}, {target: all + "/x/tables"}, {target: one + "/tables?limit=0"}},
		"GET " + all + "/{id}/tables/{table}": {{target: one + "/tables/public.orders"}, {target: one + "/tables/a%2Fb%20c"}, {target: one + "/tables/%00"}, {target: all + "/x/tables/orders"}},
		"POST " + all + "/{id}/query": {
			{target: one + "/query", body: `{"sql":"select state, count(*) from orders group by 1","limit":2}`}, {target: one + "/query", body: `{"sql":" "}`},
			{target: one + "/query", body: `{"sql":"select 1","limit":1001}`}, {target: all + "/x/query", body: `{"sql":"select 1"}`}, {target: one + "/query", body: `{"sql":"select 1"}`, bare: true},
		},
	}
}
