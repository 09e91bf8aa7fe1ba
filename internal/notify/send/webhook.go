package send

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"

	"github.com/polex-dev/polex/internal/notify"
	"github.com/polex-dev/polex/internal/retry"
)

// Render renders an event as the body of a request.
type Render = func(notify.Event) ([]byte, error)

// Webhook is an address that receives events.
type Webhook struct {
	render  Render
	client  http.Client
	address *url.URL
}

// NewWebhook checks the address of a webhook. The whole address is a secret, so no error quotes it.
func NewWebhook(client *http.Client, timing retry.Timing, render Render, address string) (*Webhook, error) {
	if client == nil {
		return nil, errors.New("send: no HTTP client")
	}
	u, err := url.Parse(address)
	if err != nil || u.Host == "" || u.User != nil || u.Fragment != "" || u.Opaque != "" {
		return nil, errors.New("not the address of a server")
	}
	if err := retry.CheckAddress(u.Scheme + "://" + u.Host); err != nil {
		return nil, err
	}
	w := &Webhook{render: render, client: *client, address: u}
	w.client.Transport = retry.Transport{Timing: timing, Next: client.Transport}
	return w, nil
}

// Send sends an event. Every answer of 2xx is a success.
func (w *Webhook) Send(ctx context.Context, e notify.Event) error {
	body, err := w.render(e)
	if err != nil {
		return err
	}
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, w.address.String(), bytes.NewReader(body))
	if err != nil {
		return w.hide(err)
	}
	request.Header.Set("Content-Type", "application/json")
	request.Header.Set("User-Agent", "polex")
	response, err := w.client.Do(request)
	if err != nil {
		return w.hide(err)
	}
	defer response.Body.Close()               //nolint:errcheck // it was read
	_, _ = io.Copy(io.Discard, response.Body) // limited, and not needed
	if response.StatusCode/100 != http.StatusOK/100 {
		return fmt.Errorf("it returned %d", response.StatusCode)
	}
	return nil
}

// hide returns an error without secrets and without the address, which net/http adds to its errors.
func (w *Webhook) hide(err error) error {
	const shortest = 6 // bytes of a part of a secret: a shorter one occurs by chance
	var at *url.Error
	if errors.As(err, &at) {
		err = at.Err
	}
	var status *retry.StatusError
	if errors.As(err, &status) {
		return fmt.Errorf("it returned %d", status.Status)
	}
	text := err.Error()
	for _, secret := range []string{w.address.String(), w.address.RequestURI(), w.address.Path, w.address.RawQuery} {
		if len(secret) >= shortest {
			text = strings.ReplaceAll(text, secret, "[secret]")
		}
	}
	return errors.New(text)
}
