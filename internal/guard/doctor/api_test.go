package doctor_test

import (
	"cmp"
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/json"
	"encoding/pem"
	"fmt"
	"math/big"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	appsv1 "k8s.io/api/apps/v1"
	authorizationv1 "k8s.io/api/authorization/v1"
	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/polex-dev/polex/internal/guard/doctor"
	"github.com/polex-dev/polex/pkg/exception"
	"github.com/polex-dev/polex/test/must"
)

// api is an API server with the parts that the doctor reads, in a state that a test chooses.
type api struct {
	validating *admissionregistrationv1.ValidatingWebhookConfiguration // nil: none
	others     []admissionregistrationv1.ValidatingWebhookConfiguration
	mutating   admissionregistrationv1.MutatingWebhookConfigurationList
	kyverno    appsv1.DeploymentList
	// Of admission policies.
	policies map[string]admissionregistrationv1.ValidatingAdmissionPolicySpec
	bindings map[string]admissionregistrationv1.ValidatingAdmissionPolicyBindingSpec
	changing admissionregistrationv1.MutatingAdmissionPolicyList

	conversion object // spec.conversion of both definitions; nil: no definitions
	unserved   string // a version that both definitions do not serve
	lease      *coordinationv1.Lease
	accepted   string          // plural in the status of both definitions; "": the right one
	services   []object        // spec of each APIService
	denied     map[string]bool // "verb resource", and for Kyverno "verb resource.group account"
	rejected   map[string]bool // the last parts of paths that are rejected in a dry run
	exceptions []object        // of each kind
	flows      []object        // FlowSchemas and PriorityLevelConfigurations
	gone       map[string]bool // namespaces that do not exist
	conflicts  int             // updates that somebody else overtakes
	broken     map[string]bool // the last parts of paths that return 500
	clock      time.Time       // zero: no Date header
	metrics    string          // with the hashes of static files
	endpoint   string          // of the Service kubernetes; "": none
}

