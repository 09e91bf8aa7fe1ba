package cluster

import (
	"context"
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
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/json"

	"github.com/polex-dev/polex/internal/guard"
	"github.com/polex-dev/polex/internal/kyverno"
	"github.com/polex-dev/polex/pkg/exception"
)

// API sends JSON requests to an API server. It has no cache and no rate limit.
type API struct {
	rest    rest.Interface // each request has a time limit
	watches rest.Interface // for streams, which have their own
}

// requestLasts limits the time of a request to the API server, with its answer. The API server asks
// a webhook about a deletion for up to 30 seconds.
const requestLasts = 40 * time.Second

// NewAPI returns an API for the given configuration.
func NewAPI(config *rest.Config, client *http.Client) (*API, error) {
	config = dynamic.ConfigFor(config)
	config.QPS = -1                           // a queue would delay deletions; callers limit their requests
	config.WarningHandler = rest.NoWarnings{} // "is deprecated" would come with every request
	// An environment variable of client-go would add CBOR.
	config.AcceptContentTypes, config.ContentType = "application/json", "application/json"
	limited := *client
	limited.Timeout = requestLasts
	requests, err := rest.UnversionedRESTClientForConfigAndClient(config, &limited)
	if err != nil {
		return nil, fmt.Errorf("set up: %w", err)
	}
	watches, err := rest.UnversionedRESTClientForConfigAndClient(config, client)
	if err != nil {
		return nil, fmt.Errorf("set up: %w", err)
	}
	return &API{requests, watches}, nil
}

// Answers requests the version of the API server.
func (a *API) Answers(ctx context.Context) error {
	const answersWithin = 2 * time.Second // limits the time of a request for the version
	ctx, cancel := context.WithTimeout(ctx, answersWithin)
	defer cancel()
	return a.rest.Get().AbsPath("/version").MaxRetries(0).Do(ctx).Error()
}

// resource is the path of the objects of a kind, in one version.
type resource struct {
	root, version, plural string
	namespaced            bool
}

// at returns the path of an object. Without a name it is the path of all objects.
func (r resource) at(namespace, name string) string {
	path := r.root + "/" + r.version
	if r.namespaced && namespace != "" {
		path += "/namespaces/" + namespace
	}
	path += "/" + r.plural
	if name != "" {
		path += "/" + name
	}
	return path
}

// in returns the same resource in another version.
func (r resource) in(version string) (resource, error) {
	if len(validation.IsDNS1035Label(version)) > 0 {
		return r, fmt.Errorf("%q: %w", version, guard.ErrNotServed)
	}
	r.version = version
	return r, nil
}

// errNotServed means that the API server does not serve the kind.
var errNotServed = errors.New("the API server does not serve this kind")

// find returns the resource of a kind in the version that the API server prefers among the versions
// that serve this kind.
func (a *API) find(ctx context.Context, gk exception.GroupKind) (resource, error) {
	r := resource{root: "/api", version: "v1"}
	versions := []string{"v1"}
	if gk.Group != "" {
		r.root, versions = "/apis/"+gk.Group, nil
		var group metav1.APIGroup
		err := a.get(ctx, r.root, &group)
		if err == nil {
			versions = append(versions, group.PreferredVersion.Version)
		}
		for _, v := range group.Versions {
			versions = append(versions, v.Version)
		}
		switch {
		case gk.IsException():
			// A user who takes the right to discovery must not make the guard blind, nor one that deletes the
			// APIServices: discovery names no other versions, and the API server serves all of them.
			versions = append(versions, kyverno.WatchedVersion(gk))
		case apierrors.IsNotFound(err):
			return r, errNotServed
		case err != nil:
			return r, err
		}
	}
	for _, version := range slices.Compact(versions) {
		r.version = version
		found, err := a.findIn(ctx, r, gk)
		if !errors.Is(err, errNotServed) {
			return found, err
		}
	}
	return r, errNotServed
}

// findIn returns the resource of a kind in one version. It asks for exceptions at the path that
// Kyverno reads: the status of their definition can give them another kind or plural in the list of
// resources.
func (a *API) findIn(ctx context.Context, r resource, gk exception.GroupKind) (resource, error) {
	if gk.IsException() {
		r.plural, r.namespaced = Plural, true
		err := a.rest.Get().AbsPath(r.at("", "")).Param("limit", "1").Do(ctx).Error()
		if apierrors.IsNotFound(err) {
			err = errNotServed
		}
		return r, err
	}
	var list metav1.APIResourceList
	if err := a.get(ctx, r.root+"/"+r.version, &list); apierrors.IsNotFound(err) {
		return r, errNotServed
	} else if err != nil {
		return r, err
	}
	for _, served := range list.APIResources {
		if served.Kind == gk.Kind && !strings.Contains(served.Name, "/") {
			return resource{r.root, r.version, served.Name, served.Namespaced}, nil
		}
	}
	return r, errNotServed
}

func (a *API) get(ctx context.Context, path string, value any) error {
	return into(a.rest.Get().AbsPath(path).Do(ctx), value)
}

// into decodes the body of an answer and keeps integers as integers, or returns the error in it.
func into(answer rest.Result, value any) error {
	if err := answer.Error(); err != nil {
		return err
	}
	raw, err := answer.Raw()
	if err != nil {
		return err
	}
	return json.UnmarshalCaseSensitivePreserveInts(raw, value)
}

// query adds options to a request for all objects.
func query(request *rest.Request, where resource, options metav1.ListOptions) *rest.Request {
	return request.AbsPath(where.at("", "")).
		SpecificallyVersionedParams(&options, scheme.ParameterCodec, schema.GroupVersion{Version: "v1"})
}

// partial is the media type of objects of which only the metadata is wanted, and of a list of them.
func partial(kind string) string {
	return "application/json;as=" + kind + ";g=meta.k8s.io;v=v1,application/json"
}

// eachPage lists the objects that options select, or only their metadata. It returns the resource version of the
// list.
func (a *API) eachPage(ctx context.Context, where resource, options metav1.ListOptions, onlyMetadata bool,
	show func(*unstructured.Unstructured)) (resourceVersion string, err error) {
	options.Limit = 25 // objects of up to about 1 MiB
	for {
		request := query(a.rest.Get(), where, options)
		if onlyMetadata {
			request.SetHeader("Accept", partial("PartialObjectMetadataList"))
		}
		var page unstructured.UnstructuredList
		if err := into(request.Do(ctx), &page); err != nil {
			return "", err
		}
		for i := range page.Items {
			show(&page.Items[i])
		}
		if options.Continue = page.GetContinue(); options.Continue == "" {
			return page.GetResourceVersion(), nil
		}
	}
}

// isGone reports whether the object does not exist. The API server also answers NotFound for an
// unknown path, but then the error does not name the object.
func isGone(err error, name string) bool {
	var status apierrors.APIStatus
	if !apierrors.IsNotFound(err) || !errors.As(err, &status) {
		return false
	}
	details := status.Status().Details
	return details != nil && details.Name == name
}
