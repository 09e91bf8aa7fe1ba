package shape

import (
	"strings"

	"github.com/polex-dev/polex/pkg/exception"
)

// KnownPolicy is a policy of a [PolicySet], with what an exception can name of it.
type KnownPolicy struct {
	Policy
	Rules []KnownRule // of kyverno.io
	// AboutPods says that a policy of policies.kyverno.io is asked about Pods, and
	// so about the templates of their controllers.
	AboutPods bool
}

// KnownRule is a rule as its policy has it.
type KnownRule struct {
	Name string
	// PodSecurity says that the rule checks a profile of the Pod Security
	// Standards, so that an exception can name some of its controls.
	PodSecurity bool
	// Early says that the rule is asked before the API server has made a name of
	// generateName: it verifies images, or changes the resource.
	Early bool
	// Made are the names of the rules that Kyverno 1.19 makes of this one, by the
	// kind of the controller of Pods that each is for.
	Made map[string]string
}

// Called returns the policies of a name, with the namespace before it
// ("namespace/name") or without, of whichever kind and group. One whose document does
// not say its namespace lives in any. A policy that has several documents is there
// once for each.
func (set *PolicySet) Called(name string) []KnownPolicy {
	namespace, bare, namespaced := strings.Cut(name, "/")
	if !namespaced {
		bare = name
	}
	var found []KnownPolicy
	for _, p := range set.named[bare] {
		lives := p.Kind == "Policy" || strings.HasPrefix(p.Kind, "Namespaced") // in a namespace
		if namespaced && p.Namespace != namespace && (!lives || p.Namespace != "") {
			continue
		}
		known := KnownPolicy{Policy: p.Policy, AboutPods: p.pods}
		if p.Group == exception.KyvernoGroup {
			known.Rules = knownRules(p.rules)
		}
		found = append(found, known)
	}
	return found
}

func knownRules(rules []rule) []KnownRule {
	known := make([]KnownRule, len(rules))
	for i, r := range rules {
		known[i] = KnownRule{Name: r.name, PodSecurity: r.podSecurity, Early: r.early, Made: map[string]string{}}
		for made, kinds := range r.controllers {
			for _, kind := range kinds {
				known[i].Made[kind] = made
			}
		}
	}
	return known
}
