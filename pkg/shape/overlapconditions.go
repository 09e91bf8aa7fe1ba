package shape

import (
	"maps"
	"regexp"
	"slices"
	"strings"

	"github.com/polex-dev/polex/internal/kyverno/expression"
	"github.com/polex-dev/polex/internal/kyverno/manifest"
	"github.com/polex-dev/polex/internal/kyverno/match"
	"github.com/polex-dev/polex/internal/kyverno/wildcard"
)

// conditionReader holds the conditions of the newest exception of a [Set]
// against those of others. It keeps those that it compiled last, for exceptions
// from one policy are often written alike; a claim keeps texts alone.
type conditionReader struct {
	language *expression.Language
	read     map[string]*expression.Condition

	newest *claim
	names  []string        // that its conditions are written with
	work   *wildcard.Meter // for all that it is held against
}

// maxRead bounds the conditions that are kept.
const maxRead = 256

func (r *conditionReader) matcher(c *claim) *match.ConditionMatcher {
	if r.language == nil {
		var err error
		if r.language, err = expression.ForConditions(); err != nil {
			return nil
		}
	}
	conditions, work := make([]*expression.Condition, 0, len(c.conditions)), expression.NewCompiling()
	for _, text := range c.conditions {
		one, ok := r.read[text]
		if !ok {
			one = r.language.Compile(text, work)
			if r.read == nil || len(r.read) == maxRead {
				r.read = map[string]*expression.Condition{}
			}
			r.read[text] = one
		}
		conditions = append(conditions, one)
	}
	return match.NewConditions(r.language, c.kinds(), conditions)
}

// Steps that looking at the names of another exception counts, and compiling its
// conditions: each exception is held against 20 others at most by their names,
// and against a few by what their conditions are true of.
const (
	maxReadingSteps = 200_000
	namesSteps      = 10_000
	compilingSteps  = 30_000
)

// witness returns a resource that the conditions of both exceptions are true of,
// if it finds one: it makes one up of the texts that they compare fields with.
// Who sends the request may matter to one of them.
func (r *conditionReader) witness(a, b *claim) *match.Resource {
	if r.newest != a {
		r.newest, r.names, r.work = a, namesIn(a.conditions), &wildcard.Meter{Left: maxReadingSteps}
	}
	work := r.work
	if !work.Spend(namesSteps) || !maybeSame(r.names, namesIn(b.conditions)) || !work.Spend(compilingSteps) {
		return nil
	}
	x, y := r.matcher(a), r.matcher(b)
	if x == nil || y == nil {
		return nil
	}
	of := map[string]string{"object": "object", "oldObject": "object", "request": "request", "namespaceObject": "namespaceObject"}
	var all []match.Want
	for _, t := range slices.Concat(x.All.Parts, y.All.Parts) {
		all = append(all, match.Wants(t.Expr.Expr(), of)...)
	}
	texts, found := match.CommonWants(work, all)
	if !found {
		return nil
	}
	made := imagined(texts)
	for _, at := range slices.Concat(slices.Concat(x.Stages...), slices.Concat(y.Stages...)) {
		mine, assumed := x.Holds(work, made, at)
		if !mine || assumed&^match.AssumedSender != 0 {
			continue
		}
		if yours, assumedToo := y.Holds(work, made, at); yours && (assumedToo == 0 || assumedToo == match.AssumedSender && assumed == 0) {
			return made
		}
	}
	return nil
}

