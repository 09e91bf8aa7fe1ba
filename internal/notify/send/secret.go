package send

import (
	"errors"
	"fmt"
	"net/url"
	"strings"

	"github.com/polex-dev/polex/internal/restapi"
	"github.com/polex-dev/polex/internal/retry"
)

// shortest is the minimum length in bytes of a part of a secret to look for. A shorter part occurs
// by chance.
const shortest = 6

// hide returns an error without secrets and without the address, which net/http adds to its errors.
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

// checkAddress parses an address that receives a secret, or that is one. Its errors do not contain
// it.
func checkAddress(address string) (*url.URL, error) {
	u, err := url.Parse(address)
	if err != nil || u.Host == "" || u.User != nil || u.Fragment != "" || u.Opaque != "" {
		return nil, errors.New("not the address of a server")
	}
	if _, err := restapi.CheckAddress(u.Scheme + "://" + u.Host); err != nil {
		return nil, errors.New("not an https address")
	}
	return u, nil
}
