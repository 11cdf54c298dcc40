package salesforce

import (
	"context"
	"encoding/json"
	"slices"
	"strings"

	"github.com/magpie-search/magpie/connectors/restapi"
)

// idsPerCheck is the number of records of one query for UserRecordAccess: Salesforce's
// largest.
const idsPerCheck = 200

// VerifyAccess implements [connectors.AccessVerifier] by UserRecordAccess. A file is
// for the readers of its record. Knowledge articles have no such access: for them the
// imported permissions stand. The share of the API allowance does not count here.
func (s *source) VerifyAccess(ctx context.Context, email string, ids []string) (map[string]bool, error) {
	readable := map[string]bool{}
	byRecord := map[string][]string{}
	for _, text := range ids {
		switch id, ok := parseID(text); {
		case !ok:
		case strings.HasSuffix(id.object, "__kav"):
			readable[text] = true
		default:
			byRecord[id.record] = append(byRecord[id.record], text)
		}
	}
	if len(byRecord) == 0 {
		return readable, nil
	}
	users, err := s.rowsNow(ctx, "SELECT Id FROM User WHERE IsActive = true AND Email = "+quoted(email), "the users with an address")
	if err != nil {
		return nil, err
	}
	records := make(map[string]bool, len(byRecord))
	for id := range byRecord {
		records[id] = true
	}
	for _, user := range users {
		if !isID(user.text("Id")) {
			return nil, errInvalid("a user")
		}
		for part := range slices.Chunk(sortedIDs(records), idsPerCheck) {
			rows, err := s.rowsNow(ctx, "SELECT RecordId,HasReadAccess FROM UserRecordAccess WHERE UserId = "+quoted(user.text("Id"))+" AND "+in("RecordId", part), "who may read records")
			if err != nil {
				return nil, err
			}
			for _, r := range rows {
				for _, item := range byRecord[r.text("RecordId")] {
					readable[item] = readable[item] || r.flag("HasReadAccess")
				}
			}
		}
	}
	return readable, nil
}

// rowsNow returns the rows of a query, whatever the allowance.
func (s *source) rowsNow(ctx context.Context, soql, what string) ([]row, error) {
	c := queryCall(soql, false)
	var body json.RawMessage
	if err := s.api.send(ctx, restapi.Request{Path: s.api.path + "/" + c.path, Query: c.query}, &body); err != nil {
		return nil, err
	}
	return parseRows(body, what)
}
