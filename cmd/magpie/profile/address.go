package profile

import (
	"errors"
	"fmt"
	"net"
	"net/url"
	"strings"
)

// Address returns the address of a Magpie in its normal form: without a slash at the end,
// and with https:// unless a scheme is given. Without encryption, only this machine is
// allowed unless insecure is set. No error has a password that the address contains.
func Address(text string, insecure bool) (string, error) {
	text = strings.TrimSpace(text)
	if !strings.Contains(text, "://") {
		text = "https://" + text
	}
	u, err := url.Parse(text)
	switch {
	case err != nil || u.Hostname() == "":
		return "", errors.New("this is no address such as https://magpie.example.com")
	case u.User != nil:
		return "", errors.New("the address must not contain a name or a password; use a token")
	case u.RawQuery != "" || u.Fragment != "":
		return "", errors.New("the address must end before ? and #")
	}
	switch {
	case u.Scheme == "https", u.Scheme == "http" && (insecure || isLoopback(u.Hostname())):
	case u.Scheme == "http":
		return "", fmt.Errorf("http://%s would send the token unencrypted; use https://, or --insecure in a network that you trust", u.Host)
	default:
		return "", errors.New("the address must begin with https://")
	}
	return u.Scheme + "://" + strings.ToLower(u.Host) + strings.TrimRight(u.EscapedPath(), "/"), nil
}

func isLoopback(host string) bool {
	if host == "localhost" || strings.HasSuffix(host, ".localhost") {
		return true
	}
	ip := net.ParseIP(host)
	return ip != nil && ip.IsLoopback()
}
