package compress

import (
	"bytes"
	"compress/gzip"
	"errors"
	"net/http"
	"strconv"
	"strings"
)

// Gzip returns content in gzip, or nil if that is not smaller.
func Gzip(content []byte) []byte {
	var out bytes.Buffer
	zip, err := gzip.NewWriterLevel(&out, gzip.BestCompression)
	if err != nil {
		return nil
	}
	_, err = zip.Write(content)
	if errors.Join(err, zip.Close()) != nil || out.Len() >= len(content) {
		return nil
	}
	return out.Bytes()
}

// AcceptsGzip reports whether a request accepts a response in gzip.
func AcceptsGzip(h http.Header) bool {
	for _, line := range h.Values("Accept-Encoding") {
		for offer := range strings.SplitSeq(line, ",") {
			name, parameters, _ := strings.Cut(offer, ";")
			if !strings.EqualFold(strings.TrimSpace(name), "gzip") {
				continue
			}
			quality, found := strings.CutPrefix(strings.TrimSpace(parameters), "q=")
			weight, err := strconv.ParseFloat(quality, 64)
			return !found || err == nil && weight > 0
		}
	}
	return false
}
