package apiserver

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
)

const (
	pageItems = 250
	pageBytes = 64 << 20 // of one answer
	mostPages = 1000
	askFor    = time.Minute // for one answer
)

// Server is an API server that is only read.
type Server struct {
	client *http.Client
	root   *url.URL
}

// Open returns the server that a context of a kubeconfig names. Without a path, the
// kubeconfig is the one that kubectl finds; without a context, it is the current one. It
// sends nothing. An error says what is wrong with the kubeconfig.
func Open(kubeconfig, context string) (*Server, error) {
	rules := clientcmd.NewDefaultClientConfigLoadingRules()
	rules.ExplicitPath = kubeconfig
	config, err := clientcmd.NewNonInteractiveDeferredLoadingClientConfig(rules, &clientcmd.ConfigOverrides{CurrentContext: context}).ClientConfig()
	var client *http.Client
	if err == nil {
		config.Timeout = askFor
		client, err = rest.HTTPClientFor(config)
	}
	var root *url.URL
	if err == nil {
		root, _, err = rest.DefaultServerUrlFor(config)
	}
	if err != nil {
		return nil, fmt.Errorf("read kubeconfig: %w", err)
	}
	return &Server{client: client, root: root}, nil
}

// StatusError is an answer with another status than 200.
type StatusError struct {
	Code    int
	Message string // of the server, which may be hostile
}

// Error returns what the server says.
func (e *StatusError) Error() string { return e.Message }

// Is reports whether an error is an answer of a status.
func Is(err error, code int) bool {
	var status *StatusError
	return errors.As(err, &status) && status.Code == code
}

// Get returns what the server answers for a path. Another status than 200 is a
// [StatusError], and more than 64 MiB are an error.
func (s *Server) Get(ctx context.Context, path string, query url.Values) ([]byte, error) {
	at := *s.root
	at.Path = strings.TrimSuffix(at.Path, "/") + path
	at.RawQuery = query.Encode()
	ask, err := http.NewRequestWithContext(ctx, http.MethodGet, at.String(), nil)
	if err != nil {
		return nil, err
	}
	ask.Header.Set("Accept", "application/json")
	answer, err := s.client.Do(ask)
	if err != nil {
		return nil, err
	}
	defer answer.Body.Close() //nolint:errcheck // only read
	raw, err := io.ReadAll(io.LimitReader(answer.Body, pageBytes+1))
	switch {
	case err != nil:
		return nil, err
	case answer.StatusCode != http.StatusOK:
		return nil, refusal(answer, raw)
	case len(raw) > pageBytes:
		return nil, fmt.Errorf("an answer is larger than %d MiB", pageBytes>>20)
	}
	return raw, nil
}

// refusal says why in the server's words, which stand in a Status.
func refusal(answer *http.Response, raw []byte) error {
	var status struct {
		Kind    string `json:"kind"`
		Message string `json:"message"`
	}
	if json.Unmarshal(raw, &status) != nil || status.Kind != "Status" || status.Message == "" {
		status.Message = "the API server answers " + answer.Status
	}
	return &StatusError{Code: answer.StatusCode, Message: status.Message}
}

// List is a collection: of all namespaces, or of one.
type List struct {
	APIVersion, Plural string
	Namespace          string // "" is all
}

// Root is the path of what the collection's group and version serve.
func (l List) Root() string {
	if !strings.Contains(l.APIVersion, "/") {
		return "/api/" + l.APIVersion
	}
	return "/apis/" + l.APIVersion
}

// String is what the collection is called in a rule of who may read it.
func (l List) String() string {
	group, _, grouped := strings.Cut(l.APIVersion, "/")
	if !grouped {
		return l.Plural
	}
	return l.Plural + "." + group
}

// Each calls visit for every object of a collection. The items of a list may leave out
// what they are, so apiVersion and kind are those of the list. Of a collection that is
// not served, or not permitted, the error is a [StatusError]; an error of visit ends it.
func (s *Server) Each(ctx context.Context, of List, visit func(item json.RawMessage, apiVersion, kind string) error) error {
	path := of.Root() + "/" + of.Plural
	if of.Namespace != "" {
		path = of.Root() + "/namespaces/" + of.Namespace + "/" + of.Plural
	}
	query := url.Values{"limit": {strconv.Itoa(pageItems)}}
	for range mostPages {
		raw, err := s.Get(ctx, path, query)
		if err != nil {
			return err
		}
		var page struct {
			APIVersion string `json:"apiVersion"`
			Kind       string `json:"kind"`
			Metadata   struct {
				Continue string `json:"continue"`
			} `json:"metadata"`
			Items []json.RawMessage `json:"items"`
		}
		if err := json.Unmarshal(raw, &page); err != nil {
			return fmt.Errorf("read the answer: %w", err)
		}
		for _, item := range page.Items {
			if err := visit(item, page.APIVersion, strings.TrimSuffix(page.Kind, "List")); err != nil {
				return err
			}
		}
		if page.Metadata.Continue == "" {
			return nil
		}
		query.Set("continue", page.Metadata.Continue)
	}
	return fmt.Errorf("there are more than %d objects", mostPages*pageItems)
}
