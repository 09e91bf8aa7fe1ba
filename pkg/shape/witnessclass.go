package shape

import (
	"slices"
	"strings"
)

// A class is a sort of request about resources that have nothing else in
// common: their names, namespaces and, unless it is the class of one kind,
// their kinds and groups differ. A condition that is true of all of them says
// nothing of the resource; which class it is true of says what it does say.
type class struct {
	kind      string // "" for unlike kinds
	operation string
	requester string
	scope     string
	labelled  string
}

const (
	byUser, byServiceAccount  = "a user", "a service account"
	namespaced, clusterScoped = "namespaced", "cluster-scoped"
	withLabels, withoutLabels = "labelled", "unlabelled"
)

var (
	allOperations = []string{"CREATE", "UPDATE", "DELETE"}
	allRequesters = []string{byUser, byServiceAccount}
	allScopes     = []string{namespaced, clusterScoped}
	allLabelled   = []string{withLabels, withoutLabels}
)

// classes are all the classes of resources of a kind, or of unlike kinds.
func classes(kind string) []class {
	var all []class
	for _, operation := range allOperations {
		for _, requester := range allRequesters {
			for _, scope := range allScopes {
				for _, labelled := range allLabelled {
					all = append(all, class{kind, operation, requester, scope, labelled})
				}
			}
		}
	}
	return all
}

// holdsOfAll reports whether the conditions are true of the whole class. It
// stops at the first resource that they are not true of.
func (t *trial) holdsOfAll(c class) bool {
	kinds := t.known[c.scope]
	if c.kind != "" {
		kinds = t.ofKind(c.kind, c.scope)
	} else {
		kinds = append(slices.Clip(kinds), specimen{group: t.next() + ".example", version: "v1alpha1", kind: t.kind()})
	}
	for _, r := range kinds {
		if !t.holds(t.dress(r, c), t.request(c)) {
			return false
		}
	}
	return len(kinds) > 0
}

// dress gives a resource names of its own.
func (t *trial) dress(r specimen, c class) specimen {
	r.name = t.next()
	if c.scope == namespaced {
		r.namespace = t.next()
	}
	if c.labelled == withLabels {
		r.labels = map[string]any{t.next(): t.next(), t.next() + ".example/" + t.next(): t.next()}
		r.annotations = map[string]any{t.next() + ".example/" + t.next(): t.next()}
	}
	return r
}

func (t *trial) request(c class) request {
	if c.requester == byServiceAccount {
		namespace := t.next()
		return request{c.operation, "system:serviceaccount:" + namespace + ":" + t.next(),
			[]any{"system:serviceaccounts", "system:serviceaccounts:" + namespace, "system:authenticated"}}
	}
	return request{c.operation, t.next() + "@" + t.next() + ".example", []any{t.next(), "system:authenticated"}}
}

// wellKnown are resources of kinds that every cluster has.
func wellKnown(scope string) []specimen {
	if scope == clusterScoped {
		return []specimen{
			{group: "rbac.authorization.k8s.io", version: "v1", kind: "ClusterRole", body: map[string]any{"rules": []any{}}},
			{group: "storage.k8s.io", version: "v1", kind: "StorageClass", body: map[string]any{"provisioner": "csi.example"}},
			{version: "v1", kind: "PersistentVolume", body: map[string]any{"spec": map[string]any{"capacity": map[string]any{"storage": "1Gi"}}}},
		}
	}
	pod := map[string]any{
		"containers":         []any{map[string]any{"name": "main", "image": "registry.example/main@sha256:9f1c", "resources": map[string]any{}}},
		"serviceAccountName": "default",
	}
	return []specimen{
		{version: "v1", kind: "Pod", body: map[string]any{"spec": pod}},
		{group: "apps", version: "v1", kind: "Deployment", body: map[string]any{"spec": map[string]any{"replicas": int64(2), "template": map[string]any{"spec": pod}}}},
		{version: "v1", kind: "ConfigMap", body: map[string]any{"data": map[string]any{}}},
	}
}

// ofKind are three alike resources of a kind, none if it is known to have
// another scope.
func (t *trial) ofKind(kind, scope string) []specimen {
	r := specimen{group: "apps", version: "v1", kind: kind, body: map[string]any{"spec": map[string]any{}}}
	for _, other := range allScopes {
		for _, known := range t.known[other] {
			if known.kind != kind {
				continue
			}
			if other != scope {
				return nil
			}
			r = known
		}
	}
	return []specimen{r, r, r}
}

// described says in words what is common to classes.
func describedClasses(found []class) string {
	kinds := said(found, nil, func(c class) string { return c.kind })
	noun := "resource"
	if len(kinds) > 0 && kinds[0] != "" {
		noun = strings.Join(kinds, " or ")
	}
	words := slices.Concat(
		said(found, allLabelled, func(c class) string { return c.labelled }),
		said(found, allScopes, func(c class) string { return c.scope }),
		[]string{noun})
	text := strings.Join(words, " ")
	operations := said(found, allOperations, func(c class) string {
		return map[string]string{"CREATE": "created", "UPDATE": "updated", "DELETE": "deleted"}[c.operation]
	})
	requesters := said(found, allRequesters, func(c class) string { return c.requester })
	switch {
	case len(operations) > 0:
		text += " that is " + strings.Join(operations, " or ")
	case len(requesters) > 0:
		text += " that is asked for"
	}
	if len(requesters) > 0 {
		text += " by " + strings.Join(requesters, " or ")
	}
	return text
}

// said are the different words of classes, none when they are all there are.
func said(found []class, all []string, word func(class) string) []string {
	var words []string
	for _, c := range found {
		if w := word(c); !slices.Contains(words, w) {
			words = append(words, w)
		}
	}
	if len(words) == len(all) {
		return nil
	}
	return words
}
