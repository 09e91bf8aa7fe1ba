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
	"github.com/polex-dev/polex/internal/ledger"
	"github.com/polex-dev/polex/pkg/exception"
	"github.com/polex-dev/polex/pkg/seal"
)

// ErrNotServed means that the API server does not serve PolicyExceptions of either API group.
var ErrNotServed = errors.New("it serves exceptions of neither group")

// Read lists the exceptions of both API groups in all namespaces.
func Read(ctx context.Context, s *apiserver.Server) (ledger.Cluster, error) {
	var all ledger.Cluster
	anyServed := false
	for _, kind := range kyverno.Kinds() {
		g := group{s: s, name: kind.Group}
		c, served, err := g.read(ctx)
		if err != nil {
			return all, fmt.Errorf("%s: %w", kind.Group, err)
		}
		anyServed = anyServed || served
		all.Objects, all.Unreadable = append(all.Objects, c.Objects...), append(all.Unreadable, c.Unreadable...)
	}
	if !anyServed {
		return all, ErrNotServed
	}
	return all, nil
}

// group is an API group of a server.
type group struct {
	s        *apiserver.Server
	name     string
	versions []string // the served ones, the preferred one first
}

// read lists the exceptions of the group in the version that the API server prefers.
func (g *group) read(ctx context.Context) (c ledger.Cluster, served bool, err error) {
	if g.versions, err = g.s.Versions(ctx, g.name); err != nil {
		return c, false, err
	}
	for _, version := range g.versions {
		if c, served, err = g.list(ctx, version); served && err == nil {
			err = g.asSigned(ctx, c.Objects)
		}
		if served || err != nil {
			return c, served, err
		}
	}
	return c, false, nil
}

// asSigned handles exceptions that were signed in another served version: it replaces each of them
// by its form in that version, because only that form equals the signed message.
func (g *group) asSigned(ctx context.Context, docs []*exception.Document) error {
	others := map[string]map[exception.IdentityKey]*exception.Document{}
	for i, doc := range docs {
		signed, err := seal.Read(doc)
		if err != nil {
			continue // the verifier reports it
		}
		message, err := seal.ParseMessage(signed.Message)
		if err != nil || message.GroupKind() != doc.GroupKind() {
			continue
		}
		version := message.Version()
		if version == doc.Version() || !slices.Contains(g.versions, version) {
			continue
		}
		if others[version] == nil {
			others[version] = map[exception.IdentityKey]*exception.Document{}
			listed, _, err := g.list(ctx, version)
			if err != nil {
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
func (g *group) list(ctx context.Context, version string) (_ ledger.Cluster, served bool, err error) {
	var c Stream
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
	return c.Cluster, served, err
}
