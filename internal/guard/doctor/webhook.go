package doctor

import (
	"cmp"
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net"
	"net/url"
	"slices"
	"strings"
	"time"

	admission "k8s.io/api/admissionregistration/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	certutil "k8s.io/client-go/util/cert"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/polex-dev/polex/internal/guard/rules"
	"github.com/polex-dev/polex/internal/guard/static"
	"github.com/polex-dev/polex/pkg/exception"
)

// DeletedPath is the path of the guard for reviews of deletions. It allows all of them.
const DeletedPath = "/deleted"

// webhook checks the registration of the webhook.
func (k *checkup) webhook(ctx context.Context) {
	subject := "validatingwebhookconfigurations/" + k.Webhook
	var config admission.ValidatingWebhookConfiguration
	if k.Static != nil {
		subject = "static " + subject + static.Suffix
		for _, c := range k.Static.Webhooks {
			if c.Name == k.Webhook+static.Suffix {
				config = c
			}
		}
	} else {
		err := k.Client.Get(ctx, types.NamespacedName{Name: k.Webhook}, &config)
		if !k.known(subject, client.IgnoreNotFound(err)) {
			return
		}
	}
	if len(config.Webhooks) == 0 {
		k.found(subject, "no-webhook")
		return
	}
	defer k.unlessFound(subject,
		"every version, namespace and object; creations and changes fail closed, and deletions fail open")()
	k.covers(subject, config.Webhooks)
	for i := range config.Webhooks {
		w := &config.Webhooks[i]
		name := subject + " " + w.Name
		k.leads(name, w)
		if k.asksAbout(w.Rules, admission.Delete) && ptr.Deref(w.FailurePolicy, "") != admission.Ignore {
			k.found(name, "deletes-fail-closed")
		}
		if !isForDeletions(w) && slices.ContainsFunc(w.Rules, asksMore) {
			k.closed(name, w)
		}
		k.certificate(ctx, name, w)
	}
}

// isForDeletions reports whether a webhook uses the path that allows every deletion and nothing
// else.
func isForDeletions(w *admission.ValidatingWebhook) bool {
	path := ""
	if s := w.ClientConfig.Service; s != nil {
		path = ptr.Deref(s.Path, "")
	} else if parsed, err := url.Parse(ptr.Deref(w.ClientConfig.URL, "")); err == nil {
		path = parsed.Path
	}
	return path == DeletedPath
}

// asksMore reports whether a rule matches another operation than a deletion.
func asksMore(r admission.RuleWithOperations) bool {
	return slices.ContainsFunc(r.Operations, func(o admission.OperationType) bool { return o != admission.Delete })
}

// covers checks that a webhook matches the creation and the update of each kind in every served
// version.
func (k *checkup) covers(subject string, webhooks []admission.ValidatingWebhook) {
	for _, m := range k.served {
		status := about(m, admission.Update)
		if isException(m) { // such an update moves the resourceVersion, by which the guard deletes
			status.Subresource = "status"
		}
		for _, r := range []rules.Request{about(m, admission.Create),
			about(m, admission.Update), status, about(m, admission.Delete)} {
			deletes := r.Operation == admission.Delete
			covered := slices.ContainsFunc(webhooks, func(w admission.ValidatingWebhook) bool {
				return rules.Match(w.Rules, r) && (deletes || !isForDeletions(&w))
			})
			kind := exception.GroupKind(m.GroupVersionKind.GroupKind()).String()
			what, version := strings.TrimSuffix(kind+"/"+r.Subresource, "/"), r.Resource.Version
			switch {
			case covered:
			case deletes:
				k.report(subject, "delete-not-asked",
					"the audit log does not name the user who deletes a %s in %s", what, version)
			default:
				k.report(subject, "version-not-asked",
					"%s of %s in %s is admitted without a request to the guard", r.Operation, what, version)
			}
		}
	}
}

func isException(m *meta.RESTMapping) bool {
	return exception.GroupKind(m.GroupVersionKind.GroupKind()).IsException()
}

// about returns a request for a resource in one version.
func about(m *meta.RESTMapping, operation admission.OperationType) rules.Request {
	namespaced := m.Scope.Name() == meta.RESTScopeNameNamespace
	return rules.Request{Operation: operation, Resource: m.Resource, Namespaced: namespaced}
}

// closed checks that the webhook leaves no object out and fails closed.
func (k *checkup) closed(subject string, w *admission.ValidatingWebhook) {
	const otherwise = 10 // seconds, of the API server
	timeout := time.Duration(ptr.Deref(w.TimeoutSeconds, otherwise)) * time.Second
	noEffects := []admission.SideEffectClass{admission.SideEffectClassNone, admission.SideEffectClassNoneOnDryRun}
	for _, hole := range []struct {
		reason string
		exists bool
	}{
		{"namespace-hole", selects(w.NamespaceSelector)},
		{"object-hole", selects(w.ObjectSelector)},
		{"condition-hole", len(w.MatchConditions) > 0},
		{"fails-open", ptr.Deref(w.FailurePolicy, "") != admission.Fail},
		{"timeout-too-short", timeout <= k.Deadline},
		{"side-effects", !slices.Contains(noEffects, ptr.Deref(w.SideEffects, ""))},
		{"converts", ptr.Deref(w.MatchPolicy, "") != admission.Exact},
	} {
		if hole.exists {
			k.found(subject, hole.reason)
		}
	}
}

