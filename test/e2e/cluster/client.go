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

// Client sends requests to the API server as an administrator. The requests are few and plain, so
// it uses only net/http.
type Client struct {
	server, token, authority string
	http                     *http.Client
}

// newClient trusts the API server's self-signed certificate.
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

// Server returns the address of the API server.
func (c *Client) Server() string { return c.server }

// Request is one request; the body is YAML or JSON.
type Request struct {
	Method, Path string
	Body         []byte
	ContentType  string // "" for YAML

	As     string   // the user; "" for the administrator
	Groups []string // of the user
}

// Answer is the answer of the API server.
type Answer struct {
	Code int
	Body []byte
}

// Get reads the object or the list at a path.
func (c *Client) Get(ctx context.Context, path string) (*Answer, error) {
	return c.Do(ctx, Request{Method: http.MethodGet, Path: path})
}

// Delete deletes the object or all objects at a path.
func (c *Client) Delete(ctx context.Context, path string) (*Answer, error) {
	return c.Do(ctx, Request{Method: http.MethodDelete, Path: path})
}

// Post creates an object below a path.
func (c *Client) Post(ctx context.Context, path string, body []byte) (*Answer, error) {
	return c.Do(ctx, Request{Method: http.MethodPost, Path: path, Body: body})
}

// Merge changes the object at a path by a merge patch.
func (c *Client) Merge(ctx context.Context, path string, patch []byte) (*Answer, error) {
	return c.Do(ctx, Request{Method: http.MethodPatch, Path: path, ContentType: "application/merge-patch+json",
		Body: patch})
}

// OK returns an error with the API server's message, unless the request succeeded.
func OK(answer *Answer, err error) error {
	if err == nil && !answer.OK() {
		err = fmt.Errorf("%d: %s", answer.Code, answer.Message())
	}
	return err
}

// Into decodes an answer that is OK.
func Into(v any) func(*Answer, error) error {
	return func(answer *Answer, err error) error {
		if err := OK(answer, err); err != nil {
			return err
		}
		return json.Unmarshal(answer.Body, v)
	}
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

// OK reports whether the request succeeded.
func (a *Answer) OK() bool { return a.Code/100 == 2 }

// Refusal reports whether the answer is a verdict about the request, not a failure of a server. A
// webhook that does not answer is a failure.
func (a *Answer) Refusal() bool {
	switch a.Code {
	case http.StatusBadRequest, http.StatusForbidden, http.StatusNotFound, http.StatusRequestEntityTooLarge, http.StatusUnprocessableEntity:
		return !strings.Contains(a.Message(), "failed calling webhook")
	}
	return false
}

// Message returns the message of a Status, or the whole answer if it is not one.
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
