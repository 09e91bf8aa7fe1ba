package guard

import (
	"fmt"
	"net/http"
	"time"

	"k8s.io/client-go/rest"
)

// probeTimeout is how long the API server may take to say that it is there.
const probeTimeout = 2 * time.Second

// reachesAPIServer asks the API server for its version.
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
		return fmt.Errorf("the API server answers %d", answer.StatusCode)
	}
	return nil
}
