package usage

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/polex-dev/polex/internal/kyverno"
	"github.com/polex-dev/polex/internal/kyverno/wildcard"
	"github.com/polex-dev/polex/pkg/exception"
)

// Report is a report of Kyverno: PolicyReport or ClusterPolicyReport of wgpolicyk8s.io, Report or
// ClusterReport of openreports.io.
type Report struct {
	Metadata struct {
		Namespace string `json:"namespace"`
	} `json:"metadata"`
	Scope   *Resource `json:"scope"`
	Results []Result  `json:"results"`
}

// Result is the result of one rule for resources, or for the scope of the report.
type Result struct {
	Source     string     `json:"source"`
	Policy     string     `json:"policy"`
	Rule       string     `json:"rule"`
	Result     string     `json:"result"`
	Resources  []Resource `json:"resources"`
	Properties struct {
		Exceptions string `json:"exceptions"` // names with commas between
		Process    string `json:"process"`
	} `json:"properties"`
	Timestamp struct {
		Seconds int64 `json:"seconds"`
	} `json:"timestamp"`
}

// Resource is an object of a cluster.
type Resource struct {
	APIVersion string `json:"apiVersion"`
	Kind       string `json:"kind"`
	Namespace  string `json:"namespace"`
	Name       string `json:"name"`
}

// String returns kind and name for people.
func (r Resource) String() string {
	if r.Namespace == "" {
		return r.Kind + " " + r.Name
	}
	return r.Kind + " " + r.Namespace + "/" + r.Name
}

// Scope is a set of resources: names or patterns, and "*" for any.
type Scope struct {
	Namespaces []string `json:"namespaces"`
	Kinds      []string `json:"kinds"`
	Names      []string `json:"names"`
}

// Exception is an exception of a cluster.
type Exception struct {
	Identity exception.Identity
	Read     *kyverno.Exception
	// Scopes contain every resource that it exempts, and perhaps others.
	Scopes []Scope
	// From is the time since which the cluster has it in this form. Older results do not show that it
	// is idle.
	From time.Time
}

// Limits of reports.
const (
	maxResults = 1_000_000
	maxFirst   = 5
	// onRequests is Kyverno's name for results without a background scan.
	onRequests = "admission review"
)

// Reports collects report results about the exceptions of a cluster.
type Reports struct {
	// Policies are those of the cluster, or nil. Without them, an exception that names rules by
	// patterns is never idle.
	Policies *kyverno.PolicySet
	// Missing is the reason why the cluster has no reports, or "".
	Missing string

	exceptions []*observed
	names      map[string]bool
	places     map[place][]*observed
	named      map[kyverno.PolicyKey]*policyResults
	unjudged   map[kyverno.PolicyKey]string // the reasons
	results    int
	more       bool // a result of Kyverno is not a failure
}

// observed is an exception with the results that name it.
type observed struct {
	Exception
	kinds   []kyverno.KindSelector
	exempts map[skip]struct{}
	oldest  int64 // time of a result, in seconds
	usage   Usage
}

// skip is a resource that a rule skips because of an exception.
type skip struct {
	policy kyverno.PolicyKey
	rule   string // "" for policies.kyverno.io
	Resource
}

// policyResults are the results of a policy that an exception names.
type policyResults struct {
	// scanned has the times of background scans that came to the exceptions, by rule and kind of resource.
	scanned  map[string]map[ofKind]*scans
	requests map[string]bool // the namespaces with results of requests
	skipped  bool            // there are scans that did not come to the exceptions
}

// scans are the results for one kind of resource.
type scans struct {
	newest int64
	oldest map[string]int64 // by namespace of the resources
	homes  map[string]bool  // namespaces of the policies
}

// maxKinds is the maximum number of kinds that count for a rule.
const maxKinds = 1000

// place is where a result can be about an exception: its name and the namespace of a resource. Patterns
// of namespaces are under "*".
type place struct{ name, namespace string }

type ofKind struct{ apiVersion, kind string }

// NewReports prepares the collection for exceptions.
func NewReports(exceptions []Exception) *Reports {
	r := &Reports{names: map[string]bool{}, places: map[place][]*observed{},
		named: map[kyverno.PolicyKey]*policyResults{}, unjudged: map[kyverno.PolicyKey]string{}}
	for _, e := range exceptions {
		o := &observed{Exception: e, exempts: map[skip]struct{}{}}
		for _, s := range e.Scopes {
			for _, kind := range s.Kinds {
				o.kinds = append(o.kinds, kyverno.ParseKind(kind))
			}
			for _, namespace := range s.Namespaces {
				if wildcard.In(namespace) {
					namespace = "*"
				}
				at := place{e.Identity.Name, namespace}
				r.places[at] = append(r.places[at], o)
			}
		}
		r.exceptions, r.names[e.Identity.Name] = append(r.exceptions, o), true
		for _, ref := range e.Read.Refs {
			r.named[ref.Key()] = &policyResults{scanned: map[string]map[ofKind]*scans{}, requests: map[string]bool{}}
		}
	}
	return r
}

