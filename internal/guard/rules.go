package guard

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync/atomic"

	"github.com/polex-dev/polex/internal/kyverno"
	"github.com/polex-dev/polex/internal/kyverno/wildcard"
	"github.com/polex-dev/polex/pkg/exception"
	"github.com/polex-dev/polex/pkg/seal"
	"github.com/polex-dev/polex/pkg/trust"
	"github.com/polex-dev/polex/pkg/verify"
)

// Settings are what a cluster asks beyond the trust policy: the section guard of
// a configuration.
type Settings struct {
	// Namespaces are where exceptions may stand, names or patterns; none is any.
	Namespaces wildcard.Names `json:"namespaces" default:"any" doc:"the namespaces where exceptions may be: names, or patterns in which * is any text and ? is one character"`
	// RequireCluster asks every exception to name the cluster it is for.
	RequireCluster bool `json:"requireCluster" default:"false" doc:"true requires the annotation polex.dev/cluster of every exception"`
	// MaxPerNamespace is how many exceptions of one kind may stand in a
	// namespace; 0 is no limit.
	MaxPerNamespace int `json:"maxPerNamespace" min:"0" default:"0" doc:"the number of exceptions of one kind in a namespace; 0 sets no limit"`
	// GuardPolicies and GuardNamespaces are what no exception may reach, on top
	// of polex's and Kyverno's own.
	GuardPolicies   []string `json:"guardPolicies" default:"none" doc:"names or patterns of policies that no exception may reach, beside those of polex and Kyverno"`
	GuardNamespaces []string `json:"guardNamespaces" default:"none" doc:"names or patterns of namespaces that no exception may reach, beside those of polex, of Kyverno and of the guard"`
	// AllowInKyverno is what exceptions may exempt in the namespace kyverno.
	AllowInKyverno []kyverno.Admission `json:"allowInKyverno" default:"none" doc:"the objects in the namespace kyverno that an exception may exempt; all others there are protected"`
	// Policies are files of the policies that the cluster has.
	Policies []string `json:"policies" default:"none: every policy may match exceptions" doc:"files of the Kyverno policies of this cluster, from the configuration file; an exception from policies that cannot match exceptions may have any match conditions"`
	// InsecureOutsideGit are the authorities of the trust policy whose exceptions
	// need not be in Git, where that is asked at all: those for a break-glass.
	InsecureOutsideGit []string `json:"insecureOutsideGit" default:"none" doc:"names of authorities: polex-guard --git keeps their exceptions without a file in Git"`
}

// Rules are what is decided by. They do not change: a new configuration makes
// new ones.
type Rules struct {
	verifier *verify.Verifier
	allowed  seal.Added    // what tools may add to what was signed
	reach    kyverno.Guard // what no exception may reach
	settings Settings
	kinds    []exception.GroupKind // that are looked at in the cluster
	digest   string
	admitted admissions // what was verified by these rules a moment ago
}

// NewRules checks a configuration as a whole. The kinds of the trust policy are
// those that are looked at again in the cluster. The digest tells the
// configuration from others, in logs.
func NewRules(config trust.Config, settings Settings, digest string) (*Rules, error) {
	policy, err := trust.Load(config)
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
	for _, name := range settings.InsecureOutsideGit {
		if name == "" || !slices.ContainsFunc(policy.Authorities(), func(a *trust.Authority) bool { return a.Name() == name }) {
			return nil, fmt.Errorf("guard: insecureOutsideGit: the trust policy has no authority %q", name)
		}
	}
	reach, err := kyverno.NewGuard(settings.GuardPolicies, settings.GuardNamespaces)
	if err == nil {
		reach, err = reach.Admitting(settings.AllowInKyverno)
	}
	if err != nil {
		return nil, fmt.Errorf("guard: %w", err)
	}
	return &Rules{verifier: verifier, allowed: seal.Added(policy.AllowedMetadata()), reach: reach, settings: settings, kinds: kindsOf(config.Kinds), digest: digest}, nil
}

// Knowing adds the policies of [Settings.Policies] to rules that nothing is decided by yet.
func (r *Rules) Knowing(policies *kyverno.PolicySet) *Rules {
	r.reach = r.reach.Knowing(policies)
	return r
}

// kindsOf are the kinds that a trust policy lists, and PolicyException of both
// groups where it lists none, or any.
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

// Kinds are those that are looked at in the cluster.
func (r *Rules) Kinds() []exception.GroupKind { return slices.Clone(r.kinds) }

// Guards reports whether no exception may reach a namespace.
func (r *Rules) Guards(namespace string) bool {
	_, found := r.reach.HasNamespace(wildcard.NewMeter(), namespace)
	return found
}

// Digest returns what tells the configuration from others.
func (r *Rules) Digest() string { return r.digest }

// allowsNamespace reports whether an exception may stand in a namespace.
func (s *Settings) allowsNamespace(namespace string) bool {
	return len(s.Namespaces) == 0 || s.Namespaces.Include(namespace)
}

// mayStandOutsideGit reports whether one of those signed who need not commit it.
func (r *Rules) mayStandOutsideGit(facts Facts) bool {
	return slices.ContainsFunc(facts.Signers, func(s Signer) bool {
		return slices.Contains(r.settings.InsecureOutsideGit, s.Authority)
	})
}

// Current holds the rules that are decided by now. Its zero value has none, and
// then nothing can be decided.
type Current struct{ rules atomic.Pointer[Rules] }

var errNoRules = errors.New("there is no configuration to decide by")

// Replace makes rules the ones that are decided by from now on.
func (c *Current) Replace(r *Rules) { c.rules.Store(r) }

// Rules returns the rules, or nil when there are none yet.
func (c *Current) Rules() *Rules { return c.rules.Load() }
