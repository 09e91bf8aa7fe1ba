package policyfile

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/polex-dev/polex/pkg/exception"
	"github.com/polex-dev/polex/pkg/lifetime"
)

// AllowedMetadata lists the labels and annotations that tools such as Helm may add to a signed
// object, each with its one allowed value.
//
// Signed metadata keeps its value, and polex reads only the signed message. So an added label does
// not change the exception. But other tools select by labels: a webhook or a policy can skip
// objects with this label.
type AllowedMetadata struct {
	Labels      map[string]string `json:"labels"`
	Annotations map[string]string `json:"annotations"`
}

// reserved lists domains that a policy cannot allow, with their subdomains, besides those of
// [lifetime.Reserved]. Their metadata makes a tool prune, sync or ignore an object. The tools are
// kubectl and its apply sets, kustomize, cli-utils, Argo CD, Flux, Helm, kapp, Fleet and Config
// Sync.
var reserved = []string{"kubernetes.io", "k8s.io", "argoproj.io", "fluxcd.io", "helm.sh", "k14s.io",
	"cattle.io", "gke.io"}

// origin lists metadata in those domains that only states the origin of an object, with the tool
// that writes it. All of app.kubernetes.io does the same.
var origin = map[string]string{
	"meta.helm.sh/release-name":         "Helm",
	"meta.helm.sh/release-namespace":    "Helm",
	"helm.sh/chart":                     "a Helm chart",
	"helm.toolkit.fluxcd.io/name":       "Flux",
	"helm.toolkit.fluxcd.io/namespace":  "Flux",
	"argocd.argoproj.io/instance":       "Argo CD",
	"applications.argoproj.io/app-name": "Argo CD", // up to 0.10
}

// WriterOf returns the name of the tool that is known to write a label or annotation, or "".
func WriterOf(key, value string) string {
	if key == "app.kubernetes.io/managed-by" && exception.IsLabelValue(value) {
		return value
	}
	return origin[key]
}

// CheckAdded returns an error if a policy cannot allow this label or annotation. The field is
// "labels" or "annotations".
func CheckAdded(field, key, value string) error {
	domain, _, has := strings.Cut(key, "/")
	switch {
	case !exception.IsQualifiedName(key):
		return errors.New("the key is not a name, or a domain in lower case, a slash and a name")
	case field == "labels" && !exception.IsLabelValue(value):
		return fmt.Errorf("%q is not the value of a label: expected at most 63 letters, digits, '-', '_' and '.'",
			value)
	case !has || domain == "app.kubernetes.io" || origin[key] != "":
		return nil
	}
	below := func(r string) bool { return domain == r || strings.HasSuffix(domain, "."+r) }
	if lifetime.Reserved(domain) || slices.ContainsFunc(reserved, below) {
		return fmt.Errorf("metadata of %s cannot be allowed: polex, Kyverno or a tool that syncs and prunes acts "+
			"upon it; have it signed", domain)
	}
	return nil
}

// check returns an error for metadata that cannot be allowed; keys are the expiry keys of the policy.
func (allowed AllowedMetadata) check(keys []string) error {
	for _, of := range []struct {
		field  string
		values map[string]string
	}{{"labels", allowed.Labels}, {"annotations", allowed.Annotations}} {
		for _, key := range sortedKeys(of.values) {
			err := CheckAdded(of.field, key, of.values[key])
			if slices.Contains(keys, key) {
				err = errors.New("it states the expiry (expiryKeys); have it signed")
			}
			if err != nil {
				return fmt.Errorf("allowedMetadata.%s: %q: %w", of.field, key, err)
			}
		}
	}
	return nil
}
