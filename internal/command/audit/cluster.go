package audit

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"

	"sigs.k8s.io/yaml"

	"github.com/polex-dev/polex/internal/apiserver"
	"github.com/polex-dev/polex/internal/command/cli"
	"github.com/polex-dev/polex/internal/kyverno"
	"github.com/polex-dev/polex/internal/ledger"
	"github.com/polex-dev/polex/pkg/exception"
	"github.com/polex-dev/polex/pkg/seal"
)

const (
	// maxDump is the most bytes of what kubectl wrote: 5,000 sealed exceptions have
	// 60 MB.
	maxDump = 256 << 20
)

// clusterFile reads what kubectl wrote.
func (r *run) clusterFile() (ledger.Cluster, error) {
	name := r.options.clusterFile
	var raw []byte
	var err error
	if name == "-" {
		if raw, err = io.ReadAll(io.LimitReader(r.streams.In, maxDump+1)); err == nil && len(raw) > maxDump {
			err = fmt.Errorf("standard input is larger than %d MiB", maxDump>>20)
		}
	} else {
		raw, err = cli.ReadFileUpTo(name, maxDump)
	}
	if err != nil {
		return ledger.Cluster{}, fmt.Errorf("read the cluster: %w", err)
	}
	cluster, err := parseDump(raw)
	if err != nil {
		return cluster, cli.Hint(fmt.Errorf("read the cluster from %s: %w", name, err),
			"it is what kubectl get policyexceptions.kyverno.io,policyexceptions.policies.kyverno.io -A -o yaml writes")
	}
	return cluster, nil
}

// parseDump reads a list of objects in YAML or JSON.
func parseDump(raw []byte) (ledger.Cluster, error) {
	if len(bytes.TrimSpace(raw)) == 0 {
		return ledger.Cluster{}, errors.New("it is empty, which is not a cluster without exceptions: that is a List without items")
	}
	if !bytes.HasPrefix(bytes.TrimSpace(raw), []byte("{")) {
		var err error
		if raw, err = yaml.YAMLToJSONStrict(raw); err != nil {
			return ledger.Cluster{}, err
		}
	}
	var list struct {
		Kind  string            `json:"kind"`
		Items []json.RawMessage `json:"items"`
	}
	if err := json.Unmarshal(raw, &list); err != nil {
		return ledger.Cluster{}, err
	}
	if list.Kind != "List" && list.Kind != exception.Kind+"List" || list.Items == nil {
		return ledger.Cluster{}, fmt.Errorf("it is a %q and no List of exceptions", list.Kind)
	}
	return clusterOf(list.Items)
}

// clusterOf reads objects one by one, as strictly as any document.
func clusterOf(items []json.RawMessage) (ledger.Cluster, error) {
	var c ledger.Cluster
	if len(items) > ledger.MaxObjects {
		return c, fmt.Errorf("%d objects, and %d are the most", len(items), ledger.MaxObjects)
	}
	for i, item := range items {
		doc, err := exception.Parse(item, "")
		switch {
		case err != nil:
			c.Unreadable = append(c.Unreadable, fmt.Sprintf("object %d: %s", i+1, err))
		case !doc.GroupKind().IsException():
			return c, fmt.Errorf("object %d is a %s and no exception", i+1, doc.GroupKind())
		default:
			c.Objects = append(c.Objects, doc)
		}
	}
	return c, nil
}

// readCluster asks an API server for every exception.
func readCluster(ctx context.Context, kubeconfig string) (ledger.Cluster, error) {
	s, err := apiserver.Open(kubeconfig, "")
	if err != nil {
		return ledger.Cluster{}, &cli.UsageError{Err: err}
	}
	var all ledger.Cluster
	served := false
	for _, kind := range kyverno.Kinds() {
		found, there, err := readGroup(ctx, s, kind.Group)
		if err != nil {
			hint := "does kubectl reach it, with the same file?"
			if apiserver.Is(err, http.StatusForbidden) {
				hint = "it takes list on policyexceptions of both groups, in all namespaces"
			}
			return all, cli.Hint(fmt.Errorf("read the cluster: %s: %w", kind.Group, err), hint)
		}
		served = served || there
		all.Objects, all.Unreadable = append(all.Objects, found.Objects...), append(all.Unreadable, found.Unreadable...)
	}
	if !served {
		return all, cli.Hint(errors.New("read the cluster: it serves exceptions of neither group"), "is it the cluster that is meant, and is Kyverno installed?")
	}
	return all, nil
}

// readGroup lists the exceptions of a group in the version that the API server prefers.
// One that was signed in another is read in that: it is what was signed in no other
// form.
func readGroup(ctx context.Context, s *apiserver.Server, group string) (c ledger.Cluster, there bool, err error) {
	raw, err := s.Get(ctx, "/apis/"+group, nil)
	if apiserver.Is(err, http.StatusNotFound) {
		return c, false, nil
	}
	if err != nil {
		return c, false, err
	}
	type version struct {
		Version string `json:"version"`
	}
	var found struct {
		Preferred version   `json:"preferredVersion"`
		Versions  []version `json:"versions"`
	}
	if err := json.Unmarshal(raw, &found); err != nil {
		return c, false, err
	}
	versions := make([]string, len(found.Versions))
	for i, v := range found.Versions {
		versions[i] = v.Version
	}
	for _, v := range append([]string{found.Preferred.Version}, versions...) {
		if c, there, err = list(ctx, s, group, v); err != nil {
			return c, there, err
		}
		if there {
			return c, true, asSigned(ctx, s, group, versions, c.Objects)
		}
	}
	return c, false, nil
}

// asSigned reads in their own version the objects whose message names another one
// that is served.
func asSigned(ctx context.Context, s *apiserver.Server, group string, served []string, docs []*exception.Document) error {
	others := map[string]map[exception.IdentityKey]*exception.Document{}
	for i, doc := range docs {
		sealed, err := seal.Read(doc)
		if err != nil {
			continue // the verifier says so
		}
		message, err := seal.ParseMessage(sealed.Message)
		if err != nil || message.GroupKind() != doc.GroupKind() || message.Version() == doc.Version() || !slices.Contains(served, message.Version()) {
			continue
		}
		version := message.Version()
		if others[version] == nil {
			others[version] = map[exception.IdentityKey]*exception.Document{}
			listed, _, err := list(ctx, s, group, version)
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

// list reads all objects of a version, or reports that it is not served.
func list(ctx context.Context, s *apiserver.Server, group, version string) (c ledger.Cluster, there bool, err error) {
	var items []json.RawMessage
	of := apiserver.List{APIVersion: group + "/" + version, Plural: "policyexceptions"}
	err = s.Each(ctx, of, func(item json.RawMessage, _, _ string) error {
		if items = append(items, typed(item, of.APIVersion)); len(items) > ledger.MaxObjects {
			return fmt.Errorf("more than %d objects", ledger.MaxObjects)
		}
		return nil
	})
	if apiserver.Is(err, http.StatusNotFound) {
		return c, false, nil
	}
	if err == nil {
		c, err = clusterOf(items)
	}
	return c, true, err
}

// typed adds what the items of a list may leave out: of what kind they are.
func typed(item json.RawMessage, apiVersion string) json.RawMessage {
	var has struct {
		APIVersion string `json:"apiVersion"`
	}
	rest, ok := bytes.CutPrefix(bytes.TrimSpace(item), []byte("{"))
	if json.Unmarshal(item, &has) != nil || has.APIVersion != "" || !ok {
		return item
	}
	return append([]byte(fmt.Sprintf(`{"apiVersion":%q,"kind":%q,`, apiVersion, exception.Kind)), rest...)
}
