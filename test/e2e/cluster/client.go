package cluster

import (
	"bytes"
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"strings"
	"time"
)

// Client speaks to the API server as an administrator. Requests are few and
// plain, so it needs no more than net/http.
type Client struct {
	server, token, authority string
	http                     *http.Client
}

// newClient trusts the certificate that the API server made for itself.
func newClient(server, token, authority string) (*Client, error) {
	trusted, err := os.ReadFile(authority)
	if err != nil {
		return nil, err
	}
	roots := x509.NewCertPool()
	if !roots.AppendCertsFromPEM(trusted) {
		return nil, fmt.Errorf("%s holds no certificate", authority)
	}
	return &Client{server: server, token: token, authority: authority, http: &http.Client{
		Timeout:   time.Minute,
		Transport: &http.Transport{TLSClientConfig: &tls.Config{RootCAs: roots, MinVersion: tls.VersionTLS12}},
	}}, nil
}

// Server is the address of the API server.
func (c *Client) Server() string { return c.server }

// Request is one request; the body is YAML or JSON.
type Request struct {
	Method, Path string
	Body         []byte
	ContentType  string // "" for YAML

	As     string   // who asks; "" for the administrator
	Groups []string // that they are in
}

// Answer is what the API server said.
type Answer struct {
	Code int
	Body []byte
}

// Do sends a request. An error means that there was no answer.
func (c *Client) Do(ctx context.Context, r Request) (*Answer, error) {
	request, err := http.NewRequestWithContext(ctx, r.Method, c.server+r.Path, bytes.NewReader(r.Body))
	if err != nil {
		return nil, err
	}
	request.Header.Set("Authorization", "Bearer "+c.token)
	request.Header.Set("Accept", "application/json")
	if r.ContentType == "" {
		r.ContentType = "application/yaml"
	}
	if r.Body != nil {
		request.Header.Set("Content-Type", r.ContentType)
	}
	if r.As != "" {
		request.Header.Set("Impersonate-User", r.As)
		request.Header["Impersonate-Group"] = r.Groups
	}
	response, err := c.http.Do(request)
	if err != nil {
		return nil, err
	}
	defer response.Body.Close()
	body, err := io.ReadAll(response.Body)
	if err != nil {
		return nil, err
	}
	return &Answer{Code: response.StatusCode, Body: body}, nil
}

// OK reports whether the API server did what was asked.
func (a *Answer) OK() bool { return a.Code/100 == 2 }

// Refusal reports whether the answer is a verdict on what was sent, and not a
// server's own trouble: a webhook that does not answer refuses nothing.
func (a *Answer) Refusal() bool {
	switch a.Code {
	case http.StatusBadRequest, http.StatusForbidden, http.StatusNotFound, http.StatusRequestEntityTooLarge, http.StatusUnprocessableEntity:
		return !strings.Contains(a.Message(), "failed calling webhook")
	}
	return false
}

// Message is the API server's own words where it answered with a Status, and
// the whole answer where it did not.
func (a *Answer) Message() string {
	var status struct{ Message string }
	if json.Unmarshal(a.Body, &status) == nil && status.Message != "" {
		return status.Message
	}
	return string(a.Body)
}

func (a *Answer) expect(code int) error {
	if a.Code != code {
		return fmt.Errorf("%d: %w", a.Code, errors.New(a.Message()))
	}
	return nil
}