// Add adds the results of a report. Results of other tools and of policies that no exception names do
// not count, and in a report with a namespace, none about resources elsewhere: who may write there says nothing
// about those. More than 1,000,000 results are an error.
func (r *Reports) Add(report Report) error {
	for i := range report.Results {
		result := &report.Results[i]
		if r.results += max(len(result.Resources), 1); r.results > maxResults {
			return fmt.Errorf("the reports have more than %d results", maxResults)
		}
		policy, known := keyOf(result)
		r.more = r.more || known && (result.Result == "pass" || result.Result == "skip")
		results := r.named[policy]
		if !known || results == nil {
			continue
		}
		if policy.Group == exception.PoliciesGroup {
			result.Rule = ""
		}
		resources := result.Resources
		if len(resources) == 0 && report.Scope != nil {
			resources = []Resource{*report.Scope}
		}
		named := r.knownIn(result.Properties.Exceptions)
		for _, resource := range resources {
			if home := report.Metadata.Namespace; home != "" && home != resource.Namespace {
				continue
			}
			results.add(result, resource)
			for _, name := range named {
				for _, namespace := range []string{resource.place(), "*"} {
					for _, o := range r.places[place{name, namespace}] {
						o.add(policy, result, resource)
					}
				}
			}
		}
	}
	return nil
}

// knownIn returns the names of a list that exceptions have, each once.
func (r *Reports) knownIn(list string) (names []string) {
	for name := range strings.SplitSeq(list, ",") {
		if r.names[name] {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return slices.Compact(names)
}

// keyOf returns the policy of a result in the form in which exceptions name it.
func keyOf(result *Result) (key kyverno.PolicyKey, known bool) {
	kind, known := kyverno.ReportedKind(result.Source, result.Policy)
	if kyverno.HasRules(kind) {
		return kyverno.PolicyKey{Group: exception.KyvernoGroup, Name: result.Policy}, known
	}
	name := result.Policy[strings.LastIndex(result.Policy, "/")+1:]
	return kyverno.PolicyKey{Group: exception.PoliciesGroup, Kind: kind, Name: name}, known
}

// add adds a result of a background scan, if Kyverno came to the exceptions in it: a rule whose precondition is
// not met, or that fails, is skipped before.
func (p *policyResults) add(result *Result, resource Resource) {
	if result.Properties.Process == onRequests {
		p.requests[resource.place()] = true
		return
	}
	if !slices.Contains([]string{"pass", "fail", "warn"}, result.Result) && result.Properties.Exceptions == "" {
		p.skipped = true
		return
	}
	if p.scanned[result.Rule] == nil {
		p.scanned[result.Rule] = map[ofKind]*scans{}
	}
	kinds, kind := p.scanned[result.Rule], ofKind{resource.APIVersion, resource.Kind}
	if kinds[kind] == nil {
		if len(kinds) >= maxKinds {
			return
		}
		kinds[kind] = &scans{oldest: map[string]int64{}, homes: map[string]bool{}}
	}
	at, k := result.Timestamp.Seconds, kinds[kind]
	k.newest = max(k.newest, at)
	if oldest, seen := k.oldest[resource.place()]; !seen || at < oldest {
		k.oldest[resource.place()] = at
	}
	home, _, _ := strings.Cut(result.Policy, "/")
	k.homes[home] = true
}

// add adds a result that has the name of the exception, if the exception can be the named one.
func (o *observed) add(policy kyverno.PolicyKey, result *Result, resource Resource) {
	names := slices.ContainsFunc(o.Read.Refs, func(ref kyverno.Ref) bool {
		return ref.Key() == policy && (policy.Group == exception.PoliciesGroup ||
			fitsAny(ref.RuleNames(), result.Rule))
	})
	if !names || !slices.ContainsFunc(o.Scopes, func(s Scope) bool {
		// A condition about Pods can be of a template in any kind of controller, with another name.
		ofTemplate := policy.Group == exception.PoliciesGroup && s.takes(Resource{APIVersion: "v1", Kind: "Pod"})
		return s.has(resource.place()) && (ofTemplate || s.takes(resource) && fitsAny(s.Names, resource.Name))
	}) {
		return
	}
	if at := result.Timestamp.Seconds; len(o.exempts) == 0 || at < o.oldest {
		o.oldest = at
	}
	o.exempts[skip{policy, result.Rule, resource}] = struct{}{}
}

func fitsAny(patterns []string, text string) bool {
	return slices.ContainsFunc(patterns, func(pattern string) bool { return wildcard.Fits(pattern, text) })
}

// has reports whether the scope has resources of a namespace.
func (s Scope) has(namespace string) bool { return fitsAny(s.Namespaces, namespace) }

// takes reports whether the scope has resources of the kind of a resource.
func (s Scope) takes(r Resource) bool {
	group := r.group()
	return slices.ContainsFunc(s.Kinds, func(kind string) bool {
		return kyverno.ParseKind(kind).Takes(wildcard.NewMeter(), group.Group, group.Version, r.Kind)
	})
}

// place returns the namespace in which Kyverno finds a resource. It finds a Namespace in itself.
func (r Resource) place() string {
	if r.Kind == "Namespace" {
		return r.Name
	}
	return r.Namespace
}

func (r Resource) group() schema.GroupVersion {
	version, _ := schema.ParseGroupVersion(r.APIVersion)
	return version
}
