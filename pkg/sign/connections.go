package sign

import (
	"net/http"

	"github.com/polex-dev/polex/internal/retry"
)

// transport returns a transport that retries, with one idle connection for each concurrent request.
func (c *Config) transport() retry.Transport {
	next := http.DefaultTransport
	if shared, ok := next.(*http.Transport); ok { // any other transport is the caller's, and stays unchanged
		own := shared.Clone()
		own.MaxIdleConnsPerHost = c.Concurrency
		next = own
	}
	return retry.Transport{Timing: c.Timing, Next: next}
}
