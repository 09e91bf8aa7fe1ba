package send

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"

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
	u, err := checkAddress(address)
	if err != nil {
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

func (w *Webhook) hide(err error) error {
	return hide(err, w.address.String(), w.address.RequestURI(), w.address.Path, w.address.RawQuery)
}
