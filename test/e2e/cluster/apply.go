package cluster

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"

	"sigs.k8s.io/yaml"
)

// Object identifies an object of any kind that the API server serves.
type Object struct {
	APIVersion, Kind, Namespace, Name string
}

// Path returns the path of the object, with the API server's own path for the kind. A missing
// namespace means default.
func (c *Client) Path(ctx context.Context, o Object) (string, error) {
	root := "/apis/" + o.APIVersion
	if !strings.Contains(o.APIVersion, "/") {
		root = "/api/" + o.APIVersion
	}
	answer, err := c.Do(ctx, Request{Method: http.MethodGet, Path: root})
	if err != nil {
		return "", err
	}
	if err := answer.expect(http.StatusOK); err != nil {
		return "", fmt.Errorf("find %s of %s: %w", o.Kind, o.APIVersion, err)
	}
	var served struct {
		Resources []struct {
			Name, Kind string
			Namespaced bool
		}
	}
	if err := json.Unmarshal(answer.Body, &served); err != nil {
		return "", fmt.Errorf("find %s of %s: %w", o.Kind, o.APIVersion, err)
	}
	for _, r := range served.Resources {
		if r.Kind != o.Kind || strings.Contains(r.Name, "/") {
			continue
		}
		if r.Namespaced {
			if o.Namespace == "" {
				o.Namespace = "default"
			}
			root += "/namespaces/" + o.Namespace
		}
		return strings.TrimSuffix(root+"/"+r.Name+"/"+o.Name, "/"), nil
	}
	return "", fmt.Errorf("%s serves no %s", o.APIVersion, o.Kind)
}

// Apply applies a document on the server's side. Other fields stay.
func (c *Client) Apply(ctx context.Context, document []byte) (*Answer, error) {
	var written struct {
		APIVersion, Kind string
		Metadata         struct{ Namespace, Name string }
	}
	if err := yaml.Unmarshal(document, &written); err != nil {
		return nil, err
	}
	path, err := c.Path(ctx, Object{APIVersion: written.APIVersion, Kind: written.Kind, Namespace: written.Metadata.Namespace, Name: written.Metadata.Name})
	if err != nil {
		return nil, err
	}
	return c.Do(ctx, Request{Method: http.MethodPatch, Path: path + "?fieldManager=e2e&force=true", ContentType: "application/apply-patch+yaml", Body: document})
}

// ApplyAll applies every document of a text. An answer without success is an error.
func (c *Client) ApplyAll(ctx context.Context, text []byte) error {
	documents, err := Documents(text)
	if err != nil {
		return err
	}
	for _, document := range documents {
		answer, err := c.Apply(ctx, document)
		if err != nil {
			return err
		}
		if !answer.OK() {
			return fmt.Errorf("apply %s: %d: %s", firstLines(document), answer.Code, answer.Message())
		}
	}
	return nil
}

func firstLines(document []byte) string {
	lines := strings.SplitN(string(document), "\n", 8)
	return strings.Join(lines[:min(len(lines), 7)], "\n")
}
