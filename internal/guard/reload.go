package guard

import (
	"context"
	"time"

	"k8s.io/utils/clock"
)

// Reloader reads a file again and again. It reads the configuration from files, and not from the API
// server. The trust of the guard must not depend on whether the API server answers, and the right to
// mount a file is separate from the right to write through the API. Kubernetes replaces a mounted
// ConfigMap as a whole.
//
// An invalid content is rejected as a whole, and the previous one stays in use.
type Reloader struct {
	Flag    string       // of the file, without the dashes
	Read    func() error // uses the content, or returns why it is invalid
	Refused func(error)  // receives each new error once
	Every   time.Duration
	Clock   clock.WithTicker
	Metrics *Metrics

	refused string
}

// Run reads the file at the interval until the context ends.
func (r *Reloader) Run(ctx context.Context) error {
	ticker := r.Clock.NewTicker(r.Every)
	defer ticker.Stop()
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-ticker.C():
			_ = r.Once()
		}
	}
}

// Once reads the file.
func (r *Reloader) Once() error {
	err := r.Read()
	r.Metrics.reloaded.WithLabelValues(r.Flag).Set(number(err == nil))
	text := ""
	if err != nil {
		text = err.Error()
	}
	if text != "" && text != r.refused {
		r.Refused(err)
	}
	r.refused = text
	return err
}
