package restapi_test

import (
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/magpie-search/magpie/connectors"
	"github.com/magpie-search/magpie/connectors/restapi"
)

func TestPagesFollowCursorsToTheEnd(t *testing.T) {
	t.Parallel()
	next := map[string]string{"": "a", "a": "b", "b": ""}
	var read []string
	err := restapi.AllPages("Platform", "the things", 3, func(cursor string) (string, error) {
		read = append(read, cursor)
		return next[cursor], nil
	})
	if want := []string{"", "a", "b"}; err != nil || !slices.Equal(read, want) {
		t.Errorf("AllPages read %q, %v; want %q", read, err, want)
	}
	complete, err := restapi.Pages("Platform", "the things", 2, func(cursor string) (string, error) { return next[cursor], nil })
	if complete || err != nil {
		t.Errorf("Pages with too few pages = %v, %v; want false", complete, err)
	}
	err = restapi.AllPages("Platform", "the things", 2, func(cursor string) (string, error) { return next[cursor], nil })
	if _, retryable := connectors.RetryAfterOf(err); !retryable {
		t.Errorf("AllPages with too few pages: %v, want a retryable error", err)
	}
}

func TestPagesStopAtLoopsAndErrors(t *testing.T) {
	t.Parallel()
	calls := 0
	_, err := restapi.Pages("Platform", "the things", 1000, func(cursor string) (string, error) {
		calls++
		return map[string]string{"": "a", "a": "b", "b": "a"}[cursor], nil
	})
	if _, retryable := connectors.RetryAfterOf(err); !retryable || calls > 10 || !strings.Contains(err.Error(), "the things") {
		t.Errorf("a loop: %d calls, %v; want a retryable error", calls, err)
	}
	broken := errors.New("broken")
	if _, err := restapi.Pages("Platform", "the things", 10, func(string) (string, error) { return "", broken }); !errors.Is(err, broken) {
		t.Errorf("an error of a page: %v", err)
	}
	offsets := 0
	err = restapi.AllOffsets("Platform", "the things", func(int) ([]string, bool, error) { offsets++; return []string{"same"}, true, nil })
	if _, retryable := connectors.RetryAfterOf(err); !retryable || offsets > 10 {
		t.Errorf("a page that repeats: %d calls, %v; want a retryable error", offsets, err)
	}
}

func TestOffsetsCountEntries(t *testing.T) {
	t.Parallel()
	things := []string{"a", "b", "c", "d", "e"}
	var offsets []int
	var got []string
	err := restapi.AllOffsets("Platform", "the things", func(offset int) ([]string, bool, error) {
		offsets = append(offsets, offset)
		page := things[offset:min(offset+2, len(things))]
		got = append(got, page...)
		return page, offset+2 < len(things), nil
	})
	if err != nil || !slices.Equal(got, things) || !slices.Equal(offsets, []int{0, 2, 4}) {
		t.Errorf("AllOffsets read %q at %v, %v", got, offsets, err)
	}
}

func TestNextLink(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		link, want string
		fails      bool
	}{
		{"", "", false},
		{`<https://x/y?page=2>; rel="next", <https://x/y?page=9>; rel="last"`, "page=2", false},
		{`<https://x/y?page=1>; rel="prev", <https://x/y?page=3&q=a%20b>; rel=next`, "page=3&q=a%20b", false},
		{`<https://x/y?page=9>; rel="last"`, "", false},
		{`<https://x/y>; rel="next"`, "", true},
		{`<https://x/y?a=%zz>; rel="next"`, "", true},
	} {
		got, err := restapi.NextLink("Platform", http.Header{"Link": {c.link}})
		if _, retryable := connectors.RetryAfterOf(err); got != c.want || retryable != c.fails {
			t.Errorf("NextLink(%q) = %q, %v; want %q", c.link, got, err, c.want)
		}
	}
}

func TestUntilUsesTheServersClock(t *testing.T) {
	t.Parallel()
	now := time.Date(2024, 5, 1, 12, 0, 0, 0, time.UTC)
	header := http.Header{"Date": {now.Format(http.TimeFormat)}}
	if wait, ok := restapi.Until(header, now.Add(time.Minute)); !ok || wait != time.Minute {
		t.Errorf("Until = %v, %v; want 1m", wait, ok)
	}
	if _, ok := restapi.Until(http.Header{}, now); ok {
		t.Error("Until without a Date is ok")
	}
}

func TestParseBaseURL(t *testing.T) {
	t.Parallel()
	for text, says := range map[string]string{
		"https://example.com": "", " http://example.com:8080/path/ ": "",
		"": "must begin with", "example.com": "must begin with", "ftp://example.com": "must begin with", "https://": "has no host",
		"https://ada:secret@example.com": "user or password", "https://example.com/?a=b": "address alone", "https://example.com/#a": "address alone",
		"https://exa mple.com": "as https://example.com", "::": "as https://example.com",
	} {
		_, err := restapi.ParseBaseURL(text, "https://example.com/api")
		if says == "" != (err == nil) || !strings.Contains(fmt.Sprint(err), says) || strings.Contains(fmt.Sprint(err), "secret") {
			t.Errorf("ParseBaseURL(%q): %v, want %q", text, err, says)
		}
	}
}
