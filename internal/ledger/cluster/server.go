package cluster

import (
	"context"
	"errors"
	"fmt"
	"slices"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/polex-dev/polex/internal/apiserver"
	"github.com/polex-dev/polex/internal/kyverno"
	"github.com/polex-dev/polex/internal/ledger"
	"github.com/polex-dev/polex/pkg/exception"
	"github.com/polex-dev/polex/pkg/seal"
)

// ErrNotServed means that the API server does not serve PolicyExceptions of either API group.
var ErrNotServed = errors.New("it serves exceptions of neither group")

// Read lists the exceptions of both API groups in all namespaces.
func Read(ctx context.Context, s *apiserver.Server) (ledger.Cluster, error) {
	var all ledger.Cluster
	served := false
	for _, kind := range kyverno.Kinds() {
		found, there, err := readGroup(ctx, s, kind.Group)
		if err != nil {
			return all, fmt.Errorf("%s: %w", kind.Group, err)
		}
		served = served || there
		all.Objects, all.Unreadable = append(all.Objects, found.Objects...), append(all.Unreadable, found.Unreadable...)
	}
	if !served {
		return all, ErrNotServed
	}
	return all, nil
}

// readGroup lists the exceptions of an API group in the version that the API server prefers. It
// reads an exception that was signed in another version again in that version, because only that
// form equals the signed message.
func readGroup(ctx context.Context, s *apiserver.Server, group string) (c ledger.Cluster, there bool, err error) {
	versions, err := s.Versions(ctx, group)
	if err != nil {
		return c, false, err
	}
	for _, version := range versions {
		c, err = list(ctx, s, group, version)
		if !apierrors.IsNotFound(err) {
			if err == nil {
				err = asSigned(ctx, s, group, versions, c.Objects)
			}
			return c, true, err
		}
	}
	return c, false, nil
}

// asSigned handles exceptions that were signed in another served version: it replaces each of them
// by its form in that version.
func asSigned(ctx context.Context, s *apiserver.Server, group string, served []string, docs []*exception.Document) error {
	others := map[string]map[exception.IdentityKey]*exception.Document{}
	for i, doc := range docs {
		sealed, err := seal.Read(doc)
		if err != nil {
			continue // the verifier reports it
		}
		message, err := seal.ParseMessage(sealed.Message)
		if err != nil || message.GroupKind() != doc.GroupKind() || message.Version() == doc.Version() || !slices.Contains(served, message.Version()) {
			continue
		}
		version := message.Version()
		if others[version] == nil {
			others[version] = map[exception.IdentityKey]*exception.Document{}
			listed, err := list(ctx, s, group, version)
			if err != nil && !apierrors.IsNotFound(err) {
				return err
			}
			for _, other := range listed.Objects {
				others[version][other.Identity().Key()] = other
			}
		}
		if other := others[version][doc.Identity().Key()]; other != nil {
			docs[i] = other
		}
	}
	return nil
}

// list reads all objects of a version.
func list(ctx context.Context, s *apiserver.Server, group, version string) (ledger.Cluster, error) {
	var c objects
	of := schema.GroupVersionResource{Group: group, Version: version, Resource: "policyexceptions"}
	err := s.Each(ctx, of, "", func(object *unstructured.Unstructured) error {
		if object.GetAPIVersion() == "" { // the items of a list may have no apiVersion and kind
			object.SetGroupVersionKind(of.GroupVersion().WithKind(exception.Kind))
		}
		item, err := object.MarshalJSON()
		if err != nil {
			return err
		}
		return c.add(item)
	})
	return c.Cluster, err
}
