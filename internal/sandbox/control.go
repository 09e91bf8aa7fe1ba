package sandbox

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"time"
)

// controlFile contains the address and the secret for token requests. Its mode is 0600.
const controlFile = "control.json"

// ErrNotRunning means that no sandbox runs with this folder.
var ErrNotRunning = errors.New("no sandbox is running there")

type control struct {
	MintURL string `json:"mintURL"`
	Secret  string `json:"secret"`
}

type mintRequest struct {
	Identity Identity `json:"identity"`
	Audience string   `json:"audience"`
}

type tokenResponse struct {
	Value string `json:"value"`
}

// inUse reports whether the sandbox of the control file still answers. It may have been killed.
func inUse(ctx context.Context, dir string) bool {
	c, err := readControl(dir)
	if err != nil {
		return false
	}
	u, err := url.Parse(c.MintURL)
	if err != nil {
		return false
	}
	dialer := net.Dialer{Timeout: time.Second}
	connection, err := dialer.DialContext(ctx, "tcp", u.Host)
	if err != nil {
		return false
	}
	_ = connection.Close() // opened only to test the connection
	return true
}

func readControl(dir string) (*control, error) {
	data, err := os.ReadFile(filepath.Join(dir, controlFile))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("%q: %w", dir, ErrNotRunning)
	}
	if err != nil {
		return nil, fmt.Errorf("read %s: %w", controlFile, err)
	}
	var c control
	if err := json.Unmarshal(data, &c); err != nil {
		return nil, fmt.Errorf("parse %s: %w", controlFile, err)
	}
	return &c, nil
}

// RequestToken requests a token from the running sandbox of dir. Empty fields of id take the values
// of the sandbox's identity. It returns ErrNotRunning if the folder or the process does not exist.
func RequestToken(ctx context.Context, dir string, id Identity, audience string) (string, error) {
	c, err := readControl(dir)
	if err != nil {
		return "", err
	}
	body, err := json.Marshal(mintRequest{Identity: id, Audience: audience})
	if err != nil {
		return "", fmt.Errorf("encode request: %w", err)
	}
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, c.MintURL, bytes.NewReader(body))
	if err != nil {
		return "", fmt.Errorf("make request: %w", err)
	}
	request.Header.Set("Authorization", "Bearer "+c.Secret)
	client := http.Client{Timeout: 10 * time.Second}
	response, err := client.Do(request)
	if err != nil {
		// A killed process leaves the file.
		return "", fmt.Errorf("%q: %w: %w", dir, ErrNotRunning, err)
	}
	defer func() { _ = response.Body.Close() }()
	answer, err := io.ReadAll(io.LimitReader(response.Body, maxBody))
	if err != nil {
		return "", fmt.Errorf("read answer: %w", err)
	}
	if response.StatusCode != http.StatusOK {
		var refused struct{ Message string }
		_ = json.Unmarshal(answer, &refused) // an answer without a message still has a status
		return "", fmt.Errorf("sandbox answered %d: %s", response.StatusCode, refused.Message)
	}
	var token tokenResponse
	if err := json.Unmarshal(answer, &token); err != nil {
		return "", fmt.Errorf("parse answer: %w", err)
	}
	return token.Value, nil
}
