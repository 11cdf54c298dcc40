package httpx_test

import (
	"context"
	"errors"
	"net"
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/magpie-search/magpie/internal/httpx"
)

func TestAWatchedRequestTellsWhetherItsServerMayHaveSeenIt(t *testing.T) {
	t.Parallel()
	server := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) }))
	t.Cleanup(server.Close)
	for want, dial := range map[bool]func(ctx context.Context, network, address string) (net.Conn, error){
		true:  (&net.Dialer{}).DialContext,
		false: func(context.Context, string, string) (net.Conn, error) { return nil, errors.New("refused") },
	} {
		r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, server.URL, http.NoBody)
		if err != nil {
			t.Fatal(err)
		}
		r, begun := httpx.Watch(r)
		response, err := (&http.Client{Transport: &http.Transport{DialContext: dial, DisableKeepAlives: true}}).Do(r)
		if err == nil {
			_ = response.Body.Close()
		}
		if err == nil || begun() != want {
			t.Errorf("%v, begun is %v, want %v", err, begun(), want)
		}
	}
}
