package request

import (
	"fmt"
	"path"
	"strings"
)

// made says how a controller names what it makes. The parts are those of
// Kubernetes' own controllers: a hash of 8 to 10 characters (rarely fewer) for a
// ReplicaSet, minutes since 1970 for the Jobs of a CronJob, five characters by
// chance for a Pod, and a number for the Pods of a StatefulSet.
type made struct {
	kind       string
	apiVersion string
	parts      []part
}

// part is one more "-" and what stands behind it: between least and most characters.
type part struct{ least, most int }

var (
	hash    = part{8, 10}
	minutes = part{8, 8}
	chance  = part{5, 5}
	ordinal = part{1, 3}
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
	kindDeployment:          {"apps/v1", []made{{kindReplicaSet, "apps/v1", []part{hash}}, {kindPod, "v1", []part{hash, chance}}}},
	kindCronJob:             {"batch/v1", []made{{kindJob, "batch/v1", []part{minutes}}, {kindPod, "v1", []part{minutes, chance}}}},
	"DaemonSet":             {"apps/v1", []made{{kindPod, "v1", []part{chance}}}},
	kindReplicaSet:          {"apps/v1", []made{{kindPod, "v1", []part{chance}}}},
	kindJob:                 {"batch/v1", []made{{kindPod, "v1", []part{chance}}}},
	"ReplicationController": {"v1", []made{{kindPod, "v1", []part{chance}}}},
	"StatefulSet":           {"apps/v1", []made{{kindPod, "v1", []part{ordinal}}}},
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
	bases := []string{owner}
	for i, p := range m.parts {
		last := i == len(m.parts)-1
		var next []string
		for _, base := range bases {
			if p == chance {
				base += "-"
				base = base[:min(len(base), longestBase)]
				early = append(early, base)
				next = append(next, base+strings.Repeat("?", p.most))
				continue
			}
			for length := p.most; length >= p.least; length-- {
				next = append(next, base+"-"+strings.Repeat("?", length))
			}
		}
		bases = next
		if !last {
			early = nil
		}
	}
	return unique(bases), unique(early)
}

// expression returns the same as a regular expression.
func (m made) expression(owner string) string {
	if longest := len(owner) + len("-??????????-"); longest > longestBase {
		names, early := m.patterns(owner) // some are cut
		return alternatives(append(names, early...))
	}
	var b strings.Builder
	b.WriteString("^" + literal(owner))
	for _, p := range m.parts {
		b.WriteString("-")
		switch p {
		case chance:
			b.WriteString("([a-z0-9]{5})?") // without them, it is the beginning of a name yet to be made
		case hash:
			b.WriteString("[a-z0-9]" + count(p))
		default:
			b.WriteString("[0-9]" + count(p))
		}
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

func count(p part) string {
	if p.least == p.most {
		return fmt.Sprintf("{%d}", p.least)
	}
	return fmt.Sprintf("{%d,%d}", p.least, p.most)
}

// makes reports whether a workload could have made a resource of that kind and name.
func (r Resource) makes(other Resource) bool {
	if !r.isWorkload() || other.Namespace != r.Namespace {
		return false
	}
	for _, m := range workloads[r.Kind].makes {
		if m.kind != other.Kind || m.apiVersion != other.APIVersion {
			continue
		}
		names, _ := m.patterns(r.Name)
		for _, pattern := range names {
			// "?" is the one wildcard of either.
			if made, _ := path.Match(pattern, other.Name); made {
				return true
			}
		}
	}
	return false
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
