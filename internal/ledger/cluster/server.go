package cluster

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/polex-dev/polex/internal/apiserver"
	"github.com/polex-dev/polex/internal/kyverno"
	"github.com/polex-dev/polex/pkg/exception"
	"github.com/polex-dev/polex/pkg/seal"
)

// ErrNotServed means that the API server does not serve PolicyExceptions of either API group.
var ErrNotServed = errors.New("it serves exceptions of neither group")

// Read calls visit for the exceptions of both API groups in all namespaces. It returns the reason for each
// object that cannot be read.
func Read(ctx context.Context, s *apiserver.Server,
	visit func(*exception.Document) error) (unreadable []string, err error) {
	anyServed := false
	for _, kind := range kyverno.Kinds() {
		g := group{s: s, name: kind.Group, others: map[string]map[exception.IdentityKey]*exception.Document{}}
		served, err := g.read(ctx, visit)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", kind.Group, err)
		}
		anyServed, unreadable = anyServed || served, append(unreadable, g.unreadable...)
	}
	if !anyServed {
		return nil, ErrNotServed
	}
	return unreadable, nil
}

// group is an API group of a server.
type group struct {
	s        *apiserver.Server
	name     string
	versions []string // the served ones, the preferred one first
	// others are the objects of another version, if one of them was signed in it.
	others     map[string]map[exception.IdentityKey]*exception.Document
	unreadable []string
}

// read lists the exceptions of the group in the version that the API server prefers.
func (g *group) read(ctx context.Context, visit func(*exception.Document) error) (served bool, err error) {
	if g.versions, err = g.s.Versions(ctx, g.name); err != nil {
		return false, err
	}
	for _, version := range g.versions {
		g.unreadable, served, err = g.list(ctx, version, func(doc *exception.Document) error {
			signed, err := g.asSigned(ctx, doc)
			if err != nil {
				return err
			}
			return visit(signed)
		})
		if served || err != nil {
			return served, err
		}
	}
	return false, nil
}

// asSigned returns an exception that was signed in another served version in its form in that version,
// because only that form equals the signed message.
func (g *group) asSigned(ctx context.Context, doc *exception.Document) (*exception.Document, error) {
	signed, err := seal.Read(doc)
	if err != nil {
		return doc, nil //nolint:nilerr // the verifier reports it
	}
	message, err := seal.ParseMessage(signed.Message)
	if err != nil || message.GroupKind() != doc.GroupKind() {
		return doc, nil //nolint:nilerr // likewise
	}
	version := message.Version()
	if version == doc.Version() || !slices.Contains(g.versions, version) {
		return doc, nil
	}
	if g.others[version] == nil {
		g.others[version] = map[exception.IdentityKey]*exception.Document{}
		if _, _, err := g.list(ctx, version, func(other *exception.Document) error {
			g.others[version][other.Identity().Key()] = other
			return nil
		}); err != nil {
			return nil, err
		}
	}
	if other := g.others[version][doc.Identity().Key()]; other != nil {
		return other, nil
	}
	return doc, nil
}

// list reads all objects of a version.
func (g *group) list(ctx context.Context, version string,
	visit func(*exception.Document) error) (unreadable []string, served bool, err error) {
	c := Stream{visit: visit}
	of := schema.GroupVersionResource{Group: g.name, Version: version, Resource: "policyexceptions"}
	served, err = g.s.Each(ctx, of, "", func(object *unstructured.Unstructured) error {
		if object.GetAPIVersion() == "" { // the items of a list may have no apiVersion and kind
			object.SetGroupVersionKind(of.GroupVersion().WithKind(exception.Kind))
		}
		item, err := object.MarshalJSON()
		if err != nil {
			return err
		}
		return c.add(item)
	})
	return c.Unreadable, served, err
}
