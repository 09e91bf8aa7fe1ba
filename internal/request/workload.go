package request

import (
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/polex-dev/polex/pkg/exception"
)

// made says how a controller names what it makes. The parts are those of
// Kubernetes' own controllers: a hash of 8 to 10 characters (rarely fewer) for a
// ReplicaSet, minutes since 1970 for the Jobs of a CronJob, five characters by
// chance for a Pod, and a number for the Pods of a StatefulSet.
type made struct {
	kind       string
	apiVersion string
	parts      []part
	labels     []label // of what it makes; nil where there are none
}

// part is one more "-" and what stands behind it, as Kyverno's patterns and as a regular
// expression.
type part struct {
	patterns   []string
	expression string
}

// Kubernetes writes no vowels and none of 0, 1 and 3 by chance (rand.String), and only ten
// characters in a hash (rand.SafeEncodeString). Kyverno's patterns cannot say that: there,
// labels tell siblings apart.
var (
	hash    = part{[]string{"??????????", "?????????", "????????"}, "[4-9bcdf]{8,10}"}
	minutes = part{[]string{"2???????", "3???????"}, "[23][0-9]{7}"} // until 2046
	chance  = part{[]string{"?????"}, "[bcdfghjklmnpqrstvwxz2456789]{5}"}
	ordinal = part{nil, "(0|[1-9][0-9]{0,2})"} // the patterns are exact names: ordinals
)

// label is one that Kubernetes puts on what a controller makes, or on what it does not
// make: a pattern for the Pods of web, such as web-?????, is the name of a Pod of the
// StatefulSet web-api, too.
type label struct{ key, operator string }

var (
	ofTemplate  = []label{{labelTemplateHash, "Exists"}}
	ofJob       = []label{{"job-name", "Exists"}}
	ofDaemonSet = []label{{"controller-revision-hash", "Exists"}, {"statefulset.kubernetes.io/pod-name", "DoesNotExist"}}
)

const (
	kindPod        = "Pod"
	kindReplicaSet = "ReplicaSet"
	kindDeployment = "Deployment"
	kindJob        = "Job"
	kindCronJob    = "CronJob"
)

// workloads are the controllers of Pods, with what each makes on the way to them.
var workloads = map[string]struct {
	apiVersion string
	makes      []made
}{
	kindDeployment:          {"apps/v1", []made{{kindReplicaSet, "apps/v1", []part{hash}, ofTemplate}, {kindPod, "v1", []part{hash, chance}, ofTemplate}}},
	kindCronJob:             {"batch/v1", []made{{kindJob, "batch/v1", []part{minutes}, nil}, {kindPod, "v1", []part{minutes, chance}, ofJob}}},
	"DaemonSet":             {"apps/v1", []made{{kindPod, "v1", []part{chance}, ofDaemonSet}}},
	kindReplicaSet:          {"apps/v1", []made{{kindPod, "v1", []part{chance}, ofTemplate}}},
	kindJob:                 {"batch/v1", []made{{kindPod, "v1", []part{chance}, ofJob}}},
	"ReplicationController": {"v1", []made{{kindPod, "v1", []part{chance}, nil}}},
	"StatefulSet":           {"apps/v1", []made{{kindPod, "v1", []part{ordinal}, nil}}},
}

// controllers are the kinds of workloads: those that own most come first.
var controllers = []string{kindDeployment, kindCronJob, kindReplicaSet, kindJob, "DaemonSet", "StatefulSet", "ReplicationController"}

// isWorkload reports whether a resource is a controller of Pods, by its kind and
// its group.
func (r Resource) isWorkload() bool {
	w, known := workloads[r.Kind]
	return known && r.APIVersion == w.apiVersion
}

func (r Resource) isPod() bool { return r.Kind == kindPod && r.APIVersion == "v1" }

// longestBase is how much of a name Kubernetes keeps before the five characters
// that it adds by chance.
const longestBase = 58

// patterns returns the names that a controller can give, as Kyverno's patterns: "?"
// is any one character. early are those that a Pod has before the API server has
// made a name of it.
func (m made) patterns(owner string) (names, early []string) {
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

// mostOrdinals is how many Pods of a StatefulSet are named one by one, and fewestOrdinals
// how many where no manifest asks for more: all of these names are its own.
const fewestOrdinals, mostOrdinals = 10, 100

// ordinals returns the names of the Pods of a StatefulSet: as many as its manifest asks
// for, and those that are known besides.
func (all objects) ordinals(owner Resource, besides []string) []string {
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

// expression returns the same as a regular expression, but closer: it knows which
// characters a part can have.
func (m made) expression(owner string) string {
	if longest := len(owner) + len("-??????????-"); longest > longestBase && m.parts[0].patterns != nil {
		names, early := m.patterns(owner) // some are cut
		return alternatives(append(names, early...))
	}
	var b strings.Builder
	b.WriteString("^" + literal(owner))
	for _, p := range m.parts {
		b.WriteString("-")
		if p.expression == chance.expression {
			b.WriteString("(" + p.expression + ")?") // without them, it is the beginning of a name yet to be made
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

// literal writes a name of letters, digits, "-" and "." as a regular expression
// that needs no backslash.
func literal(name string) string { return strings.ReplaceAll(name, ".", "[.]") }

// makes reports whether a workload could have made a resource of that kind and name.
func (r Resource) makes(other Resource) bool {
	return r.isWorkload() && other.Namespace == r.Namespace && slices.ContainsFunc(workloads[r.Kind].makes, func(m made) bool {
		named, err := regexp.MatchString(m.expression(r.Name), other.Name)
		return err == nil && named && m.kind == other.Kind && m.apiVersion == other.APIVersion
	})
}

func unique(items []string) []string {
	met := map[string]bool{}
	var kept []string
	for _, item := range items {
		if !met[item] {
			met[item] = true
			kept = append(kept, item)
		}
	}
	return kept
}
