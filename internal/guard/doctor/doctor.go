package doctor

import (
	"context"
	"crypto/tls"
	"io/fs"
	"net/http"
	"time"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/polex-dev/polex/pkg/exception"
)

// Config is what is looked at, and with what.
type Config struct {
	Client  client.Client    // that asks the API server at every call
	HTTP    *http.Client     // that reaches the API server
	Host    string           // address of the API server
	Now     func() time.Time // the guard's clock
	Dial    Dial             // reaches the webhook; nil is as the network has it
	Kinds   []exception.GroupKind
	Webhook string // name of the ValidatingWebhookConfiguration
	// Static is what the API server reads from a file on its own disk and not from the
	// API; nil where it does not.
	Static *admissionregistrationv1.ValidatingWebhookConfiguration
	// Deadline is how long the guard lets a request take.
	Deadline time.Duration
	// Protect holds the files of policies/guard/protect.
	Protect fs.FS
	// Namespace is the guard's, where its Lease is.
	Namespace string
	// SelfManaged is the Secret that the guard keeps a certificate of its own in, ""
	// where it does not.
	SelfManaged string
	// Kyverno is Kyverno's namespace.
	Kyverno string
	// Guards reports whether no exception may reach a namespace; nil is not to ask.
	Guards func(namespace string) bool
}

// Dial reaches an address by TLS.
type Dial func(ctx context.Context, address string, config *tls.Config) (*tls.Conn, error)

// Outcome is what became of a check.
type Outcome int

// The outcomes. The zero value is the worst that is certain.
const (
	Wrong Outcome = iota
	Unknown
	Doubtful // nothing that lets an exception past
	Fine
)

// Finding is what a check found.
type Finding struct {
	Outcome Outcome
	Subject string // what it is about: an object, or a part of the cluster
	Reason  string // stable; "" where nothing is wrong
	Message string
	Hint    string
}

// checkup collects the findings.
type checkup struct {
	Config
	found []Finding
}

// Run looks at everything, and returns at least one finding.
func Run(ctx context.Context, c Config) []Finding {
	if c.Dial == nil {
		c.Dial = dial
	}
	k := &checkup{Config: c}
	k.webhook(ctx)
	k.definitions(ctx)
	k.served(ctx)
	k.mutating(ctx)
	k.deletions(ctx)
	k.protect(ctx)
	k.kyverno(ctx)
	k.permissions(ctx)
	k.clock(ctx)
	return k.found
}

func (k *checkup) add(f Finding) { k.found = append(k.found, f) }

func (k *checkup) fine(subject, message string) {
	k.add(Finding{Outcome: Fine, Subject: subject, Reason: "fine", Message: message})
}

// unlessFound says at its end that a part is fine, unless something is found from now on:
// defer k.unlessFound(…)().
func (k *checkup) unlessFound(subject, message string) func() {
	before := len(k.found)
	return func() {
		if len(k.found) == before {
			k.fine(subject, message)
		}
	}
}

func (k *checkup) unknown(subject string, err error) {
	k.add(Finding{Outcome: Unknown, Subject: subject, Reason: ReasonUnknown, Message: err.Error()})
}
