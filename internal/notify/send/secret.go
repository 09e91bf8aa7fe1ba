package send

import (
	"errors"
	"fmt"
	"net/url"
	"strings"

	"github.com/polex-dev/polex/internal/github"
	"github.com/polex-dev/polex/internal/retry"
)

// shortest is how long a part of a secret has to be to be looked for, in bytes: a
// shorter one is met by chance.
const shortest = 6

// hide returns what can be said of a failed request: neither its address, which
// net/http puts into its errors, nor any of the secrets.
func hide(err error, secrets ...string) error {
	var at *url.Error
	if errors.As(err, &at) {
		err = at.Err
	}
	var status *retry.StatusError
	if errors.As(err, &status) {
		return fmt.Errorf("it returned %d", status.Status)
	}
	text := err.Error()
	for _, secret := range secrets {
		if len(secret) >= shortest {
			text = strings.ReplaceAll(text, secret, "[secret]")
		}
	}
	return errors.New(text)
}

// checkAddress parses an address that a secret is sent to, or that is one: its
// errors say nothing of it.
func checkAddress(address string) (*url.URL, error) {
	u, err := url.Parse(address)
	if err != nil || u.Host == "" || u.User != nil || u.Fragment != "" || u.Opaque != "" {
		return nil, errors.New("it is no address of a server")
	}
	if _, err := github.CheckAddress(u.Scheme + "://" + u.Host); err != nil {
		return nil, errors.New("it is not reached by https")
	}
	return u, nil
}
