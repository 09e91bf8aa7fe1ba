package usage

import (
	"fmt"
	"regexp"
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
	requests bool // there are results of requests
	skipped  bool // there are scans that did not come to the exceptions
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
			r.named[ref.Key()] = &policyResults{scanned: map[string]map[ofKind]*scans{}}
		}
	}
	return r
}

// Add adds the results of a report. Results of other tools and of policies that no exception names do
// not count. More than 1,000,000 results are an error.
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
		p.requests = true
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

// Usages returns the usage of each exception, in their order.
func (r *Reports) Usages() []Usage {
	all := make([]Usage, len(r.exceptions))
	for i, o := range r.exceptions {
		if o.usage.State == "" {
			o.usage = r.usage(o)
		}
		all[i] = o.usage
	}
	return all
}

func (r *Reports) usage(o *observed) Usage {
	if len(o.exempts) > 0 {
		names := map[string]bool{}
		for s := range o.exempts {
			names[s.String()] = true
		}
		u := Usage{State: InUse, Resources: len(names), KnownSince: inUTC(o.oldest)}
		for name := range names {
			u.First = append(u.First, name)
		}
		slices.Sort(u.First)
		u.First = slices.Clone(u.First[:min(len(u.First), maxFirst)])
		return u
	}
	why := o.unreported()
	if why == "" {
		why = r.Missing
	}
	oldest := int64(0)
	for _, ref := range o.Read.Refs {
		if why != "" {
			break
		}
		var at int64
		if at, why = r.scanned(o, ref); oldest == 0 || at < oldest {
			oldest = at
		}
	}
	if why == "" && !r.more {
		why = "the reports have failures only, so Kyverno may be told not to report skipped resources"
	}
	if why != "" {
		return Usage{State: Unknown, Why: why}
	}
	return Usage{State: Idle, KnownSince: inUTC(oldest)}
}

// ofRequests matches what only a request has, and a background scan does not.
var ofRequests = regexp.MustCompile(`request\.(operation|userInfo|oldObject|roles|clusterRoles|subResource|` +
	`requestSubResource|dryRun|options|uid)|\boldObject\b|serviceAccount(Name|Namespace)`)

// unreported returns the reason if no report names an exception even if resources need it, or "".
func (o *observed) unreported() string {
	e := o.Read
	texts := fmt.Sprint(e.Preconditions)
	for _, c := range e.Conditions {
		texts += " " + c.Expression.Text
	}
	senders := slices.ContainsFunc(e.Match.Filters(), func(f kyverno.Filter) bool {
		return f.OfSenders() || len(f.Operations) > 0
	})
	switch {
	case len(e.Refs) == 0:
		return "it names no policy"
	case len(e.Unread) > 0:
		return "it has fields of another type than polex reads"
	case e.ByMatch && !e.Background:
		return "its background is false, so it applies to requests only"
	case slices.ContainsFunc(o.kinds, func(k kyverno.KindSelector) bool { return k.Subresource != "" }):
		return "it names a subresource, which only requests have"
	case senders || ofRequests.MatchString(texts):
		return "it names operations or users, which only requests have"
	case len(e.Images)+len(e.AllowedValues) > 0:
		return "Kyverno's reports do not name exceptions for images or values"
	}
	return ""
}

// scanned returns the time of the oldest scan that the rules of a reference need to show that an
// exception is idle, or the reason if a scan is missing.
func (r *Reports) scanned(o *observed, ref kyverno.Ref) (oldest int64, why string) {
	results := r.named[ref.Key()]
	name := strings.TrimSpace(ref.Kind.Text + " " + ref.Name.Text)
	switch {
	case len(results.scanned) > 0:
	case results.skipped:
		return 0, "the background scans of " + name + " end before the exceptions: its rules are skipped, or fail"
	case results.requests:
		return 0, name + " reports on requests only: it has no background scans"
	default:
		return 0, "no report has a result of " + name
	}
	rules, why := r.rules(ref)
	if why != "" {
		return 0, why
	}
	for _, rule := range rules {
		of := ""
		if rule != "" {
			of = "the rule " + rule + " of "
		}
		newest, isStale := results.scansOf(o, rule, ref.Namespaced())
		switch {
		case newest == 0:
			return 0, "no report has a result of " + of + name + " for a resource of its kinds"
		case newest < o.From.Unix() || isStale:
			return 0, "some reports of " + of + name + " are older than the exception"
		case oldest == 0 || newest < oldest:
			oldest = newest
		}
	}
	return oldest, ""
}

// rules returns the names of the rules as the policy has them, and [""] for policies.kyverno.io. A
// pattern stands for the rules of the known policy that it matches.
func (r *Reports) rules(ref kyverno.Ref) (names []string, why string) {
	if ref.Group == exception.PoliciesGroup {
		return []string{""}, ""
	}
	for _, rule := range ref.RuleNames() {
		if !wildcard.In(rule) {
			names = append(names, written(rule))
			continue
		}
		if r.Policies == nil || len(r.Policies.Find(ref)) == 0 {
			return nil, "it names rules of " + ref.Name.Text + " by a pattern: name the policies with --policies"
		}
		for _, policy := range r.Policies.Find(ref) {
			for _, one := range policy.Rules {
				if wildcard.Fits(rule, one.Name) || wildcard.Fits(rule, kyverno.AutogenPrefix+one.Name) {
					names = append(names, one.Name)
				}
			}
		}
	}
	if len(names) == 0 {
		return nil, "it names no rule of " + ref.Name.Text
	}
	slices.Sort(names)
	return slices.Compact(names), ""
}

// scansOf returns the time of the newest scan of a rule, or of one that Kyverno generates from it, for a
// resource of the kinds of an exception, or 0. isStale means that a scan in a namespace of the exception is
// older than the exception. Of a policy with a namespace, that has to be one of the exception's.
func (p *policyResults) scansOf(o *observed, rule string, namespaced bool) (newest int64, isStale bool) {
	for _, form := range []string{rule, kyverno.AutogenPrefix + rule, kyverno.AutogenCronJobPrefix + rule} {
		for kind, k := range p.scanned[form] {
			for _, s := range o.Scopes {
				if !s.takes(Resource{APIVersion: kind.apiVersion, Kind: kind.kind}) ||
					namespaced && !hasKey(s, k.homes) {
					continue
				}
				newest = max(newest, k.newest)
				isStale = isStale || k.isStale(s, o.From.Unix())
			}
		}
	}
	return newest, isStale
}

func hasKey(s Scope, namespaces map[string]bool) bool {
	for namespace := range namespaces {
		if s.has(namespace) {
			return true
		}
	}
	return false
}

// isStale reports whether a scan in a namespace of a scope is older than a time.
func (k *scans) isStale(s Scope, from int64) bool {
	if !slices.ContainsFunc(s.Namespaces, wildcard.In) {
		return slices.ContainsFunc(s.Namespaces, func(namespace string) bool {
			at, seen := k.oldest[namespace]
			return seen && at < from
		})
	}
	for namespace, at := range k.oldest {
		if at < from && s.has(namespace) {
			return true
		}
	}
	return false
}

// written returns the name of the rule from which Kyverno generates a rule.
func written(rule string) string {
	return strings.TrimPrefix(strings.TrimPrefix(rule, kyverno.AutogenCronJobPrefix), kyverno.AutogenPrefix)
}

// inUTC converts a time of a report. It returns zero for a year that RFC 3339 cannot write.
func inUTC(seconds int64) time.Time {
	if t := time.Unix(seconds, 0).UTC(); t.Year() <= 9999 && seconds > 0 {
		return t
	}
	return time.Time{}
}