func (a *api) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	last := r.URL.Path[strings.LastIndexByte(r.URL.Path, '/')+1:]
	w.Header()["Date"] = nil
	if !a.clock.IsZero() {
		w.Header().Set("Date", a.clock.UTC().Format(http.TimeFormat))
	}
	answer := func(code int, what any) {
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(code)
		_ = json.NewEncoder(w).Encode(what)
	}
	refuse := func(code int32, reason metav1.StatusReason) {
		answer(int(code), metav1.Status{TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "Status"}, Status: metav1.StatusFailure, Code: code, Reason: reason, Message: string(reason)})
	}
	switch {
	case a.broken[last], a.broken["leases/"+last] && strings.Contains(r.URL.Path, "/leases/"):
		refuse(http.StatusInternalServerError, metav1.StatusReasonInternalError)
	case r.Method != http.MethodGet && a.rejected[last] && r.URL.Query().Get("dryRun") == metav1.DryRunAll:
		refuse(http.StatusForbidden, metav1.StatusReasonForbidden)
	case last == "polex-guard" && strings.Contains(r.URL.Path, "/leases/") && a.lease != nil, last == "events":
		if a.conflicts--; r.Method == http.MethodPut && a.conflicts >= 0 {
			refuse(http.StatusConflict, metav1.StatusReasonConflict)
			return
		}
		answer(http.StatusOK, a.lease)
	case last == "polex-guard" && !strings.Contains(r.URL.Path, "/leases/") && a.validating != nil:
		answer(http.StatusOK, a.validating)
	case last == "validatingwebhookconfigurations":
		list := admissionregistrationv1.ValidatingWebhookConfigurationList{Items: a.others}
		if a.validating != nil {
			list.Items = append(list.Items, *a.validating)
		}
		answer(http.StatusOK, list)
	case last == "mutatingwebhookconfigurations":
		answer(http.StatusOK, a.mutating)
	case last == "mutatingadmissionpolicies":
		answer(http.StatusOK, a.changing)
	case last == "validatingadmissionpolicies":
		var list admissionregistrationv1.ValidatingAdmissionPolicyList
		for name, spec := range a.policies {
			list.Items = append(list.Items, admissionregistrationv1.ValidatingAdmissionPolicy{ObjectMeta: metav1.ObjectMeta{Name: name}, Spec: spec})
		}
		answer(http.StatusOK, list)
	case last == "validatingadmissionpolicybindings":
		var list admissionregistrationv1.ValidatingAdmissionPolicyBindingList
		for name, spec := range a.bindings {
			list.Items = append(list.Items, admissionregistrationv1.ValidatingAdmissionPolicyBinding{ObjectMeta: metav1.ObjectMeta{Name: name}, Spec: spec})
		}
		answer(http.StatusOK, list)
	case strings.HasPrefix(last, "policyexceptions.") && a.conversion != nil:
		versions := []object{}
		for _, name := range []string{"v1", "v1beta1", "v2", "v2beta1"} {
			versions = append(versions, object{"name": name, "served": name != a.unserved})
		}
		answer(http.StatusOK, object{"apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition", "metadata": object{"name": last},
			"spec": object{"conversion": a.conversion, "versions": versions}, "status": object{
				"acceptedNames": object{"plural": cmp.Or(a.accepted, "policyexceptions"), "singular": "policyexception", "kind": "PolicyException", "listKind": "PolicyExceptionList"},
				"conditions":    []object{{"type": "NamesAccepted", "status": "True"}, {"type": "Established", "status": "True"}},
			}})
	case last == "policyexceptions":
		answer(http.StatusOK, object{"apiVersion": "a/v1", "kind": "PolicyExceptionList", "metadata": object{}, "items": a.exceptions})
	case last == "flowschemas", last == "prioritylevelconfigurations":
		items := slices.DeleteFunc(slices.Clone(a.flows), func(o object) bool { return o["kind"] == "FlowSchema" != (last == "flowschemas") })
		answer(http.StatusOK, object{"apiVersion": "flowcontrol.apiserver.k8s.io/v1", "kind": "List", "metadata": object{}, "items": items})
	case last == "apiservices":
		items := []object{}
		for n, spec := range a.services {
			items = append(items, object{"apiVersion": "apiregistration.k8s.io/v1", "kind": "APIService", "metadata": object{"name": strconv.Itoa(n)}, "spec": spec})
		}
		answer(http.StatusOK, object{"apiVersion": "apiregistration.k8s.io/v1", "kind": "APIServiceList", "metadata": object{}, "items": items})
	case last == "polex-system", last == "kyverno" && !a.gone[last]:
		answer(http.StatusOK, corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: last, Labels: map[string]string{"kubernetes.io/metadata.name": last}}})
	case last == "deployments":
		answer(http.StatusOK, a.kyverno)
	case last == "selfsubjectaccessreviews":
		var review authorizationv1.SelfSubjectAccessReview
		_ = json.NewDecoder(r.Body).Decode(&review)
		asked := review.Spec.ResourceAttributes
		review.Status.Allowed = !a.denied[asked.Verb+" "+asked.Resource]
		answer(http.StatusCreated, review)
	case last == "subjectaccessreviews":
		var review authorizationv1.SubjectAccessReview
		_ = json.NewDecoder(r.Body).Decode(&review)
		asked, account := review.Spec.ResourceAttributes, strings.TrimPrefix(review.Spec.User, "system:serviceaccount:kyverno:")
		review.Status.Allowed = slices.Contains(review.Spec.Groups, "system:serviceaccounts:kyverno") && !a.denied[asked.Verb+" "+asked.Resource+"."+asked.Group+" "+account]
		answer(http.StatusCreated, review)
	case last == "metrics":
		_, _ = w.Write([]byte(a.metrics))
	case last == "endpointslices":
		list := discoveryv1.EndpointSliceList{}
		if host, port, err := net.SplitHostPort(a.endpoint); err == nil {
			number, _ := strconv.ParseInt(port, 10, 32)
			list.Items = append(list.Items, discoveryv1.EndpointSlice{Endpoints: []discoveryv1.Endpoint{{Addresses: []string{host}}}, Ports: []discoveryv1.EndpointPort{{Port: new(int32(number))}}})
		}
		answer(http.StatusOK, list)
	case last == "version":
		answer(http.StatusOK, map[string]string{"gitVersion": "v1.36.3"})
	default:
		refuse(http.StatusNotFound, metav1.StatusReasonNotFound)
	}
}

