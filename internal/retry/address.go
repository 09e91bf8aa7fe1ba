package retry

import (
	"errors"
	"net/url"
)

// CheckAddress rejects an address of a server without TLS: tokens and signatures must not be sent over
// plain http. Loopback is allowed. Its errors do not contain the address, which may contain a password.
func CheckAddress(address string) error {
	u, err := url.Parse(address)
	if err != nil || u.Host == "" {
		return errors.New("not an https address")
	}
	switch h := u.Hostname(); {
	case u.User != nil || u.RawQuery != "" || u.Fragment != "":
		return errors.New("only scheme, host and path are allowed")
	case u.Scheme == "https":
		return nil
	case u.Scheme == "http" && (h == "127.0.0.1" || h == "localhost" || h == "::1"):
		return nil
	default:
		return errors.New("not an https address")
	}
}
