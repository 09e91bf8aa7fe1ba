package request

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"

	"github.com/polex-dev/polex/internal/apiserver"
	"github.com/polex-dev/polex/internal/command/cli"
	"github.com/polex-dev/polex/pkg/exception"
)

// list is a collection of a cluster.
type list struct {
	apiVersion, plural string
	namespaced         bool
}

// in narrows a collection down to a namespace, where it has any; "" is all.
func (l list) in(namespace string) apiserver.List {
	if !l.namespaced {
		namespace = ""
	}
	return apiserver.List{APIVersion: l.apiVersion, Plural: l.plural, Namespace: namespace}
}

// server opens the connection that the flags and the kubeconfig name.
func (r *run) server() (*apiserver.Server, error) {
	server, err := apiserver.Open(r.options.cluster.kubeconfig, r.options.cluster.context)
	if err != nil {
		return nil, &cli.UsageError{Err: err, Hint: "name it with --kubeconfig, and its context with --context"}
	}
	return server, nil
}

// each calls visit for every object of a collection. It returns false where the server
// has no such collection.
func each(ctx context.Context, s *apiserver.Server, of apiserver.List, visit func(*exception.Document) error) (served bool, err error) {
	var failed error
	err = s.Each(ctx, of, func(item json.RawMessage, apiVersion, kind string) error {
		var doc *exception.Document
		if doc, failed = document(item, apiVersion, kind); failed == nil {
			failed = visit(doc)
		}
		return failed
	})
	switch {
	case err == nil:
		return true, nil
	case failed != nil:
		return true, fmt.Errorf("read %s: %w", of, failed)
	case apiserver.Is(err, http.StatusNotFound):
		return false, nil
	case apiserver.Is(err, http.StatusForbidden):
		return forbidden(ctx, s, of)
	}
	return false, unreachable(fmt.Errorf("read %s: %w", of, err))
}

// forbidden ends with what may not be read. An API server that has no such collection
// says the same to somebody without the right to it, and is asked for its kinds: that
// everybody may.
func forbidden(ctx context.Context, s *apiserver.Server, of apiserver.List) (served bool, err error) {
	raw, err := s.Get(ctx, of.Root(), nil)
	var kinds struct {
		Resources []struct {
			Name string `json:"name"`
		} `json:"resources"`
	}
	switch {
	case apiserver.Is(err, http.StatusNotFound):
		return false, nil
	case err != nil && !apiserver.Is(err, http.StatusForbidden):
		return false, unreachable(fmt.Errorf("read %s: %w", of, err))
	case err == nil:
		if err := json.Unmarshal(raw, &kinds); err != nil {
			return false, fmt.Errorf("read the kinds of %s: %w", of.APIVersion, err)
		}
		there := false
		for _, kind := range kinds.Resources {
			there = there || kind.Name == of.Plural
		}
		if !there {
			return false, nil
		}
	}
	return true, cli.Hint(fmt.Errorf("read %s: the API server forbids it", of), "it takes list on reports, policies and workloads: docs/request.md names them")
}

// document is an item of a list, which does not say its own kind.
func document(item json.RawMessage, apiVersion, kind string) (*exception.Document, error) {
	decoder := json.NewDecoder(strings.NewReader(string(item)))
	decoder.UseNumber()
	var object map[string]any
	if err := decoder.Decode(&object); err != nil {
		return nil, err
	}
	object["apiVersion"], object["kind"] = apiVersion, kind
	metadata, _ := object["metadata"].(map[string]any)
	delete(metadata, "managedFields")
	return exception.FromObject(plain(object).(map[string]any))
}

// plain replaces numbers by those that documents have.
func plain(value any) any {
	switch v := value.(type) {
	case map[string]any:
		for key, item := range v {
			v[key] = plain(item)
		}
	case []any:
		for i, item := range v {
			v[i] = plain(item)
		}
	case json.Number:
		if n, err := v.Int64(); err == nil {
			return n
		}
		f, _ := v.Float64() // what is larger is nothing that is looked at here
		return f
	}
	return value
}
