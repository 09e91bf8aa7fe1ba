package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/runtime/serializer"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	"sigs.k8s.io/yaml"

	"github.com/polex-dev/polex/cmd/internal/cli"
	"github.com/polex-dev/polex/internal/kyverno"
	"github.com/polex-dev/polex/internal/ledger"
	"github.com/polex-dev/polex/pkg/exception"
	"github.com/polex-dev/polex/pkg/seal"
)

const (
	// maxDump is the most bytes of what kubectl wrote: 5,000 sealed exceptions have
	// 60 MB.
	maxDump = 256 << 20
	// perPage is how many objects are asked for at once, and askFor how long.
	perPage = 250
	askFor  = 30 * time.Second
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
	config, err := clientcmd.NewNonInteractiveDeferredLoadingClientConfig(
		&clientcmd.ClientConfigLoadingRules{ExplicitPath: kubeconfig}, &clientcmd.ConfigOverrides{}).ClientConfig()
	if err != nil {
		return ledger.Cluster{}, &cli.UsageError{Err: fmt.Errorf("read kubeconfig: %w", err)}
	}
	config.GroupVersion, config.Timeout = &schema.GroupVersion{}, askFor
	// An API server says in a Status why it refuses: what is no known kind reads "unknown".
	scheme := runtime.NewScheme()
	metav1.AddToGroupVersion(scheme, schema.GroupVersion{Version: "v1"})
	config.NegotiatedSerializer = serializer.NewCodecFactory(scheme).WithoutConversion()
	client, err := rest.UnversionedRESTClientFor(config)
	if err != nil {
		return ledger.Cluster{}, &cli.UsageError{Err: err}
	}
	s := &server{client: client}
	var all ledger.Cluster
	served := false
	for _, kind := range kyverno.Kinds() {
		found, there, err := s.group(ctx, kind.Group)
		if err != nil {
			hint := "does kubectl reach it, with the same file?"
			if apierrors.IsForbidden(err) {
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

// server is an API server.
type server struct{ client rest.Interface }

// get returns a page, or nil where it is not served.
func (s *server) get(ctx context.Context, path string, query url.Values) ([]byte, error) {
	request := s.client.Get().AbsPath(path)
	for key := range query {
		request = request.Param(key, query.Get(key))
	}
	answer := request.Do(ctx)
	raw, _ := answer.Raw() // its error does not have the API server's words
	err := answer.Error()
	var status apierrors.APIStatus
	if errors.As(err, &status) && status.Status().Code == http.StatusNotFound {
		return nil, nil
	}
	return raw, err
}

// group lists the exceptions of a group in the version that the API server prefers.
// One that was signed in another is read in that: it is what was signed in no other
// form.
func (s *server) group(ctx context.Context, group string) (c ledger.Cluster, there bool, err error) {
	raw, err := s.get(ctx, "/apis/"+group, nil)
	if raw == nil || err != nil {
		return c, false, err
	}
	var found struct {
		Preferred struct {
			Version string `json:"version"`
		} `json:"preferredVersion"`
		Versions []struct {
			Version string `json:"version"`
		} `json:"versions"`
	}
	if err := json.Unmarshal(raw, &found); err != nil {
		return c, false, err
	}
	c, there, err = s.list(ctx, group, found.Preferred.Version)
	if err != nil {
		return c, there, err
	}
	if !there {
		for _, v := range found.Versions {
			if c, there, err = s.list(ctx, group, v.Version); there || err != nil {
				break
			}
		}
		if !there || err != nil {
			return c, there, err
		}
	}
	versions := make([]string, len(found.Versions))
	for i, v := range found.Versions {
		versions[i] = v.Version
	}
	return c, there, s.asSigned(ctx, group, versions, c.Objects)
}

// asSigned reads in their own version the objects whose message names another one
// that is served.
func (s *server) asSigned(ctx context.Context, group string, served []string, docs []*exception.Document) error {
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
			listed, _, err := s.list(ctx, group, version)
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

// list reads all objects of a version, page by page.
func (s *server) list(ctx context.Context, group, version string) (c ledger.Cluster, there bool, err error) {
	var items []json.RawMessage
	query := url.Values{"limit": {strconv.Itoa(perPage)}}
	for {
		raw, err := s.get(ctx, "/apis/"+group+"/"+version+"/policyexceptions", query)
		if raw == nil || err != nil {
			return c, false, err
		}
		var page struct {
			Metadata struct {
				Continue string `json:"continue"`
			} `json:"metadata"`
			Items []json.RawMessage `json:"items"`
		}
		if err := json.Unmarshal(raw, &page); err != nil {
			return c, false, err
		}
		for _, item := range page.Items {
			items = append(items, typed(item, group+"/"+version))
		}
		if len(items) > ledger.MaxObjects {
			return c, true, fmt.Errorf("more than %d objects", ledger.MaxObjects)
		}
		if page.Metadata.Continue == "" {
			break
		}
		query.Set("continue", page.Metadata.Continue)
	}
	c, err = clusterOf(items)
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
