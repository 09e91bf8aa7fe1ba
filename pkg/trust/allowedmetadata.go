package trust

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/polex-dev/polex/internal/lifetime"
	"github.com/polex-dev/polex/pkg/exception"
)

// AllowedMetadata are the labels and annotations that tools such as Helm add to an
// object after it was signed, each with the one value that is allowed.
//
// They only add. What was signed keeps its value, and everything that polex reads, it
// reads from what was signed. So an added label can narrow or widen nothing, but
// others select by labels: a webhook or a policy may leave out what has this one.
type AllowedMetadata struct {
	Labels      map[string]string `json:"labels"`
	Annotations map[string]string `json:"annotations"`
}

// reserved are domains whose metadata, with that of all domains below, is never allowed,
// besides those of [lifetime.Reserved]: it tells a tool to prune, to sync or to leave alone.
// The tools are kubectl and its apply sets, kustomize, cli-utils, Argo CD, Flux, Helm, kapp,
// Fleet and Config Sync.
var reserved = []string{"kubernetes.io", "k8s.io", "argoproj.io", "fluxcd.io", "helm.sh", "k14s.io", "cattle.io", "gke.io"}

// origin is metadata in those domains that only says where an object is from. All of
// app.kubernetes.io is such.
var origin = []string{"meta.helm.sh/release-name", "meta.helm.sh/release-namespace", "helm.toolkit.fluxcd.io/name", "helm.toolkit.fluxcd.io/namespace"}

// CheckAdded says why a policy must not allow a label or an annotation, or returns nil.
// The field is "labels" or "annotations".
func CheckAdded(field, key, value string) error {
	domain, _, has := strings.Cut(key, "/")
	switch {
	case !exception.IsQualifiedName(key):
		return errors.New("the key is not a name, or a domain in lower case, a slash and a name")
	case field == "labels" && !exception.IsLabelValue(value):
		return fmt.Errorf("%q is not the value of a label: expected at most 63 letters, digits, '-', '_' and '.'", value)
	case !has || domain == "app.kubernetes.io" || slices.Contains(origin, key):
		return nil
	}
	below := func(r string) bool { return domain == r || strings.HasSuffix(domain, "."+r) }
	if lifetime.Reserved(domain) || slices.ContainsFunc(reserved, below) {
		return fmt.Errorf("metadata of %s cannot be allowed: polex, Kyverno or a tool that syncs and prunes acts upon it; have it signed", domain)
	}
	return nil
}

func (p *Policy) setAllowedMetadata(allowed AllowedMetadata) error {
	for _, of := range []struct {
		field string
		keys  map[string]string
	}{{"labels", allowed.Labels}, {"annotations", allowed.Annotations}} {
		for _, key := range sortedKeys(of.keys) {
			err := CheckAdded(of.field, key, of.keys[key])
			if slices.Contains(p.terms.Keys, key) {
				err = errors.New("it states the expiry (expiryKeys); have it signed")
			}
			if err != nil {
				return fmt.Errorf("allowedMetadata.%s: %q: %w", of.field, key, err)
			}
		}
	}
	p.allowed = AllowedMetadata{Labels: maps.Clone(allowed.Labels), Annotations: maps.Clone(allowed.Annotations)}
	return nil
}

// AllowedMetadata returns what may be added to an object after it was signed.
func (p *Policy) AllowedMetadata() AllowedMetadata { return p.allowed }
