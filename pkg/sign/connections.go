package sign

import (
	"net/http"

	"github.com/polex-dev/polex/internal/retry"
)

// transport returns what sends the requests to a server, patiently: it keeps as
// many connections as requests run at once.
func (c *Config) transport() retry.Transport {
	next := http.DefaultTransport
	if shared, ok := next.(*http.Transport); ok { // otherwise somebody's own, to whom it is left
		own := shared.Clone()
		own.MaxIdleConnsPerHost = c.Concurrency
		next = own
	}
	return retry.Transport{Timing: c.Timing, Next: next}
}
