package guard

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"k8s.io/apimachinery/pkg/util/wait"

	"github.com/polex-dev/polex/internal/config"
	"github.com/polex-dev/polex/internal/kyverno"
	"github.com/polex-dev/polex/internal/kyverno/wildcard"
	"github.com/polex-dev/polex/pkg/exception"
	"github.com/polex-dev/polex/pkg/seal"
	"github.com/polex-dev/polex/pkg/trust"
	"github.com/polex-dev/polex/pkg/verify"
)

// Settings are the rules of a cluster in addition to the trust policy.
type Settings = config.Guard

// Rules are the rules of all decisions. They do not change: a new configuration gives new rules.
type Rules struct {
	verifier *verify.Verifier
	allowed  seal.Added    // the metadata that delivery tools may add
	reach    kyverno.Guard // the objects that no exception may reach
	settings Settings
	kinds    []exception.GroupKind // the kinds that the controller checks
	digest   string
}

// NewRules checks the whole configuration. The controller checks the kinds of the trust policy. The
// digest identifies the configuration in logs.
func NewRules(written trust.Config, settings Settings, digest string) (*Rules, error) {
	policy, err := trust.Load(written)
	if err != nil {
		return nil, err
	}
	verifier, err := verify.New(policy)
	if err != nil {
		return nil, err
	}
	verifier.Remember(nil)
	if settings.MaxPerNamespace < 0 {
		return nil, fmt.Errorf("guard: maxPerNamespace: %d is negative; write 0 for no limit", settings.MaxPerNamespace)
	}
	if err := settings.Namespaces.Check(wildcard.NamespaceForm); err != nil {
		return nil, fmt.Errorf("guard: namespaces: %w", err)
	}
	reach, err := kyverno.NewGuard(settings.GuardPolicies, settings.GuardNamespaces)
	if err == nil {
		reach, err = reach.Admitting(settings.AllowInKyverno)
	}
	if err != nil {
		return nil, fmt.Errorf("guard: %w", err)
	}
	return &Rules{
		verifier: verifier, allowed: seal.Added(policy.AllowedMetadata()), reach: reach, settings: settings,
		kinds: kindsOf(written.Kinds), digest: digest,
	}, nil
}

// WithPolicies adds the policies of [Settings.Policies]. Call it before the first decision.
func (r *Rules) WithPolicies(policies *kyverno.PolicySet) *Rules {
	r.reach = r.reach.Knowing(policies)
	return r
}

// kindsOf returns the kinds that a trust policy lists. If it lists none, or "*", these are the
// PolicyExceptions of both groups.
func kindsOf(listed []string) []exception.GroupKind {
	if len(listed) == 0 || slices.Contains(listed, "*") {
		return kyverno.Kinds()
	}
	var kinds []exception.GroupKind
	for _, text := range listed {
		kind, group, _ := strings.Cut(text, ".")
		kinds = append(kinds, exception.GroupKind{Group: group, Kind: kind})
	}
	return kinds
}

// Kinds returns the kinds that the controller checks in the cluster.
func (r *Rules) Kinds() []exception.GroupKind { return slices.Clone(r.kinds) }

// Guards reports whether no exception may reach a namespace.
func (r *Rules) Guards(namespace string) bool {
	_, guarded := r.reach.HasNamespace(wildcard.NewMeter(), namespace)
	return guarded
}

// Digest identifies the configuration.
func (r *Rules) Digest() string { return r.digest }

// Current holds the current rules. Its zero value has none, and then nothing can be decided.
type Current struct{ rules atomic.Pointer[Rules] }

// Update loads the rules, and returns them if they are new. load returns nil if the digest of the
// configuration is still the given one. After an error, the previous rules stay valid.
func (c *Current) Update(load func(digest string) (*Rules, error)) (*Rules, error) {
	before, digest := c.Rules(), ""
	if before != nil {
		digest = before.digest
	}
	rules, err := load(digest)
	if err != nil || rules == nil {
		return nil, err
	}
	if before != nil {
		rules.verifier.Remember(before.verifier)
	}
	c.Replace(rules)
	return rules, nil
}

// Replace makes r the current rules.
func (c *Current) Replace(r *Rules) { c.rules.Store(r) }

// Rules returns the current rules, or nil.
func (c *Current) Rules() *Rules { return c.rules.Load() }

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
	Metrics *Metrics

	refused string
}

// Run reads the file at the interval until the context ends.
func (r *Reloader) Run(ctx context.Context) error {
	wait.UntilWithContext(ctx, func(context.Context) { _ = r.Once() }, r.Every)
	return nil
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
