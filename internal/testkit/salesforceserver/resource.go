package salesforceserver

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/url"
	"slices"
	"strings"
	"time"
)

func writeJSON(w http.ResponseWriter, status int, value any) {
	w.Header().Set("Content-Type", "application/json;charset=UTF-8")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(value)
}

func refuse(w http.ResponseWriter, status int, code, message string) {
	writeJSON(w, status, []any{Row{"message": message, "errorCode": code}})
}

// batch answers up to 25 requests in one.
func (s *Server) batch(w http.ResponseWriter, r *http.Request) {
	var body struct {
		BatchRequests []struct{ Method, URL string }
	}
	if json.NewDecoder(r.Body).Decode(&body) != nil || len(body.BatchRequests) == 0 || len(body.BatchRequests) > 25 {
		refuse(w, http.StatusBadRequest, "JSON_PARSER_ERROR", "a batch has 1 to 25 requests")
		return
	}
	results, failed := []any{}, false
	for _, sub := range body.BatchRequests {
		recorded := httptest.NewRecorder()
		address, err := url.Parse(sub.URL)
		rest, found := strings.CutPrefix(sub.URL, "v62.0/")
		if err != nil || !found || sub.Method != http.MethodGet || strings.Contains(rest, "VersionData") {
			refuse(recorded, http.StatusBadRequest, "BAD_REQUEST", "The request cannot be in a batch")
		} else {
			s.resource(recorded, sub.Method, strings.TrimPrefix(address.Path, "v62.0/"), address.Query())
		}
		failed = failed || recorded.Code >= 400
		results = append(results, Row{"statusCode": recorded.Code, "result": json.RawMessage(recorded.Body.Bytes())})
	}
	writeJSON(w, http.StatusOK, Row{"hasErrors": failed, "results": results})
}

// resource answers a request for a path below the version.
func (s *Server) resource(w http.ResponseWriter, method, path string, query url.Values) {
	parts := strings.Split(path, "/")
	switch {
	case method != http.MethodGet:
		refuse(w, http.StatusMethodNotAllowed, "METHOD_NOT_ALLOWED", "HTTP Method not allowed")
	case path == "query" || path == "queryAll":
		s.query(w, query.Get("q"), path == "queryAll")
	case path == "tooling/query" && !s.NoTooling:
		s.tooling(w)
	case path == "sobjects":
		s.describeAll(w)
	case len(parts) == 3 && parts[0] == "sobjects" && parts[2] == "describe" && s.shown(parts[1]) != nil:
		s.describe(w, s.shown(parts[1]))
	case len(parts) == 4 && parts[0] == "sobjects" && parts[2] == "deleted" && s.shown(parts[1]) != nil:
		s.deletions(w, s.shown(parts[1]), query)
	case len(parts) == 4 && parts[0] == "sobjects" && parts[1] == "ContentVersion" && parts[3] == "VersionData" && s.contents[parts[2]] != nil:
		w.Header().Set("Content-Type", "application/octetstream")
		_, _ = w.Write(s.contents[parts[2]])
	default:
		refuse(w, http.StatusNotFound, "NOT_FOUND", "The requested resource does not exist")
	}
}

func (s *Server) shown(name string) *Object {
	if o := s.objects[name]; o != nil && !o.Hidden {
		return o
	}
	return nil
}

func (s *Server) tooling(w http.ResponseWriter) {
	records := []any{}
	for i, name := range s.Restrictions {
		records = append(records, Row{"Id": newID("1RR", i+1), "TargetEntity": name})
	}
	writeJSON(w, http.StatusOK, Row{"totalSize": len(records), "done": true, "records": records})
}

func (s *Server) describeAll(w http.ResponseWriter) {
	list := []any{}
	for name, o := range s.objects {
		if !o.Hidden {
			list = append(list, Row{"name": name, "label": o.Label, "keyPrefix": o.Prefix, "queryable": true, "customSetting": false, "deprecatedAndHidden": false, "custom": strings.HasSuffix(name, "__c")})
		}
	}
	writeJSON(w, http.StatusOK, Row{"encoding": "UTF-8", "maxBatchSize": 200, "sobjects": list})
}

