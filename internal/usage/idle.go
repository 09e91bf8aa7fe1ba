package usage

import (
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/polex-dev/polex/internal/kyverno"
	"github.com/polex-dev/polex/internal/kyverno/wildcard"
	"github.com/polex-dev/polex/pkg/exception"
)

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
		if place := results.unscanned(o); place != "" {
			return 0, name + " reports on requests only in " + place
		}
	case results.skipped:
		return 0, "the background scans of " + name + " end before the exceptions: its rules are skipped, or fail"
	case len(results.requests) > 0:
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

// unscanned returns a namespace of the exception with results of requests and without scans, or "". Scans elsewhere
// say little then: other people can write reports there.
func (p *policyResults) unscanned(o *observed) string {
	for _, s := range o.Scopes {
		candidates := s.Namespaces
		if slices.ContainsFunc(candidates, wildcard.In) {
			candidates = slices.Sorted(maps.Keys(p.requests))
		}
		for _, namespace := range candidates {
			if p.requests[namespace] && s.has(namespace) && !p.scans(namespace) {
				return namespace
			}
		}
	}
	return ""
}

// scans reports whether a background scan came to the exceptions for a resource of a namespace.
func (p *policyResults) scans(namespace string) bool {
	for _, kinds := range p.scanned {
		for _, k := range kinds {
			if _, seen := k.oldest[namespace]; seen {
				return true
			}
		}
	}
	return false
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
					namespaced && !slices.ContainsFunc(slices.Collect(maps.Keys(k.homes)), s.has) {
					continue
				}
				newest = max(newest, k.newest)
				isStale = isStale || k.isStale(s, o.From.Unix())
			}
		}
	}
	return newest, isStale
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
