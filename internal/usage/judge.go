package usage

import (
	"cmp"
	"encoding/json"
	"regexp"
	"slices"
	"strings"

	"github.com/polex-dev/polex/internal/kyverno"
	"github.com/polex-dev/polex/pkg/exception"
)

// Exempt returns the policies and resources that exceptions in use are about: what
// Kyverno's command line has to judge.
func (r *Reports) Exempt() (policies []kyverno.PolicyKey, resources []Resource) {
	ofPolicies, ofResources := map[kyverno.PolicyKey]bool{}, map[Resource]bool{}
	for _, o := range r.exceptions {
		for s := range o.exempts {
			if !ofPolicies[s.policy] {
				ofPolicies[s.policy], policies = true, append(policies, s.policy)
			}
			if !ofResources[s.Resource] {
				ofResources[s.Resource], resources = true, append(resources, s.Resource)
			}
		}
	}
	return policies, resources
}

// Judged keeps the policies that Kyverno's command line can judge: those that validate, and read nothing
// but the resource. Exceptions from the others stay in use, with the reason.
func (r *Reports) Judged(policies []map[string]any) []map[string]any {
	return slices.DeleteFunc(policies, func(p map[string]any) bool {
		why := unjudged(p)
		if why != "" {
			r.unjudged[KeyOf(p)] = why
		}
		return why != ""
	})
}

// NotJudged says that a policy could not be judged, or with an empty policy that none could.
func (r *Reports) NotJudged(policy kyverno.PolicyKey, why string) { r.unjudged[policy] = why }

// Judge takes the results of Kyverno's command line for policies and resources without any exception. An
// exception in use is not needed if everything that it exempts passes then: without the other exceptions
// too, because several can exempt one resource.
func (r *Reports) Judge(results []Result) {
	passes := map[skip]bool{}
	for i := range results {
		one := &results[i]
		policy, _ := keyOf(one)
		if policy.Group == exception.PoliciesGroup {
			one.Rule = ""
		}
		for _, resource := range one.Resources {
			of := skip{policy, one.Rule, resource}
			before, seen := passes[of]
			passes[of] = one.Result == "pass" && (before || !seen)
		}
	}
	for _, o := range r.exceptions {
		if len(o.exempts) == 0 {
			continue
		}
		o.usage = r.usage(o)
		o.usage.State = NotNeeded
		var why []string
		if reason := o.unreported(); reason != "" { // others can need it without a result
			o.usage.State, why = InUse, append(why, reason)
		}
		for s := range o.exempts {
			pass, seen := passes[s]
			reason := cmp.Or(r.unjudged[s.policy], r.unjudged[kyverno.PolicyKey{}])
			if reason == "" && !seen {
				reason = "Kyverno's command line did not judge all of them"
			}
			if reason != "" {
				why = append(why, reason)
			}
			if !pass || reason != "" {
				o.usage.State = InUse
			}
		}
		if len(why) > 0 {
			o.usage.Why = slices.Min(why)
		}
	}
}

// KeyOf returns the policy of an object in the form in which exceptions name it.
func KeyOf(p map[string]any) kyverno.PolicyKey {
	metadata, _ := p["metadata"].(map[string]any)
	text := func(of map[string]any, key string) string { value, _ := of[key].(string); return value }
	group, _, _ := strings.Cut(text(p, "apiVersion"), "/")
	key := kyverno.PolicyKey{Group: group, Kind: text(p, "kind"), Name: text(metadata, "name")}
	if namespace := text(metadata, "namespace"); group == exception.KyvernoGroup && kyverno.HasRules(key.Kind) {
		if key.Kind != "ClusterPolicy" && namespace != "" {
			key.Name = namespace + "/" + key.Name
		}
		key.Kind = ""
	}
	return key
}

// readsOthers matches what a policy reads besides the resource. The command line does not have it, so
// its verdict could differ from the cluster's.
var readsOthers = regexp.MustCompile(`apiCall|globalReference|configMap|imageRegistry|globalContext|` +
	`namespaceObject|oldObject|serviceAccount|userInfo|resource\.(Get|List|Post)|http\.(Get|Post)|` +
	`image(Data)?\.Get|GetMetadata|time\.now|time_now|time_since|now\(\)|random\(|authorizer|` +
	`request\.(operation|roles|clusterRoles|dryRun|options)`)

// unjudged returns the reason if the command line cannot judge a policy, or "".
func unjudged(policy map[string]any) string {
	key := KeyOf(policy)
	name := strings.TrimSpace(key.Kind + " " + key.Name)
	spec, _ := policy["spec"].(map[string]any)
	raw, err := json.Marshal(spec)
	raw = []byte(strings.NewReplacer(" ", "", `\n`, "", `\t`, "", `\r`, "").Replace(string(raw)))
	switch {
	case err != nil || readsOthers.Match(raw):
		return name + " reads more than the resource, so only the cluster can judge"
	case key.Group == exception.PoliciesGroup && strings.HasSuffix(key.Kind, "ValidatingPolicy") &&
		!kyverno.VerifiesImages(key.Kind):
		return ""
	}
	rules, _ := spec["rules"].([]any)
	for _, rule := range rules {
		if tree, _ := rule.(map[string]any); tree["validate"] == nil {
			return name + " does more than validate"
		}
	}
	if len(rules) == 0 {
		return name + " does not validate"
	}
	return ""
}
