package request

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"strings"

	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"

	"github.com/polex-dev/polex/internal/command/cli"
	"github.com/polex-dev/polex/pkg/exception"
)

// list is a collection of an API server: of all namespaces, or of one.
type list struct {
	apiVersion, plural string
	namespaced         bool
	namespace          string // "" is all
}

// in narrows a collection down to a namespace, or to nothing where it has none.
func (l list) in(namespace string) list {
	if l.namespaced {
		l.namespace = namespace
	}
	return l
}

// String is what it is called in a rule of who may read it.
func (l list) String() string {
	group, _, grouped := strings.Cut(l.apiVersion, "/")
	if !grouped {
		return l.plural
	}
	return l.plural + "." + group
}

func (l list) root() string {
	if !strings.Contains(l.apiVersion, "/") {
		return "/api/" + l.apiVersion
	}
	return "/apis/" + l.apiVersion
}

// server is an API server that is only read.
type server struct {
	client *http.Client
	root   *url.URL
}

// server opens the connection that the flags and the kubeconfig name.
func (r *run) server() (*server, error) {
	flags := r.options.cluster
	rules := clientcmd.NewDefaultClientConfigLoadingRules()
	rules.ExplicitPath = flags.kubeconfig
	config, err := clientcmd.NewNonInteractiveDeferredLoadingClientConfig(rules, &clientcmd.ConfigOverrides{CurrentContext: flags.context}).ClientConfig()
	if err != nil {
		return nil, &cli.UsageError{Err: fmt.Errorf("read kubeconfig: %w", err), Hint: "name it with --kubeconfig, and its context with --context"}
	}
	client, err := rest.HTTPClientFor(config)
	if err != nil {
		return nil, &cli.UsageError{Err: fmt.Errorf("read kubeconfig: %w", err)}
	}
	root, _, err := rest.DefaultServerUrlFor(config)
	if err != nil {
		return nil, &cli.UsageError{Err: fmt.Errorf("read kubeconfig: %w", err)}
	}
	return &server{client: client, root: root}, nil
}

const (
	pageItems = 250
	pageBytes = 64 << 20 // of one answer
	mostPages = 1000
)

// page is one answer about a collection.
type page struct {
	APIVersion string `json:"apiVersion"`
	Kind       string `json:"kind"`
	Metadata   struct {
		Continue string `json:"continue"`
	} `json:"metadata"`
	Items []json.RawMessage `json:"items"`
}

// each calls visit for every object of a collection, page by page. It returns false
// where the server has no such collection.
func (s *server) each(ctx context.Context, of list, visit func(*exception.Document) error) (served bool, err error) {
	next := ""
	for range mostPages {
		p, status, err := s.page(ctx, of, next)
		if err != nil {
			return false, unreachable(fmt.Errorf("read %s: %w", of, err))
		}
		if isAbsent(status) {
			return false, nil
		}
		if status == http.StatusForbidden {
			return s.forbidden(ctx, of)
		}
		kind := strings.TrimSuffix(p.Kind, "List")
		for _, item := range p.Items {
			doc, err := document(item, p.APIVersion, kind)
			if err != nil {
				return true, fmt.Errorf("read %s: %w", of, err)
			}
			if err := visit(doc); err != nil {
				return true, fmt.Errorf("read %s: %w", of, err)
			}
		}
		if next = p.Metadata.Continue; next == "" {
			return true, nil
		}
	}
	return true, fmt.Errorf("read %s: there are more than %d", of, mostPages*pageItems)
}

// forbidden ends with what may not be read. An API server that has no such collection
// says the same to somebody without the right to it, and is asked for its kinds: that
// everybody may.
func (s *server) forbidden(ctx context.Context, of list) (served bool, err error) {
	raw, status, err := s.get(ctx, of.root(), nil)
	var kinds struct {
		Resources []struct {
			Name string `json:"name"`
		} `json:"resources"`
	}
	switch {
	case err != nil:
		return false, unreachable(fmt.Errorf("read %s: %w", of, err))
	case isAbsent(status):
		return false, nil
	case status == http.StatusOK:
		if err := json.Unmarshal(raw, &kinds); err != nil {
			return false, fmt.Errorf("read the kinds of %s: %w", of.apiVersion, err)
		}
		there := false
		for _, kind := range kinds.Resources {
			there = there || kind.Name == of.plural
		}
		if !there {
			return false, nil
		}
	}
	return true, cli.Hint(fmt.Errorf("read %s: the API server forbids it", of), "it takes list on reports, policies and workloads: docs/request.md names them")
}

func (s *server) page(ctx context.Context, of list, next string) (*page, int, error) {
	path := of.root() + "/" + of.plural
	if of.namespace != "" {
		path = of.root() + "/namespaces/" + of.namespace + "/" + of.plural
	}
	raw, status, err := s.get(ctx, path, url.Values{"limit": {strconv.Itoa(pageItems)}, "continue": {next}})
	if err != nil || status != http.StatusOK {
		return nil, status, err
	}
	p := &page{}
	if err := json.Unmarshal(raw, p); err != nil {
		return nil, 0, fmt.Errorf("read the answer: %w", err)
	}
	return p, status, nil
}

// get asks for a path. What is neither there nor permitted is no error, but a status.
func (s *server) get(ctx context.Context, path string, query url.Values) (raw []byte, status int, err error) {
	at := *s.root
	at.Path = strings.TrimSuffix(at.Path, "/") + path
	at.RawQuery = query.Encode()
	ask, err := http.NewRequestWithContext(ctx, http.MethodGet, at.String(), nil)
	if err != nil {
		return nil, 0, err
	}
	ask.Header.Set("Accept", "application/json")
	answer, err := s.client.Do(ask)
	if err != nil {
		return nil, 0, err
	}
	defer answer.Body.Close() //nolint:errcheck // only read
	raw, err = io.ReadAll(io.LimitReader(answer.Body, pageBytes+1))
	switch {
	case err != nil:
		return nil, 0, err
	case isAbsent(answer.StatusCode), answer.StatusCode == http.StatusForbidden:
		return nil, answer.StatusCode, nil
	case answer.StatusCode != http.StatusOK:
		return nil, 0, fmt.Errorf("the API server answers %s", answer.Status)
	case len(raw) > pageBytes:
		return nil, 0, fmt.Errorf("an answer is larger than %d MiB", pageBytes>>20)
	}
	return raw, answer.StatusCode, nil
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
