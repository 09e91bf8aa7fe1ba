package cluster

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	utilyaml "k8s.io/apimachinery/pkg/util/yaml"
	"sigs.k8s.io/yaml"

	"github.com/polex-dev/polex/test/e2e/servers"
)

// KyvernoSource returns the folder of Kyverno's source, in the version of the module in tools.
func KyvernoSource(ctx context.Context, tools string) (string, error) {
	return servers.Source(ctx, tools, "github.com/kyverno/kyverno")
}

// install creates the objects that Kyverno requires, from its own manifests.
func (c *Cluster) install(_, within context.Context) error {
	source, err := KyvernoSource(within, c.options.Tools)
	if err != nil {
		return err
	}
	files, err := filepath.Glob(filepath.Join(source, "config", "crds", "*", "*.yaml"))
	if err != nil || len(files) == 0 {
		return fmt.Errorf("find Kyverno's definitions below %s: %w", source, errors.Join(err, os.ErrNotExist))
	}
	for _, file := range files {
		if err := c.createAll(within, file, "CustomResourceDefinition"); err != nil {
			return err
		}
	}
	whole := filepath.Join(source, "config", "install-latest-testing.yaml")
	for _, kind := range []string{"Namespace", "ServiceAccount", "ConfigMap"} {
		if err := c.createAll(within, whole, kind); err != nil {
			return err
		}
	}
	return nil
}

// served waits until the API server serves Kyverno's kinds. While definitions arrive, it may not
// answer, so each request has a short timeout.
func (c *Cluster) served(_, within context.Context) error {
	paths := []string{"/apis/wgpolicyk8s.io/v1alpha2/policyreports"}
	for _, version := range []string{"kyverno.io/v2", "kyverno.io/v2beta1", "policies.kyverno.io/v1", "policies.kyverno.io/v1beta1", "policies.kyverno.io/v1alpha1"} {
		paths = append(paths, "/apis/"+version+"/policyexceptions")
	}
	for _, path := range paths {
		if err := c.Until(within, path, func(ctx context.Context) error {
			ctx, cancel := context.WithTimeout(ctx, 5*time.Second)
			defer cancel()
			answer, err := c.Do(ctx, Request{Method: http.MethodGet, Path: path})
			if err != nil {
				return err
			}
			return answer.expect(http.StatusOK)
		}); err != nil {
			return err
		}
	}
	return nil
}

// collections has the API paths of kinds.
var collections = map[string]string{
	"CustomResourceDefinition": "/apis/apiextensions.k8s.io/v1/customresourcedefinitions",
	"Namespace":                "/api/v1/namespaces",
	"ServiceAccount":           "/api/v1/namespaces/%s/serviceaccounts",
	"ConfigMap":                "/api/v1/namespaces/%s/configmaps",
	"ClusterRole":              "/apis/rbac.authorization.k8s.io/v1/clusterroles",
	"ClusterRoleBinding":       "/apis/rbac.authorization.k8s.io/v1/clusterrolebindings",
	"Role":                     "/apis/rbac.authorization.k8s.io/v1/namespaces/%s/roles",
	"RoleBinding":              "/apis/rbac.authorization.k8s.io/v1/namespaces/%s/rolebindings",
}

// createAll creates the objects of one kind in a file. There must be at least one.
func (c *Cluster) createAll(ctx context.Context, file, kind string) error {
	text, err := os.ReadFile(file)
	if err != nil {
		return err
	}
	documents, err := Documents(text)
	if err != nil {
		return fmt.Errorf("read %s: %w", file, err)
	}
	created := 0
	for _, document := range documents {
		// Most of the large file is not needed, so check the kind before parsing.
		if !slices.ContainsFunc(bytes.Split(document, []byte("\n")), func(line []byte) bool { return string(line) == "kind: "+kind }) {
			continue
		}
		var object struct {
			Metadata struct{ Namespace string }
		}
		if err := yaml.Unmarshal(document, &object); err != nil {
			return fmt.Errorf("read %s: %w", file, err)
		}
		path := collections[kind]
		if strings.Contains(path, "%s") {
			path = fmt.Sprintf(path, object.Metadata.Namespace)
		}
		answer, err := c.Do(ctx, Request{Method: http.MethodPost, Path: path, Body: document})
		if err != nil {
			return err
		}
		if err := answer.expect(http.StatusCreated); err != nil {
			return fmt.Errorf("create the %s of %s: %w", kind, file, err)
		}
		created++
	}
	if created == 0 {
		return fmt.Errorf("%s holds no %s", file, kind)
	}
	return nil
}

// CreateNamespace creates a namespace if it does not exist.
func (c *Cluster) CreateNamespace(ctx context.Context, name string) error {
	body := fmt.Appendf(nil, "{apiVersion: v1, kind: Namespace, metadata: {name: %q}}", name)
	answer, err := c.Do(ctx, Request{Method: http.MethodPost, Path: collections["Namespace"], Body: body})
	if err != nil {
		return err
	}
	if answer.Code == http.StatusConflict {
		return nil
	}
	return answer.expect(http.StatusCreated)
}

// Documents splits YAML like kubectl.
func Documents(text []byte) ([][]byte, error) {
	reader := utilyaml.NewYAMLReader(bufio.NewReader(bytes.NewReader(text)))
	var found [][]byte
	for {
		document, err := reader.Read()
		if errors.Is(err, io.EOF) {
			return found, nil
		}
		if err != nil {
			return nil, err
		}
		found = append(found, document)
	}
}
