package doctor

import (
	"context"
	"crypto/tls"
	"fmt"
	"io/fs"
	"net/http"
	"slices"
	"time"

	"sigs.k8s.io/controller-runtime/pkg/client"

	admission "k8s.io/api/admissionregistration/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/polex-dev/polex/internal/guard/static"
	"github.com/polex-dev/polex/pkg/exception"
)

// Config is the input of the checks.
type Config struct {
	Client  client.Client    // without a cache
	HTTP    *http.Client     // for the API server
	Host    string           // address of the API server
	Now     func() time.Time // the clock of the guard
	Dial    Dial             // connects to the webhook; nil uses the network
	Kinds   []exception.GroupKind
	Webhook string // name of the ValidatingWebhookConfiguration
	// Static is the content of the files that the API servers read from their disks; nil: none.
	Static *static.Set
	// Servers are the URLs of the API servers that read it; none: the endpoints of the Service
	// kubernetes.
	Servers []string
	// Deadline is the maximum time of the guard for a request.
	Deadline time.Duration
	// Protect holds the files of policies/guard/protect.
	Protect fs.FS
	// Namespace is the namespace of the guard and its Lease.
	Namespace string
	// SelfManaged is the Secret with the certificate that the guard issues itself; "": none.
	SelfManaged string
	// Kyverno is the namespace of Kyverno.
	Kyverno string
	// Guards reports whether no exception may reach a namespace; nil skips the check.
	Guards func(namespace string) bool
}

// Dial opens a TLS connection to an address.
type Dial func(ctx context.Context, address string, config *tls.Config) (*tls.Conn, error)

// Outcome is the result of a check.
type Outcome int

// The outcomes. The zero value is the worst one.
const (
	Wrong Outcome = iota
	Unknown
	Doubtful // it lets no exception pass
	Fine
)

// Finding is one result of a check.
type Finding struct {
	Outcome Outcome
	Subject string // an object, or a part of the cluster
	Reason  string // stable; "": no problem
	Message string
	Hint    string
}

// checkup collects the findings.
type checkup struct {
	Config
	findings []Finding
	// What several checks need. Kinds that are not served are missing.
	served    []*meta.RESTMapping                   // of each kind, every version
	policies  []admission.ValidatingAdmissionPolicy // nil: they could not be read
	delivered map[string]*policySpec                // of policies/guard/protect
	unread    bool                                  // some of it could not be read
}

// policies is the resource of validating admission policies.
const policies = "validatingadmissionpolicies"

// Run runs all checks and returns at least one finding.
func Run(ctx context.Context, c Config) []Finding {
	if c.Dial == nil {
		c.Dial = dial
	}
	k := &checkup{Config: c}
	k.read(ctx)
	for _, check := range []func(context.Context){
		k.webhook, k.static, k.definitions, k.servers, k.others, k.protect, k.kyverno, k.priority, k.permissions,
		k.leader, k.clock,
	} {
		check(ctx)
	}
	return k.findings
}

// read reads what several checks need.
func (k *checkup) read(ctx context.Context) {
	for _, gk := range k.Kinds {
		mappings, err := k.Client.RESTMapper().RESTMappings(schema.GroupKind(gk))
		if !meta.IsNoMatchError(err) && k.known(gk.String(), err) {
			k.served = append(k.served, mappings...)
		}
	}
	var list admission.ValidatingAdmissionPolicyList
	var err error
	if k.delivered, err = policiesIn(k.Protect); k.known(policies, err) && k.list(ctx, policies, &list) {
		k.policies = append([]admission.ValidatingAdmissionPolicy{}, list.Items...)
	}
	k.unread = len(k.findings) > 0
}

// servedKinds returns one version of each served kind.
func (k *checkup) servedKinds() []*meta.RESTMapping {
	return slices.CompactFunc(slices.Clone(k.served), func(a, b *meta.RESTMapping) bool {
		return a.GroupVersionKind.GroupKind() == b.GroupVersionKind.GroupKind()
	})
}

// found adds a finding whose message is the text of its reason.
func (k *checkup) found(subject, name string) { k.report(subject, name, "%s", reasonOf(name).doc) }

// report adds a finding with the hint and the outcome of its reason. The caller may replace both.
func (k *checkup) report(subject, name, format string, args ...any) *Finding {
	r := reasonOf(name)
	k.findings = append(k.findings, Finding{Subject: subject, Reason: name, Message: fmt.Sprintf(format, args...),
		Hint: r.hint, Outcome: r.outcome})
	return &k.findings[len(k.findings)-1]
}

func (k *checkup) fine(subject, message string) {
	k.report(subject, "fine", "%s", message).Outcome = Fine
}

// unlessFound returns a function that reports a part as fine, unless there is a finding between the
// two calls: defer k.unlessFound(…)().
func (k *checkup) unlessFound(subject, message string) func() {
	before := len(k.findings)
	return func() {
		if len(k.findings) == before && !k.unread {
			k.fine(subject, message)
		}
	}
}

// list lists all objects of a kind, and reports whether it could.
func (k *checkup) list(ctx context.Context, subject string, into client.ObjectList, in ...client.ListOption) bool {
	return k.known(subject, k.Client.List(ctx, into, in...))
}

// known reports whether a request has succeeded. A failure is a finding.
func (k *checkup) known(subject string, err error) bool {
	if err != nil {
		k.unknown(subject, err)
	}
	return err == nil
}

func (k *checkup) unknown(subject string, err error) { k.report(subject, "undecided", "%s", err) }
