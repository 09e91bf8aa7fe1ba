//go:build e2e

package e2e

import (
	"bytes"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"sigs.k8s.io/yaml"

	"github.com/polex-dev/polex/pkg/exception"
	"github.com/polex-dev/polex/test/e2e/cluster"
	"github.com/polex-dev/polex/test/e2e/fixture"
	"github.com/polex-dev/polex/test/must"
)

// sample is a document that both sides judge, with the same bytes.
type sample struct {
	name string
	text []byte
}

// home is the namespace of a sample without one.
const home = "team-a"

// corpus returns all samples.
func corpus(t *testing.T) []sample {
	t.Helper()
	all := kyvernoSamples(t)
	all = append(all, fixtures(t, "documented")...)
	all = append(all, fixtures(t, "misprinted")...)
	all = append(all, shapeSamples(t)...)
	all = append(all, writtenSamples(t)...)
	all = append(all, formSamples(t)...)
	return append(all, grownSamples(t)...)
}

func fixtures(t *testing.T, folder string) []sample {
	t.Helper()
	files, err := filepath.Glob(filepath.Join("testdata", folder, "*.yaml"))
	must.That(t, err == nil && len(files) != 0, "no fixtures in %s: %v", folder, err)
	var found []sample
	for _, file := range files {
		found = append(found, sample{folder + "/" + filepath.Base(file), must.Get(os.ReadFile(file))(t)})
	}
	return found
}

// kyvernoSamples returns the exceptions in Kyverno's own tests, from its source.
func kyvernoSamples(t *testing.T) []sample {
	t.Helper()
	source := must.Get(cluster.KyvernoSource(t.Context(), fixture.FromRoot(tools)))(t)
	var found []sample
	err := filepath.WalkDir(source, func(path string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		extension := filepath.Ext(path)
		if entry.IsDir() || extension != ".yaml" && extension != ".yml" {
			return nil
		}
		text, err := os.ReadFile(path)
		if err != nil || !bytes.Contains(text, []byte("kind: PolicyException")) {
			return err
		}
		documents, err := cluster.Documents(text)
		if err != nil {
			return nil //nolint:nilerr // some of Kyverno's tests are about what cannot be read
		}
		for _, document := range documents {
			if isException(document) {
				rel, _ := filepath.Rel(source, path)
				found = append(found, sample{"kyverno/" + filepath.ToSlash(rel), housed(document)})
			}
		}
		return nil
	})
	must.That(t, err == nil && len(found) >= 100, "only %d exceptions below %s: %v", len(found), source, err)
	return found
}

// shapeSamples returns the different exceptions in the test cases of pkg/shape. Its test writes them as artifacts.
func shapeSamples(t *testing.T) []sample {
	t.Helper()
	dir := t.TempDir()
	output(t, exec.CommandContext(t.Context(), "go", "test", "-C", fixture.FromRoot("pkg/shape"), "-count=1", "-run=^TestChecks$", "-artifacts", "-outputdir="+dir))
	var found []sample
	met := map[string]bool{}
	err := filepath.WalkDir(dir, func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		text, err := os.ReadFile(path)
		if err == nil && !met[string(text)] {
			met[string(text)] = true
			found = append(found, sample{"shape/" + entry.Name(), text})
		}
		return err
	})
	must.That(t, err == nil && len(found) >= 400, "only %d exceptions of the cases of pkg/shape: %v", len(found), err)
	return found
}

// header has the fields that determine the address in the API.
type header struct {
	APIVersion string
	Kind       string
	Metadata   struct{ Namespace any }
}

func isException(document []byte) bool {
	var h header
	return yaml.Unmarshal(document, &h) == nil && h.Kind == exception.Kind &&
		strings.HasSuffix(strings.Split(h.APIVersion, "/")[0], exception.KyvernoGroup)
}

var metadataLine = regexp.MustCompile(`(?m)^metadata:[ ]*\n([ ]+)`)

// housed adds a namespace to a document without one, like kubectl. The rest of the text stays.
func housed(document []byte) []byte {
	var h header
	if yaml.Unmarshal(document, &h) == nil && h.Metadata.Namespace == nil {
		return metadataLine.ReplaceAll(document, []byte("metadata:\n${1}namespace: "+home+"\n${1}"))
	}
	return document
}

// target returns the address of a sample in the API. For unclear parts of a document it uses the
// defaults, like kubectl.
func (s sample) target(group, version string) cluster.Target {
	t := cluster.Target{Group: group, Version: version, Namespace: home}
	var h header
	if yaml.Unmarshal(s.text, &h) != nil {
		return t
	}
	if g, v, both := strings.Cut(h.APIVersion, "/"); both {
		t.Group, t.Version = g, v
	}
	if namespace, isText := h.Metadata.Namespace.(string); isText && namespace != "" {
		t.Namespace = namespace
	}
	return t
}

// Two exceptions with as many fields as possible, for each served version.
const (
	wholeLegacy = `apiVersion: kyverno.io/%s
kind: PolicyException
metadata:
  name: web-probes
  namespace: team-a
  labels: {app: web}
  annotations: {polex.dev/reason: no health endpoint}
spec:
  background: false
  exceptions:
  - policyName: require-probes
    ruleNames: [check, autogen-check]
  match:
    any:
    - resources:
        kinds: [Deployment]
        names: [web]
        namespaces: [team-a]
        operations: [CREATE]
        annotations: {a: b}
        selector: {matchLabels: {app: web}}
        namespaceSelector:
          matchExpressions: [{key: team, operator: In, values: [a]}]
      roles: ["team-a:deployer"]
      clusterRoles: [deployer]
      subjects: [{kind: User, name: alice, apiGroup: rbac.authorization.k8s.io, namespace: x}]
  conditions:
    any:
    - key: "{{ request.object.metadata.name }}"
      operator: Equals
      value: [web, 1, 2.5, {deep: [true]}]
      message: why
  podSecurity:
  - controlName: Capabilities
    images: [registry.example.com/web]
    restrictedField: spec.containers[*].securityContext.capabilities.add
    values: [NET_ADMIN]
`
	wholePolicies = `apiVersion: policies.kyverno.io/%s
kind: PolicyException
metadata:
  name: web-probes
  namespace: team-a
  labels: {app: web}
  annotations: {polex.dev/owner: team-a}
spec:
  policyRefs:
  - name: require-probes
    kind: ValidatingPolicy
  matchConditions:
  - name: web
    expression: object.metadata.name == 'web'
  images: [registry.example.com/web:1]
  allowedValues: [x]
  reportResult: pass
  expiresAt: "2026-12-31T17:00:00Z"
  evaluationMode: Kubernetes
  properties: {reason: no health endpoint, ticket: T-1}
`
)

var served = []struct{ whole, version string }{
	{wholeLegacy, "v2"}, {wholeLegacy, "v2beta1"},
	{wholePolicies, "v1"}, {wholePolicies, "v1beta1"}, {wholePolicies, "v1alpha1"},
}
