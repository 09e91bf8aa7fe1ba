package request

import (
	"context"
	"fmt"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/polex-dev/polex/internal/apiserver"
	"github.com/polex-dev/polex/internal/command/cli"
	"github.com/polex-dev/polex/pkg/exception"
)

// collection is a collection of objects in one namespace or in all.
type collection struct {
	schema.GroupVersionResource
	namespace string // "" means all
}

// collections makes collections from the plural names of an API version.
func collections(namespace, groupVersion, plurals string) []collection {
	var all []collection
	version, _ := schema.ParseGroupVersion(groupVersion) // the version is a constant of this package
	for plural := range strings.FieldsSeq(plurals) {
		all = append(all, collection{version.WithResource(plural), namespace})
	}
	return all
}

// each calls visit for every object of a collection. It returns false if the server does not serve
// the collection.
func each(ctx context.Context, s *apiserver.Server, of collection,
	visit func(*exception.Document) error) (served bool, err error) {
	var failed error
	served, err = s.Each(ctx, of.GroupVersionResource, of.namespace, func(object *unstructured.Unstructured) error {
		object.SetManagedFields(nil)
		var doc *exception.Document
		if doc, failed = exception.FromObject(object.Object); failed == nil {
			failed = visit(doc)
		}
		return failed
	})
	switch name := of.GroupResource(); {
	case err == nil:
		return served, nil
	case failed != nil:
		return served, fmt.Errorf("read %s: %w", name, failed)
	case apierrors.IsForbidden(err):
		return served, cli.Hint(fmt.Errorf("read %s: the API server forbids it", name),
			"it requires the permission list on reports, policies and workloads: docs/how-to/request.md names them")
	default:
		return served, cli.Hint(fmt.Errorf("read %s: %w", name, err),
			"does kubectl reach it, with the same --kubeconfig and --context?")
	}
}
