package rest_test

import (
	"context"
	"encoding/csv"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/magpie-search/magpie/internal/apierr"
)

// pagedLog replaces the audit log by a number of pages with two entries. The last one
// fails with fault.
func (h *fixture) pagedLog(pages int, fault error) (asked *[]any) {
	var seen []any
	h.fake.resolve = func(_ context.Context, c call) (any, error) {
		seen = append(seen, c.arguments["after"])
		n := len(seen)
		if n == pages && fault != nil {
			return nil, fault
		}
		cursor := fmt.Sprintf("after-%d", n)
		if n == pages {
			cursor = ""
		}
		entry := rows()["auditLog"].(object)["edges"].([]any)[0].(object)["node"].(object)
		answer := object{}
		for k, v := range page(cursor, entry, entry) {
			answer[k] = v
		}
		return answer, nil
	}
	return &seen
}

func TestAFileHasAllPagesOfItsList(t *testing.T) {
	t.Parallel()
	for pattern, lines := range map[string]int{"/api/v1/audit-log.csv": 7, "/api/v1/audit-log.jsonl": 6} {
		h := newFixture(t)
		asked := h.pagedLog(3, nil)
		got := h.send(request(http.MethodGet, pattern, "", "Authorization", "Bearer session"))
		if got.Code != http.StatusOK || len(*asked) != 3 || (*asked)[0] != nil || (*asked)[2] != "after-2" {
			t.Fatalf("%s: %d, asked %v", pattern, got.Code, *asked)
		}
		if n := strings.Count(got.Body.String(), "\n"); n != lines {
			t.Errorf("%s has %d lines", pattern, n)
		}
		if !strings.HasSuffix(pattern, ".csv") {
			continue
		}
		table, err := csv.NewReader(got.Body).ReadAll()
		if err != nil || len(table) != 7 || table[0][0] != "id" || len(table[1]) != len(table[0]) {
			t.Fatal(table, err)
		}
		for _, row := range table {
			for _, cell := range row {
				if cell != "" && strings.ContainsRune("=+-@\t\r\n", rune(cell[0])) {
					t.Errorf("the cell %q is a formula", cell)
				}
			}
		}
	}
}

func TestAnIncompleteFileAbortsTheConnection(t *testing.T) {
	t.Parallel()
	h := newFixture(t)
	h.pagedLog(1, apierr.New(apierr.Forbidden, "Your role does not allow this"))
	if got := h.send(request(http.MethodGet, "/api/v1/audit-log.csv", "", "Authorization", "Bearer session")); got.Code != http.StatusForbidden {
		t.Errorf("before the first row: %d %s", got.Code, got.Body)
	}
	h = newFixture(t)
	h.pagedLog(2, errors.New("the database is gone"))
	server := httptest.NewServer(h.http)
	defer server.Close()
	ask, err := http.NewRequestWithContext(t.Context(), http.MethodGet, server.URL+"/api/v1/audit-log.jsonl", http.NoBody)
	if err != nil {
		t.Fatal(err)
	}
	ask.Header.Set("Authorization", "Bearer session")
	response, err := server.Client().Do(ask)
	if err == nil {
		var read int
		for buffer := make([]byte, 1024); err == nil; {
			var n int
			n, err = response.Body.Read(buffer)
			read += n
		}
		_ = response.Body.Close()
	}
	if err == nil || err.Error() == "EOF" {
		t.Errorf("an incomplete response ended normally: %v", err)
	}
}
