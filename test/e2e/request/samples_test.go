//go:build e2e

package request

import (
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"sigs.k8s.io/yaml"

	"github.com/polex-dev/polex/pkg/exception"
	"github.com/polex-dev/polex/test/modcache"
	"github.com/polex-dev/polex/test/must"
)

// sample has policies of Kyverno's own tests with their resources.
type sample struct {
	name string
	question
}

// samples returns the samples in Kyverno's CLI tests, and in its conformance tests for Pod
// security. They are read from Kyverno's source.
func samples(t *testing.T) []sample {
	t.Helper()
	source := modcache.Dir(t, modcache.Kyverno)
	var all []sample
	for _, folder := range []string{"test/cli/test", "test/cli/test-validating-policy", "test/cli/test-image-validating-policy"} {
		err := filepath.WalkDir(filepath.Join(source, folder), func(path string, entry fs.DirEntry, err error) error {
			if err != nil || entry.IsDir() || entry.Name() != "kyverno-test.yaml" {
				return err
			}
			if s, ok := declared(path); ok {
				s.name, _ = filepath.Rel(source, filepath.Dir(path))
				all = append(all, s)
			}
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	psa := filepath.Join(source, "test/conformance/chainsaw/validate/clusterpolicy/standard/psa")
	folders := must.Get(os.ReadDir(psa))(t)
	for _, folder := range folders {
		s := sample{name: "psa/" + folder.Name()}
		s.policies = joined(filepath.Join(psa, folder.Name()), "policy.yaml")
		files, _ := filepath.Glob(filepath.Join(psa, folder.Name(), "*pod*.yaml"))
		for _, file := range files {
			s.resources += joined(filepath.Dir(file), filepath.Base(file))
		}
		if s.policies != "" && s.resources != "" {
			all = append(all, s)
		}
	}
	return all
}

// declared reads a test of Kyverno's CLI that expects a failure: its policies, resources and
// values.
func declared(path string) (sample, bool) {
	var test struct {
		Policies, Resources, Exceptions []string
		Variables                       string
		Results                         []struct{ Result string }
	}
	raw, err := os.ReadFile(path)
	if err != nil || yaml.Unmarshal(raw, &test) != nil || len(test.Exceptions) > 0 {
		return sample{}, false
	}
	fails := false
	for _, r := range test.Results {
		fails = fails || r.Result == "fail"
	}
	if !fails {
		return sample{}, false
	}
	dir := filepath.Dir(path)
	s := sample{question: question{policies: joined(dir, test.Policies...), resources: joined(dir, test.Resources...)}}
	if test.Variables != "" {
		s.values = joined(dir, test.Variables)
	}
	return s, s.policies != "" && s.resources != ""
}

// joined returns the concatenated files, or "" if one is missing.
func joined(dir string, files ...string) string {
	var parts []string
	for _, file := range files {
		raw, err := os.ReadFile(filepath.Join(dir, filepath.FromSlash(file)))
		if err != nil {
			return ""
		}
		parts = append(parts, strings.TrimSuffix(strings.TrimPrefix(string(raw), "---\n"), "\n")+"\n")
	}
	if len(parts) == 0 {
		return ""
	}
	return strings.Join(parts, "---\n") + "---\n"
}

// inNoNamespace are kinds in the samples without a namespace.
var inNoNamespace = []string{"Namespace", "ClusterRole", "ClusterRoleBinding", "Node", "FlowSchema", "CustomResourceDefinition"}

// The names of siblings.
const (
	sibling   = "-sibling"
	elsewhere = "elsewhere"
)

// withSiblings adds two siblings of each resource: one with another name in the same namespace, and
// one with the same name in another namespace. Both have the same violations.
func withSiblings(t *testing.T, resources string) string {
	t.Helper()
	docs := documents(resources)
	text := ""
	add := func(object map[string]any) {
		raw := must.Get(yaml.Marshal(object))(t)
		text += string(raw) + "---\n"
	}
	names := map[string]bool{}
	for _, d := range docs {
		names[d.Identity().String()] = true
	}
	for _, d := range docs {
		add(d.Object())
		for _, change := range []func(metadata map[string]any){
			func(metadata map[string]any) { metadata["name"] = d.Identity().Name + sibling },
			func(metadata map[string]any) { metadata["namespace"] = elsewhere },
		} {
			object := d.Object()
			metadata, _ := object["metadata"].(map[string]any)
			if d.Identity().Name == "" || metadata == nil {
				continue
			}
			change(metadata)
			changed, err := exception.FromObject(object)
			if err != nil || names[changed.Identity().String()] || slices.Contains(inNoNamespace, d.Identity().Kind) && metadata["namespace"] != nil {
				continue
			}
			add(object)
		}
	}
	return text
}
