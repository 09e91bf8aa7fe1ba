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

// controlFile is where a running sandbox says how to ask it for tokens. It holds a secret: mode 0600, removed by Close.
const controlFile = "control.json"

// ErrNotRunning says that a folder is not that of a running sandbox.
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

// inUse says whether the sandbox that wrote the folder's control file still answers. A file that its process left
// behind when it was killed does not count.
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
	_ = connection.Close() // it was opened to see whether it opens
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

// RequestToken asks the sandbox that runs with dir as its folder for a token. The zero fields of id are
// those of the sandbox's own identity. It fails with ErrNotRunning when the folder or the process is gone.
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
		// The file outlived its process, which was killed before it could remove it.
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