type object = map[string]any

// kinds are the served kinds with their versions.
var kinds = map[schema.GroupVersionKind]meta.RESTScope{
	{Group: exception.KyvernoGroup, Version: "v2", Kind: exception.Kind}:                             meta.RESTScopeNamespace,
	{Group: exception.KyvernoGroup, Version: "v2beta1", Kind: exception.Kind}:                        meta.RESTScopeNamespace,
	{Group: exception.PoliciesGroup, Version: "v1", Kind: exception.Kind}:                            meta.RESTScopeNamespace,
	{Group: exception.PoliciesGroup, Version: "v1beta1", Kind: exception.Kind}:                       meta.RESTScopeNamespace,
	{Group: "admissionregistration.k8s.io", Version: "v1", Kind: "ValidatingWebhookConfiguration"}:   meta.RESTScopeRoot,
	{Group: "admissionregistration.k8s.io", Version: "v1", Kind: "MutatingWebhookConfiguration"}:     meta.RESTScopeRoot,
	{Group: "admissionregistration.k8s.io", Version: "v1", Kind: "ValidatingAdmissionPolicy"}:        meta.RESTScopeRoot,
	{Group: "admissionregistration.k8s.io", Version: "v1", Kind: "ValidatingAdmissionPolicyBinding"}: meta.RESTScopeRoot,
	{Group: "admissionregistration.k8s.io", Version: "v1", Kind: "MutatingAdmissionPolicy"}:          meta.RESTScopeRoot,
	{Group: "apiextensions.k8s.io", Version: "v1", Kind: "CustomResourceDefinition"}:                 meta.RESTScopeRoot,
	{Group: "apiregistration.k8s.io", Version: "v1", Kind: "APIService"}:                             meta.RESTScopeRoot,
	{Group: "flowcontrol.apiserver.k8s.io", Version: "v1", Kind: "FlowSchema"}:                       meta.RESTScopeRoot,
	{Group: "flowcontrol.apiserver.k8s.io", Version: "v1", Kind: "PriorityLevelConfiguration"}:       meta.RESTScopeRoot,
	{Group: "coordination.k8s.io", Version: "v1", Kind: "Lease"}:                                     meta.RESTScopeNamespace,
	{Group: "authorization.k8s.io", Version: "v1", Kind: "SubjectAccessReview"}:                      meta.RESTScopeRoot,
	{Group: "events.k8s.io", Version: "v1", Kind: "Event"}:                                           meta.RESTScopeNamespace,
	{Version: "v1", Kind: "Namespace"}:                                                               meta.RESTScopeRoot,
	{Group: "authorization.k8s.io", Version: "v1", Kind: "SelfSubjectAccessReview"}:                  meta.RESTScopeRoot,
	{Group: "discovery.k8s.io", Version: "v1", Kind: "EndpointSlice"}:                                meta.RESTScopeNamespace,
	{Group: "apps", Version: "v1", Kind: "Deployment"}:                                               meta.RESTScopeNamespace,
}