func (s *Server) describe(w http.ResponseWriter, o *Object) {
	list := []any{}
	order := 0
	for _, f := range o.Fields {
		values := []any{}
		for _, v := range f.Values {
			values = append(values, Row{"value": v, "label": v, "active": true})
		}
		d := Row{
			"name": f.Name, "label": f.Label, "type": f.Type, "nameField": f.Name == o.NameField, "permissionable": f.Restricted, "htmlFormatted": f.HTML, "referenceTo": f.ReferenceTo,
			"relationshipName": nil, "cascadeDelete": f.Master, "relationshipOrder": nil, "picklistValues": values,
		}
		if f.Relation != "" {
			d["relationshipName"] = f.Relation
		}
		if f.Master {
			d["relationshipOrder"] = order
			order++
		}
		list = append(list, d)
	}
	writeJSON(w, http.StatusOK, Row{
		"name": o.Name, "label": o.Label, "keyPrefix": o.Prefix, "queryable": true, "replicateable": o.Replicates, "custom": strings.HasSuffix(o.Name, "__c"), "fields": list,
	})
}

// deletions answers the log of deleted records. Seconds of the window do not count.
func (s *Server) deletions(w http.ResponseWriter, o *Object, query url.Values) {
	start, startErr := time.Parse(time.RFC3339, query.Get("start"))
	end, endErr := time.Parse(time.RFC3339, query.Get("end"))
	start, end = start.Truncate(time.Minute), end.Truncate(time.Minute)
	switch {
	case startErr != nil || endErr != nil || !end.After(start):
		refuse(w, http.StatusBadRequest, "INVALID_REPLICATION_DATE", "startDate before org replication enabled date, or endDate before startDate")
		return
	case !o.Replicates:
		refuse(w, http.StatusBadRequest, "INVALID_TYPE_FOR_OPERATION", "entity type does not support replication")
		return
	}
	list := []any{}
	for _, d := range s.deleted[o.Name] {
		if !d.at.Before(start) && d.at.Before(end) {
			list = append(list, Row{"id": d.id, "deletedDate": stamp(d.at)})
		}
	}
	writeJSON(w, http.StatusOK, Row{"deletedRecords": list, "earliestDateAvailable": stamp(s.logStart), "latestDateCovered": stamp(s.clock)})
}

// query answers a query.
func (s *Server) query(w http.ResponseWriter, soql string, deleted bool) {
	q, err := parse(soql)
	if err == nil {
		err = s.checkQuery(q)
	}
	var refused *soqlError
	if errors.As(err, &refused) {
		refuse(w, http.StatusBadRequest, refused.code, refused.message)
		return
	}
	s.queries[q.object]++
	rows := s.rows(q, deleted)
	if q.counts && s.NoCounts {
		refuse(w, http.StatusBadRequest, "QUERY_TIMEOUT", "Your query request was running for too long.")
		return
	}
	if q.counts {
		writeJSON(w, http.StatusOK, Row{"totalSize": len(rows) + s.Uncounted, "done": true, "records": []any{}})
		return
	}
	if q.order != "" {
		slices.SortStableFunc(rows, func(a, b Row) int {
			return strings.Compare(text(s.value(q.object, a, q.order)), text(s.value(q.object, b, q.order)))
		})
	}
	if q.limit >= 0 {
		rows = rows[:min(len(rows), q.limit)]
	}
	total := len(rows)
	whole := total <= s.MaxRows || q.object == "EntityDefinition" // which has no further answers
	answer := Row{"totalSize": total, "done": whole}
	if !whole {
		rows = rows[:s.MaxRows]
		answer["nextRecordsUrl"] = fmt.Sprintf("/services/data/v62.0/query/%s-%d", newID("01g", total), s.MaxRows)
	}
	records := []any{}
	for _, r := range rows {
		records = append(records, s.selected(q, r))
	}
	answer["records"] = records
	writeJSON(w, http.StatusOK, answer)
}

// checkQuery refuses what Salesforce refuses.
func (s *Server) checkQuery(q *statement) error {
	o := s.shown(q.object)
	switch {
	case q.object == "EntityDefinition" || q.object == "UserRecordAccess":
		if q.object == "UserRecordAccess" && (q.mentioned["UserId"] == nil || q.mentioned["RecordId"] == nil) {
			return malformed("UserId and RecordId are required")
		}
		if q.order != "" {
			return malformed("%s cannot be ordered", q.object)
		}
		return nil
	case o == nil || slices.Contains(s.NoAccess, q.object):
		return &soqlError{"INVALID_TYPE", "sObject type '" + q.object + "' is not supported."}
	case q.object == "ContentDocumentLink" && q.mentioned["LinkedEntityId"] == nil && q.mentioned["ContentDocumentId"] == nil:
		return malformed("Implementation restriction: ContentDocumentLink requires a filter by a single Id on ContentDocumentId or LinkedEntityId using the equals operator or multiple Id's using the IN operator.")
	case strings.HasSuffix(q.object, "__kav") && q.mentioned["PublishStatus"] == nil && q.mentioned["Id"] == nil:
		return malformed("Implementation restriction: a filter on PublishStatus is required")
	}
	for _, name := range q.fields {
		if !s.hasField(o, name) {
			return &soqlError{"INVALID_FIELD", fmt.Sprintf("No such column '%s' on entity '%s'", name, q.object)}
		}
	}
	for name := range q.mentioned {
		if !s.hasField(o, name) {
			return &soqlError{"INVALID_FIELD", fmt.Sprintf("No such column '%s' on entity '%s'", name, q.object)}
		}
	}
	return nil
}

