package guard

import (
	"fmt"
	"net/http"
	"time"

	"k8s.io/client-go/rest"
)

// probeTimeout is the timeout of a request to the API server.
const probeTimeout = 2 * time.Second

// reachesAPIServer requests the version of the API server.
func (g *process) reachesAPIServer(r *http.Request) error {
	client, err := rest.HTTPClientFor(g.rest)
	if err != nil {
		return err
	}
	client.Timeout = probeTimeout
	request, err := http.NewRequestWithContext(r.Context(), http.MethodGet, g.rest.Host+"/version", nil)
	if err != nil {
		return err
	}
	answer, err := client.Do(request)
	if err != nil {
		return err
	}
	defer answer.Body.Close()
	if answer.StatusCode != http.StatusOK {
		return fmt.Errorf("the API server returned %d", answer.StatusCode)
	}
	return nil
}
