package request

import (
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/polex-dev/polex/pkg/exception"
)

// created describes the names that a Kubernetes controller generates. A ReplicaSet name ends in a hash
// of 8 to 10 characters (rarely fewer). A Job of a CronJob ends in minutes since 1970, a Pod in
// five random characters, and a Pod of a StatefulSet in a number.
type created struct {
	kind       string
	apiVersion string
	parts      []part
	labels     []label // of the created resources; nil if there are none
}

// part is one "-" and the text after it, as patterns of Kyverno and as a regular expression.
type part struct {
	patterns   []string
	expression string
}

// Random names have no vowels and no 0, 1 and 3 (rand.String). A hash has only ten different
// characters (rand.SafeEncodeString). Kyverno's patterns cannot express this, so labels distinguish
// siblings.
var (
	hash    = part{[]string{"??????????", "?????????", "????????"}, "[4-9bcdf]{8,10}"}
	minutes = part{[]string{"2???????", "3???????"}, "[23][0-9]{7}"} // until 2046
	chance  = part{[]string{"?????"}, "[bcdfghjklmnpqrstvwxz2456789]{5}"}
	ordinal = part{nil, "(0|[1-9][0-9]{0,2})"} // ordinals returns exact names instead of patterns
)

// label is a label that Kubernetes sets, or does not set, on the resources of a controller. It is
// necessary because the pattern web-????? for the Pods of web also matches Pods of the StatefulSet
// web-api.
type label struct{ key, operator string }

var (
	ofTemplate  = []label{{labelTemplateHash, "Exists"}}
	ofJob       = []label{{"job-name", "Exists"}}
	ofDaemonSet = []label{
		{"controller-revision-hash", "Exists"}, {"statefulset.kubernetes.io/pod-name", "DoesNotExist"},
	}
)

const (
	kindPod        = "Pod"
	kindReplicaSet = "ReplicaSet"
	kindDeployment = "Deployment"
	kindJob        = "Job"
	kindCronJob    = "CronJob"
)

// workloads are the controllers of Pods with the resources that each creates, down to Pods.
var workloads = map[string]struct {
	apiVersion string
	makes      []created
}{
	kindDeployment: {"apps/v1", []created{
		{kindReplicaSet, "apps/v1", []part{hash}, ofTemplate}, {kindPod, "v1", []part{hash, chance}, ofTemplate},
	}},
	kindCronJob: {"batch/v1", []created{
		{kindJob, "batch/v1", []part{minutes}, nil}, {kindPod, "v1", []part{minutes, chance}, ofJob},
	}},
	"DaemonSet":             {"apps/v1", []created{{kindPod, "v1", []part{chance}, ofDaemonSet}}},
	kindReplicaSet:          {"apps/v1", []created{{kindPod, "v1", []part{chance}, ofTemplate}}},
	kindJob:                 {"batch/v1", []created{{kindPod, "v1", []part{chance}, ofJob}}},
	"ReplicationController": {"v1", []created{{kindPod, "v1", []part{chance}, nil}}},
	"StatefulSet":           {"apps/v1", []created{{kindPod, "v1", []part{ordinal}, nil}}},
}

// controllers are the kinds of workloads. Topmost owners come first.
var controllers = []string{kindDeployment, kindCronJob, kindReplicaSet, kindJob, "DaemonSet", "StatefulSet",
	"ReplicationController"}

// isWorkload reports whether a resource is a controller of Pods, by its kind and API version.
func (r Resource) isWorkload() bool {
	w, known := workloads[r.Kind]
	return known && r.APIVersion == w.apiVersion
}

func (r Resource) isPod() bool { return r.Kind == kindPod && r.APIVersion == "v1" }

// longestBase is the maximum length of a name before the five random characters. Kubernetes
// truncates longer names.
const longestBase = 58

// patterns returns the names that a controller can generate, as patterns of Kyverno: "?" matches
// one character. early are the names that a Pod has before the API server adds the random
// characters.
func (m created) patterns(owner string) (names, early []string) {
	names = []string{owner}
	for i, p := range m.parts {
		random := i == len(m.parts)-1 && p.expression == chance.expression
		var next []string
		for _, base := range names {
			base += "-"
			if random {
				base = base[:min(len(base), longestBase)]
				early = append(early, base)
			}
			for _, pattern := range p.patterns {
				next = append(next, base+pattern)
			}
		}
		names = next
	}
	return unique(names), unique(early)
}

// ordinals returns as many Pod names of a StatefulSet as its manifest requests, and besides.
func (all objects) ordinals(owner Resource, besides []string) []string {
	// mostOrdinals is the maximum number of StatefulSet Pods in an exception. fewestOrdinals is the minimum, for a
	// manifest with fewer replicas or none. No other resource has these names.
	const fewestOrdinals, mostOrdinals = 10, 100
	count, start := int64(fewestOrdinals), int64(0)
	if d := all.find(owner); d != nil {
		count = min(max(count, number(d, "spec", "replicas")), mostOrdinals)
		start = max(0, number(d, "spec", "ordinals", "start"))
	}
	var names []string
	for i := range count {
		names = append(names, fmt.Sprintf("%s-%d", owner.Name, start+i))
	}
	return unique(append(names, besides...))
}

func number(d *exception.Document, path ...any) int64 {
	value, _ := d.Lookup(path...)
	n, _ := strconv.ParseInt(fmt.Sprint(value), 10, 32)
	return n
}

// expression returns a stricter regular expression for the same names. It allows only the
// characters that a part can have.
func (m created) expression(owner string) string {
	if longest := len(owner) + len("-??????????-"); longest > longestBase && m.parts[0].patterns != nil {
		names, early := m.patterns(owner) // some are truncated
		return alternatives(append(names, early...))
	}
	var b strings.Builder
	b.WriteString("^" + literal(owner))
	for _, p := range m.parts {
		b.WriteString("-")
		if p.expression == chance.expression {
			b.WriteString("(" + p.expression + ")?") // empty in a name that is not generated yet
			continue
		}
		b.WriteString(p.expression)
	}
	return b.String() + "$"
}

// alternatives writes patterns as one regular expression.
func alternatives(patterns []string) string {
	either := make([]string, len(patterns))
	for i, p := range patterns {
		either[i] = strings.ReplaceAll(literal(p), "?", "[a-z0-9]")
	}
	return "^(" + strings.Join(either, "|") + ")$"
}

// literal writes a name of letters, digits, "-" and "." as a regular expression without
// backslashes.
func literal(name string) string { return strings.ReplaceAll(name, ".", "[.]") }

// makes reports whether a workload could have created a resource with this kind and name.
func (r Resource) makes(other Resource) bool {
	if !r.isWorkload() || other.Namespace != r.Namespace {
		return false
	}
	return slices.ContainsFunc(workloads[r.Kind].makes, func(m created) bool {
		named, err := regexp.MatchString(m.expression(r.Name), other.Name)
		return err == nil && named && m.kind == other.Kind && m.apiVersion == other.APIVersion
	})
}

func unique(items []string) []string {
	seen := map[string]bool{}
	var kept []string
	for _, item := range items {
		if !seen[item] {
			seen[item] = true
			kept = append(kept, item)
		}
	}
	return kept
}