// imagined makes a resource of texts for its fields, as commonWants returns
// them. What is not asked for is any.
func imagined(texts map[string]string) *match.Resource {
	tree := map[string]any{}
	home := &match.Namespace{Labels: map[string]string{}, Written: true}
	for _, key := range slices.Sorted(maps.Keys(texts)) {
		path := strings.Split(key, "\x00")
		switch {
		case path[0] == "object":
			plant(tree, path[1:], texts[key])
		case path[0] == "request" && path[1] == "object" && len(path) > 2:
			plant(tree, path[2:], texts[key])
		case path[0] == "namespaceObject" && path[1] == "metadata" && len(path) == 4 && path[2] == "labels":
			home.Labels[path[3]] = texts[key]
		}
	}
	first := func(otherwise string, fields ...string) string {
		for _, field := range fields {
			if text := texts[strings.ReplaceAll(field, ".", "\x00")]; text != "" {
				return text
			}
		}
		return otherwise
	}
	r := &match.Resource{Tree: func() map[string]any { return tree }}
	r.Id.Kind = first("Deployment", "object.kind", "request.kind.kind")
	r.Id.Group, r.Version = kindsHome(r.Id.Kind), "v1"
	if apiVersion := first("", "object.apiVersion"); apiVersion != "" {
		group, version, grouped := strings.Cut(apiVersion, "/")
		if !grouped {
			group, version = "", apiVersion
		}
		r.Id.Group, r.Version = group, version
	}
	r.Id.Group, r.Version = first(r.Id.Group, "request.kind.group"), first(r.Version, "request.kind.version")
	plant(tree, []string{"apiVersion"}, strings.TrimPrefix(r.Id.Group+"/"+r.Version, "/"))
	plant(tree, []string{"kind"}, r.Id.Kind)
	r.Id.Name = first("any", "object.metadata.name", "request.object.metadata.name", "request.name")
	plant(tree, []string{"metadata", "name"}, r.Id.Name)
	if r.ClusterScoped = slices.Contains(manifest.ClusterScopedKinds[r.Id.Group], r.Id.Kind); !r.ClusterScoped {
		r.Id.Namespace = first("any", "object.metadata.namespace", "request.object.metadata.namespace", "request.namespace", "namespaceObject.metadata.name")
		plant(tree, []string{"metadata", "namespace"}, r.Id.Namespace)
		home.Labels[manifest.LabelOfNamespace] = r.Id.Namespace
		r.Home = home
	}
	return r
}

// kindsHome returns the group of a kind of Kubernetes that is often asked for, ""
// for any other.
func kindsHome(kind string) string {
	for group, kinds := range manifest.ClusterScopedKinds {
		if slices.Contains(kinds, kind) {
			return group
		}
	}
	return manifest.PodControllers[kind]
}

// plant puts a text into a tree. A text that stood in the way was there only to
// be there.
func plant(tree map[string]any, path []string, text string) {
	for _, step := range path[:len(path)-1] {
		inside, ok := tree[step].(map[string]any)
		if !ok {
			inside = map[string]any{}
			tree[step] = inside
		}
		tree = inside
	}
	tree[path[len(path)-1]] = text
}

// namesCompared finds what a condition compares a name with.
var namesCompared = regexp.MustCompile(`\bname\b['")\]]*\s*(?:==|in)\s*(\[[^\]]*\]|'[^']*'|"[^"]*")`)

var quotedText = regexp.MustCompile(`'[^']*'|"[^"]*"`)

// maxNames bounds how many names of an exception's conditions are looked at.
const maxNames = 16

// namesIn returns the names that conditions are written with, without compiling
// them: exceptions for different names are not held against each other.
func namesIn(conditions []string) []string {
	var names []string
	for _, text := range conditions {
		for _, found := range namesCompared.FindAllStringSubmatch(text, maxNames) {
			for _, name := range quotedText.FindAllString(found[1], maxNames) {
				names = append(names, name[1:len(name)-1])
			}
		}
	}
	slices.Sort(names)
	names = slices.Compact(names)
	return names[:min(len(names), maxNames)]
}

// maybeSame reports whether two lists of names have one in common, or one of
// them is empty.
func maybeSame(some, others []string) bool {
	return len(some) == 0 || len(others) == 0 || slices.ContainsFunc(some, func(name string) bool { return slices.Contains(others, name) })
}
