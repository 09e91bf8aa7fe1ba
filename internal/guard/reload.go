package guard

import (
	"context"
	"time"

	"k8s.io/utils/clock"
)

// Load returns the rules that the configuration makes as it is now, or nil when
// it is still the one that the digest tells.
type Load func(digest string) (*Rules, error)

// Reloader takes up a configuration that has changed. It is read from files, and
// not from the API server: what the guard trusts must not hang on whether that
// answers, and whoever mounts a file can be told apart from whoever may write
// through the API. A ConfigMap that is mounted is replaced as a whole.
//
// An invalid one is refused as a whole, and what was decided by until then
// stays.
type Reloader struct {
	Current *Current
	Load    Load
	Every   time.Duration // how often the files are looked at
	Clock   clock.WithTicker
	Metrics *Metrics

	// Changed is told of new rules that count from now on, Refused of a
	// configuration that does not count, once for each that differs.
	Changed func(*Rules)
	Refused func(error)

	refused string
}

// Run looks at the files again and again until the context ends.
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

// Once looks at the files. An error means that they were refused; then, and when
// they have not changed, what was decided by still is.
func (r *Reloader) Once() error {
	digest := ""
	if rules := r.Current.Rules(); rules != nil {
		digest = rules.Digest()
	}
	rules, err := r.Load(digest)
	r.Metrics.reloadedSuccessfully(err == nil)
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
