package servers

import (
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"time"
)

// Answers waits until an HTTP address answers with status 200 and read accepts the answer; nil
// accepts any.
func (g *Group) Answers(within context.Context, address string, read func([]byte) error) error {
	client := http.Client{Timeout: 10 * time.Second}
	return g.Until(within, address, func(ctx context.Context) error {
		request, err := http.NewRequestWithContext(ctx, http.MethodGet, address, nil)
		if err != nil {
			return err
		}
		response, err := client.Do(request)
		if err != nil {
			return err
		}
		defer response.Body.Close()
		body, err := io.ReadAll(response.Body)
		if err != nil {
			return err
		}
		if response.StatusCode != http.StatusOK {
			return fmt.Errorf("%d: %s", response.StatusCode, body)
		}
		if read == nil {
			return nil
		}
		return read(body)
	})
}

// Listens waits until a connection to host:port opens.
func (g *Group) Listens(within context.Context, address string) error {
	return g.Until(within, address, func(ctx context.Context) error {
		var dialer net.Dialer
		connection, err := dialer.DialContext(ctx, "tcp", address)
		if err != nil {
			return err
		}
		return connection.Close()
	})
}
