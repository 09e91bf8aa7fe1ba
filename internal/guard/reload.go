package guard

import (
	"context"
	"time"

	"k8s.io/utils/clock"
)

// Load reads the configuration and returns its rules, or nil if its digest is still the given one.
type Load func(digest string) (*Rules, error)

// Reloader replaces the rules when the configuration changes. It reads files, not the API server.
// The trust of the guard must not depend on whether the API server answers, and the right to mount
// a file is separate from the right to write through the API. Kubernetes replaces a mounted
// ConfigMap as a whole.
//
// An invalid configuration is rejected as a whole, and the previous rules stay valid.
type Reloader struct {
	Current *Current
	Load    Load
	Every   time.Duration // the interval between two reads
	Clock   clock.WithTicker
	Metrics *Metrics

	// Changed receives new rules that are valid from now on. Refused receives the error of a
	// rejected configuration, once for each new text.
	Changed func(*Rules)
	Refused func(error)

	refused string
}

// Run reads the files at the interval until the context ends.
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

// Once reads the files. An error means that they are invalid. Then, and if they have not changed,
// the previous rules stay valid.
func (r *Reloader) Once() error {
	digest := ""
	if rules := r.Current.Rules(); rules != nil {
		digest = rules.Digest()
	}
	rules, err := r.Load(digest)
	r.Metrics.Reread("config", err == nil)
	if err != nil {
		if text := err.Error(); text != r.refused {
			r.refused = text
			r.Refused(err)
		}
		return err
	}
	r.refused = ""
	if rules == nil {
		return nil
	}
	if before := r.Current.Rules(); before != nil {
		rules.verifier.Remember(before.verifier)
	}
	r.Current.Replace(rules)
	r.Metrics.reloadedAt.Set(float64(r.Clock.Now().Unix()))
	r.Changed(rules)
	return nil
}