// leads checks that the API server asks a Service in the namespace of the guard, or itself. A
// server elsewhere could allow everything, with its own caBundle.
func (k *checkup) leads(subject string, w *admission.ValidatingWebhook) {
	if s := w.ClientConfig.Service; s != nil && s.Namespace != k.Namespace {
		k.report(subject, "asks-elsewhere", "the API server asks the Service %q in %q, and the guard is in %q",
			s.Name, s.Namespace, k.Namespace)
	}
	if w.ClientConfig.URL == nil || k.Static != nil { // the API cannot change a static file
		return
	}
	address, _ := addressOf(w)
	host, _, _ := net.SplitHostPort(address)
	if ip := net.ParseIP(host); ip == nil || !ip.IsLoopback() {
		f := k.report(subject, "asks-elsewhere",
			"the API server asks %s, and this check cannot tell whether the guard answers there", address)
		f.Outcome = Doubtful
	}
}

func selects(s *metav1.LabelSelector) bool {
	return s != nil && len(s.MatchLabels)+len(s.MatchExpressions) > 0
}

// addressOf returns the address and the server name of the webhook.
func addressOf(w *admission.ValidatingWebhook) (address, name string) {
	if text := w.ClientConfig.URL; text != nil {
		at, err := url.Parse(*text)
		if err != nil {
			return "", ""
		}
		return net.JoinHostPort(at.Hostname(), cmp.Or(at.Port(), "443")), at.Hostname()
	}
	s := w.ClientConfig.Service
	if s == nil {
		return "", ""
	}
	name = s.Name + "." + s.Namespace + ".svc"
	return fmt.Sprintf("%s:%d", name, ptr.Deref(s.Port, 443)), name
}

// asksAbout reports whether rules match one of the operations on a signed kind, in any version.
func (k *checkup) asksAbout(list []admission.RuleWithOperations, operations ...admission.OperationType) bool {
	return slices.ContainsFunc(k.served, func(m *meta.RESTMapping) bool {
		return slices.ContainsFunc(operations,
			func(o admission.OperationType) bool { return rules.Match(list, about(m, o)) })
	})
}

// reaching limits the time to reach the webhook.
const reaching = 5 * time.Second

// certificate checks the certificate of the webhook as the API server does.
func (k *checkup) certificate(ctx context.Context, subject string, w *admission.ValidatingWebhook) {
	const soon = 7 * 24 * time.Hour // the minimum remaining lifetime of a certificate
	roots := x509.NewCertPool()
	if !roots.AppendCertsFromPEM(w.ClientConfig.CABundle) {
		k.report(subject, "bad-ca-bundle", "its caBundle contains no certificate")
		return
	}
	if k.Static != nil {
		authorities, _ := certutil.ParseCertsPEM(w.ClientConfig.CABundle)
		k.expiring(subject, authorities, renewal,
			"renew the CA on every control plane node: docs/how-to/static-admission.md")
	}
	address, name := addressOf(w)
	ctx, cancel := context.WithTimeout(ctx, reaching)
	defer cancel()
	config := &tls.Config{RootCAs: roots, ServerName: name, Time: k.Now, MinVersion: tls.VersionTLS12}
	conn, err := k.Dial(ctx, address, config)
	var invalid *tls.CertificateVerificationError
	switch {
	case errors.As(err, &invalid):
		k.report(subject, "bad-certificate", "the API server does not accept the certificate of %s: %s", address, err)
	case err != nil:
		k.unknown(subject, fmt.Errorf("reach %s: %w", address, err))
	default:
		k.expiring(subject, conn.ConnectionState().PeerCertificates, soon, "")
		_ = conn.Close() // nothing was written
	}
}

// expiring reports certificates that expire within a time. A hint replaces the one of the reason.
func (k *checkup) expiring(subject string, certs []*x509.Certificate, within time.Duration, hint string) {
	for _, cert := range certs {
		if cert.NotAfter.Sub(k.Now()) < within {
			f := k.report(subject, "certificate-ends", "the certificate of %q expires at %s", cert.Subject,
				timestamp(cert.NotAfter))
			f.Hint = cmp.Or(hint, f.Hint)
		}
	}
}

func timestamp(t time.Time) string { return t.UTC().Format(time.RFC3339) }

func dial(ctx context.Context, address string, config *tls.Config) (*tls.Conn, error) {
	dialer := tls.Dialer{NetDialer: &net.Dialer{Timeout: reaching}, Config: config}
	conn, err := dialer.DialContext(ctx, "tcp", address)
	if err != nil {
		return nil, err
	}
	return conn.(*tls.Conn), nil
}