// start serves the API on loopback and returns the configuration of the doctor.
func (a *api) start(t *testing.T) doctor.Config {
	t.Helper()
	server := httptest.NewServer(a)
	t.Cleanup(server.Close)
	config := &rest.Config{Host: server.URL, QPS: -1, ContentConfig: rest.ContentConfig{ContentType: "application/json"}}
	var versions []schema.GroupVersion
	for gvk := range kinds {
		versions = append(versions, gvk.GroupVersion())
	}
	mapper := meta.NewDefaultRESTMapper(versions)
	for gvk, scope := range kinds {
		mapper.Add(gvk, scope)
	}
	live := must.Get(client.New(config, client.Options{HTTPClient: server.Client(), Mapper: mapper}))(t)
	return doctor.Config{
		Client: live, HTTP: server.Client(), Host: server.URL, Now: func() time.Time { return now }, Webhook: "polex-guard", Deadline: 5 * time.Second, Protect: os.DirFS(protectFolder), Namespace: "polex-system", Kyverno: "kyverno", Guards: func(namespace string) bool { return namespace == "kyverno" },
		Kinds: []exception.GroupKind{{Group: exception.KyvernoGroup, Kind: exception.Kind}, {Group: exception.PoliciesGroup, Kind: exception.Kind}},
	}
}

// unserved is a client of an API server that serves no exceptions.
type unserved struct{ client.Client }

func (unserved) RESTMapper() meta.RESTMapper { return meta.NewDefaultRESTMapper(nil) }

func (u unserved) List(ctx context.Context, list client.ObjectList, options ...client.ListOption) error {
	if kind := list.GetObjectKind().GroupVersionKind(); kind.Kind == exception.Kind+"List" {
		return &meta.NoKindMatchError{GroupKind: kind.GroupKind()}
	}
	return u.Client.List(ctx, list, options...)
}

// certificate is the certificate of a server.
type certificate struct {
	name  string        // in addition to 127.0.0.1; "" is the name of the guard
	lasts time.Duration // 0: a year
}

// server is a TLS server in place of a webhook.
type server struct {
	address   string
	authority []byte // PEM
}

func serve(t *testing.T, c certificate) *server {
	t.Helper()
	key := must.Get(ecdsa.GenerateKey(elliptic.P256(), rand.Reader))(t)
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "polex-guard"}, NotBefore: now.Add(-time.Hour), NotAfter: now.Add(365 * 24 * time.Hour),
		DNSNames: []string{"polex-guard.polex-system.svc"}, IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)}, IsCA: true, BasicConstraintsValid: true,
	}
	if c.lasts != 0 {
		template.NotAfter = now.Add(c.lasts)
	}
	if c.name != "" {
		template.DNSNames, template.IPAddresses = []string{c.name}, nil
	}
	der := must.Get(x509.CreateCertificate(rand.Reader, template, template, key.Public(), key))(t)
	listener := must.Get(tls.Listen("tcp", "127.0.0.1:0",
		&tls.Config{Certificates: []tls.Certificate{{Certificate: [][]byte{der}, PrivateKey: key}},
			MinVersion: tls.VersionTLS12}))(t)
	t.Cleanup(func() { _ = listener.Close() })
	go func() {
		for {
			conn, err := listener.Accept()
			if err != nil {
				return // closed
			}
			go func() {
				_ = conn.(*tls.Conn).Handshake()
				_ = conn.Close()
			}()
		}
	}()
	return &server{address: listener.Addr().String(), authority: pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der})}
}

// asked points a webhook to the server.
func (s *server) asked(w *admissionregistrationv1.ValidatingWebhook) {
	w.ClientConfig.URL, w.ClientConfig.CABundle = new("https://"+s.address), s.authority
}

// closed returns an address without a listener.
func closed(t *testing.T) string {
	t.Helper()
	listener := must.Get(net.Listen("tcp", "127.0.0.1:0"))(t)
	must.Do(t, listener.Close())
	return listener.Addr().String()
}

// dialAs connects to the server under an address that only the DNS of a cluster resolves.
func (s *server) dialAs(want string) doctor.Dial {
	return func(ctx context.Context, address string, config *tls.Config) (*tls.Conn, error) {
		if address != want {
			return nil, fmt.Errorf("it asks %q, not %q", address, want)
		}
		conn, err := (&tls.Dialer{Config: config}).DialContext(ctx, "tcp", s.address)
		if err != nil {
			return nil, err
		}
		return conn.(*tls.Conn), nil
	}
}
