package rest_test

// databaseID is the id of an attached database of the fixture.
const databaseID = "018f0000-0000-8003-8000-00000000000d"

// databaseRows returns the results of the root fields of attached databases.
func databaseRows() map[string]any {
	table := object{
		"database": "Shop", "databaseId": databaseID, "dialect": "PostgreSQL", "table": "public.orders", "kind": "table", "comment": "What customers bought", "estimatedRows": 41,
		"columns":    []any{object{"name": "state", "type": "mood", "nullable": true, "default": "", "values": []any{"good", "bad"}, "comment": ""}},
		"primaryKey": []any{"order_id"}, "joins": []any{"public.orders.customer_id = public.customers.customer_id"}, "moreColumns": 0, "matchedColumns": []any{"state"},
		"sampleRows": object{"columns": []any{"order_id", "state"}, "rows": []any{[]any{9007199254740993, "good"}, []any{2, nil}}, "notice": ""},
	}
	return map[string]any{
		"databases":      []any{object{"id": databaseID, "name": "Shop", "dialect": "PostgreSQL", "collectionId": collectionID, "schemaSyncedAt": late, "tables": 1, "lastError": nil}},
		"databaseTables": page("end+of/tables", table), "databaseTable": table, "databaseSchema": []any{table},
		"queryDatabase": object{
			"database": "Shop", "columns": []any{"state", "n"}, "types": []any{"mood", "bigint"}, "rows": []any{[]any{"good", 40}, []any{nil, 1}}, "truncated": "rows",
			"leftOut": 3, "leftOutAtLeast": false, "notice": "3 rows are left out.", "tookMs": 1.5,
		},
	}
}

// databaseExamples returns the requests of the transcripts of attached databases.
func databaseExamples() map[string][]example {
	const all, one = "/api/v1/databases", "/api/v1/databases/" + databaseID
	return map[string][]example{
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
