package apiserver

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
)

const (
	pageItems = 250
	pageBytes = 64 << 20 // per answer
	mostPages = 1000
	askFor    = time.Minute // timeout of one answer
)

// Server reads from an API server.
type Server struct {
	client rest.Interface
	lists  dynamic.Interface
}

// Open returns the server of a context in a kubeconfig. An empty path means kubectl's kubeconfig,
// and an empty context the current one. Open sends no request. Its error describes an invalid
// kubeconfig.
func Open(kubeconfig, context string) (*Server, error) {
	rules := clientcmd.NewDefaultClientConfigLoadingRules()
	rules.ExplicitPath = kubeconfig
	current := &clientcmd.ConfigOverrides{CurrentContext: context}
	config, err := clientcmd.NewNonInteractiveDeferredLoadingClientConfig(rules, current).ClientConfig()
	if err != nil {
		return nil, fmt.Errorf("read kubeconfig: %w", err)
	}
	config = dynamic.ConfigFor(config)
	config.Timeout = askFor
	config.QPS = -1 // requests are sequential
	config.WarningHandler = rest.NoWarnings{}
	config.Wrap(func(next http.RoundTripper) http.RoundTripper { return bounded{next} })
	client, err := rest.UnversionedRESTClientFor(config)
	if err != nil {
		return nil, fmt.Errorf("read kubeconfig: %w", err)
	}
	return &Server{client: client, lists: dynamic.New(client)}, nil
}

// bounded limits the size of answers and removes Retry-After. Otherwise client-go would retry ten
// times and wait as long as the server demands.
type bounded struct{ next http.RoundTripper }

// RoundTrip sends a request.
func (b bounded) RoundTrip(request *http.Request) (*http.Response, error) {
	answer, err := b.next.RoundTrip(request)
	if err == nil {
		answer.Body = http.MaxBytesReader(nil, answer.Body, pageBytes)
		answer.Header.Del("Retry-After")
	}
	return answer, err
}

func explained(err error) error {
	var large *http.MaxBytesError
	if errors.As(err, &large) {
		return fmt.Errorf("an answer is larger than %d MiB", large.Limit>>20)
	}
	return err
}

// Versions returns the served versions of an API group, the preferred one first. It returns none if
// the server does not have the group.
func (s *Server) Versions(ctx context.Context, group string) ([]string, error) {
	var found metav1.APIGroup
	if err := s.get(ctx, "/apis/"+group, &found); err != nil {
		if apierrors.IsNotFound(err) {
			err = nil
		}
		return nil, err
	}
	versions := []string{found.PreferredVersion.Version}
	for _, v := range found.Versions {
		if v.Version != versions[0] {
			versions = append(versions, v.Version)
		}
	}
	return versions, nil
}

// resource returns a resource of a version, even if the user may not read it. It returns nil if the
// server does not have it.
func (s *Server) resource(ctx context.Context, version schema.GroupVersion,
	is func(metav1.APIResource) bool) (*metav1.APIResource, error) {
	path := "/apis/" + version.String()
	if version.Group == "" {
		path = "/api/" + version.Version
	}
	var list metav1.APIResourceList
	if err := s.get(ctx, path, &list); err != nil && !apierrors.IsNotFound(err) {
		return nil, err
	}
	if i := slices.IndexFunc(list.APIResources, is); i >= 0 {
		return &list.APIResources[i], nil
	}
	return nil, nil
}

// Collection returns the collection of the objects of a kind. It returns false if the server does not have
// the kind.
func (s *Server) Collection(ctx context.Context,
	of schema.GroupVersionKind) (_ schema.GroupVersionResource, served bool, err error) {
	found, err := s.resource(ctx, of.GroupVersion(), func(r metav1.APIResource) bool {
		return r.Kind == of.Kind && !strings.Contains(r.Name, "/")
	})
	if found == nil {
		return schema.GroupVersionResource{}, false, err
	}
	return of.GroupVersion().WithResource(found.Name), true, nil
}

// Object returns one object, or nil if there is none of that name.
func (s *Server) Object(ctx context.Context, of schema.GroupVersionResource,
	namespace, name string) (*unstructured.Unstructured, error) {
	object, err := s.lists.Resource(of).Namespace(namespace).Get(ctx, name, metav1.GetOptions{})
	if apierrors.IsNotFound(err) {
		return nil, nil
	}
	return object, explained(err)
}

func (s *Server) get(ctx context.Context, path string, into any) error {
	raw, err := s.client.Get().AbsPath(path).Do(ctx).Raw()
	if err != nil {
		return explained(err)
	}
	if err := json.Unmarshal(raw, into); err != nil {
		return fmt.Errorf("read the answer to %s: %w", path, err)
	}
	return nil
}

// Each calls visit for every object of a collection in one namespace, or in all if namespace is "".
// It returns false if the server does not have the collection. It stops at the first error. A
// forbidden collection gives the error of the API server (k8s.io/apimachinery/pkg/api/errors). More
// than 64 MiB per answer or 250,000 objects are an error.
func (s *Server) Each(ctx context.Context, of schema.GroupVersionResource, namespace string,
	visit func(*unstructured.Unstructured) error) (served bool, err error) {
	err = s.each(ctx, of, namespace, visit)
	switch {
	case apierrors.IsNotFound(err):
		return false, nil
	case apierrors.IsForbidden(err):
		// The server also forbids a collection that it does not have. Every user may list the kinds.
		is := func(r metav1.APIResource) bool { return r.Name == of.Resource }
		if found, failed := s.resource(ctx, of.GroupVersion(), is); failed == nil && found == nil {
			return false, nil
		}
	}
	return true, err
}

func (s *Server) each(ctx context.Context, of schema.GroupVersionResource, namespace string,
	visit func(*unstructured.Unstructured) error) error {
	options := metav1.ListOptions{Limit: pageItems}
	for range mostPages {
		page, err := s.lists.Resource(of).Namespace(namespace).List(ctx, options)
		if err != nil {
			return explained(err)
		}
		for i := range page.Items {
			if err := visit(&page.Items[i]); err != nil {
				return err
			}
		}
		if options.Continue = page.GetContinue(); options.Continue == "" {
			return nil
		}
	}
	return fmt.Errorf("there are more than %d objects", mostPages*pageItems)
}
