package doctor

import (
	"context"
	"crypto/tls"
	"io/fs"
	"net/http"
	"time"

	"sigs.k8s.io/controller-runtime/pkg/client"

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
	found []Finding
}

// Run runs all checks and returns at least one finding.
func Run(ctx context.Context, c Config) []Finding {
	if c.Dial == nil {
		c.Dial = dial
	}
	k := &checkup{Config: c}
	k.webhook(ctx)
	k.static(ctx)
	k.definitions(ctx)
	k.served(ctx)
	k.mutating(ctx)
	k.deletions(ctx)
	k.protect(ctx)
	k.kyverno(ctx)
	k.priority(ctx)
	k.permissions(ctx)
	k.leader(ctx)
	k.clock(ctx)
	return k.found
}

func (k *checkup) add(f Finding) { k.found = append(k.found, f) }

func (k *checkup) fine(subject, message string) {
	k.add(Finding{Outcome: Fine, Subject: subject, Reason: "fine", Message: message})
}

// unlessFound returns a function that reports a part as fine, unless there is a finding between the
// two calls: defer k.unlessFound(…)().
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