func (s *Server) hasField(o *Object, path string) bool {
	name, rest, nested := strings.Cut(path, ".")
	if !nested {
		return o.field(name) != nil
	}
	f := relation(o, name)
	if f == nil {
		return false
	}
	return rest == "Type" || rest == "Name" && len(f.ReferenceTo) > 1 || s.hasField(s.objects[f.ReferenceTo[0]], rest)
}

func relation(o *Object, name string) *Field {
	i := slices.IndexFunc(o.Fields, func(f Field) bool { return f.Relation == name })
	if i < 0 {
		return nil
	}
	return &o.Fields[i]
}

// rows returns the rows of a query.
func (s *Server) rows(q *statement, deleted bool) []Row {
	var all []Row
	switch q.object {
	case "EntityDefinition":
		for name, o := range s.objects {
			if !o.Hidden {
				internal, external := o.Internal, o.External
				if internal == "" {
					internal, external = "ControlledByParent", "ControlledByParent"
				}
				all = append(all, Row{"QualifiedApiName": name, "InternalSharingModel": internal, "ExternalSharingModel": external})
			}
		}
	case "UserRecordAccess":
		return s.recordAccess(q)
	default:
		all = s.tables[q.object]
	}
	var found []Row
	for _, r := range all {
		if r["IsDeleted"] == true && !deleted || q.where != nil && !q.where.holds(func(field string) any { return s.value(q.object, r, field) }) {
			continue
		}
		found = append(found, r)
	}
	return found
}

// recordAccess answers a query for UserRecordAccess.
func (s *Server) recordAccess(q *statement) []Row {
	var users, records []string
	for _, part := range append([]*condition{q.where}, q.where.parts...) {
		for _, v := range part.values {
			switch part.field {
			case "UserId":
				users = append(users, text(v))
			case "RecordId":
				records = append(records, text(v))
			}
		}
	}
	var found []Row
	for _, record := range records[:min(len(records), 200)] {
		if _, r := s.find(record); r != nil && r["IsDeleted"] == false && len(users) == 1 {
			found = append(found, Row{"RecordId": record, "HasReadAccess": s.canRead(users[0], record)})
		}
	}
	return found
}

// value returns the value of a field of a row. Dots lead to related records.
func (s *Server) value(object string, r Row, path string) any {
	name, rest, nested := strings.Cut(path, ".")
	o := s.objects[object]
	if !nested {
		if o != nil {
			if f := o.field(name); f != nil {
				name = f.Name
			}
		}
		return r[name]
	}
	f := relation(o, name)
	if f == nil {
		return nil
	}
	inner, related := s.find(text(r[f.Name]))
	switch {
	case related == nil:
		return nil
	case rest == "Type":
		return inner
	}
	return s.value(inner, related, rest)
}

// selected returns the fields of a row that a query selects, with objects for related
// records.
func (s *Server) selected(q *statement, r Row) Row {
	out := Row{"attributes": Row{"type": q.object, "url": "/services/data/v62.0/sobjects/" + q.object + "/" + text(r["Id"])}}
	for _, path := range q.fields {
		name, rest, nested := strings.Cut(path, ".")
		if !nested {
			out[name] = s.value(q.object, r, name)
			continue
		}
		f := relation(s.objects[q.object], name)
		if _, related := s.find(text(r[f.Name])); related == nil {
			out[name] = nil
			continue
		}
		inner, _ := out[name].(Row)
		if inner == nil {
			inner = Row{}
			out[name] = inner
		}
		at := inner
		for before, after, deeper := strings.Cut(rest, "."); ; before, after, deeper = strings.Cut(after, ".") {
			if !deeper {
				at[before] = s.value(q.object, r, path)
				break
			}
			next, _ := at[before].(Row)
			if next == nil {
				next = Row{}
				at[before] = next
			}
			at = next
		}
	}
	return out
}
