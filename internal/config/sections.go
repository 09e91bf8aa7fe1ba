package config

import (
	"github.com/polex-dev/polex/internal/kyverno/wildcard"
	"github.com/polex-dev/polex/pkg/exception"
)

// file is the whole document. Other packages read the sections without a type.
type file struct {
	APIVersion  string      `json:"apiVersion"`
	Kind        string      `json:"kind"`
	Directories Directories `json:"directories" by:"validate sign verify prune request audit" doc:"where the repository keeps exceptions and policies"`
	Shape       any         `json:"shape" by:"validate sign request" doc:"the validation rules of exceptions"`
	Statements  Statements  `json:"statements" by:"validate sign request audit" keys:"reason ticket owner" format:"key" doc:"keys of your own for the reason, the ticket and the owner of an exception: annotations, labels, or entries of spec.properties"`
	Promote     Promote     `json:"promote" by:"sign" doc:"how polex-sign promote treats pending exceptions, and which approvals it requires"`
	Lifetime    Lifetime    `json:"lifetime" by:"sign" doc:"how polex-sign writes the expiry of an exception"`
	Sigstore    Sigstore    `json:"sigstore" by:"sign" doc:"the Sigstore services that sign"`
	Trust       any         `json:"trust" by:"validate verify sign guard request audit" doc:"the trusted signers"`
	Guard       Guard       `json:"guard" by:"guard" doc:"the rules of one cluster"`
}

// Directories is the section with the folders of exceptions.
type Directories struct {
	Unsigned string `json:"unsigned" by:"validate sign request audit" default:"unsigned" doc:"the folder of pending exceptions, from the root of the repository"`
	Signed   string `json:"signed" default:"signed" doc:"the folder of signed exceptions, from the root of the repository; polex-verify --git has this default only with --only-exceptions"`
	Policies string `json:"policies" by:"validate sign request audit" default:"none: policies are not checked" doc:"the folder of the Kyverno policies, from the configuration file"`
}

// Statements is the section with a team's own statement keys.
type Statements = exception.StatementKeys

// Sigstore is the section with the Sigstore services for signing.
type Sigstore struct {
	FulcioURL    string `json:"fulcioURL" format:"address" default:"the public-good Fulcio" doc:"the address of the Fulcio that issues the certificate (--fulcio-url)"`
	RekorURL     string `json:"rekorURL" format:"address" default:"the public-good Rekor 1" doc:"the address of the Rekor transparency log (--rekor-url)"`
	RekorVersion int    `json:"rekorVersion" min:"1" max:"2" default:"1" doc:"the version of Rekor's API (--rekor-version); 2 requires rekorURL and timestampURL"`
	TimestampURL string `json:"timestampURL" format:"address" default:"no timestamp" doc:"the address of the timestamp authority (--timestamp-server-url)"`
	BundleFormat string `json:"bundleFormat" enum:"cosign sigstore both" default:"both" doc:"the form of the evidence in a signed document (--bundle-format)"`

	_ struct{} `formerly:"oidcIssuer" instead:"use the flag --oidc-issuer"`
	_ struct{} `formerly:"oidcClientID" instead:"use the flag --oidc-client-id"`
}

// Lifetime is the section about the written form of an expiry.
type Lifetime struct {
	TTLLabel bool `json:"ttlLabel" default:"false" doc:"true also writes the expiry of a kyverno.io exception as the label cleanup.kyverno.io/ttl"`
}

// Promote is the section about the signing of pending exceptions.
type Promote struct {
	Updates string `json:"updates" by:"validate sign" enum:"refuse replace" default:"refuse" doc:"whether a pending exception may replace the signed exception of its name"`
	Review
}

// Review is the part of [Promote] about the recorded review and the required approvals.
type Review struct {
	Record              string `json:"record" by:"validate sign" enum:"auto none api event trailers" default:"auto" doc:"the source of the review record"`
	RequireApprovals    int    `json:"requireApprovals" by:"validate sign" min:"0" max:"100" default:"0" doc:"the number of required approvals of an exception"`
	AllowStaleApprovals bool   `json:"allowStaleApprovals" default:"false" doc:"true counts approvals of earlier commits of the pull request"`
	ApprovalsFrom       string `json:"approvalsFrom" enum:"api trailers" default:"api" doc:"trailers counts approvals in the commit message, with record: trailers"`

	_ struct{} `formerly:"renewals" instead:"use trust.renewals"`
	_ struct{} `formerly:"requireCodeOwners" instead:"require it in the forge: GitHub's ruleset, Require review from Code Owners; GitLab's protected branch, Code owner approval"`
}

// Settings of [Review.Record]. The first two are not a source.
const (
	RecordAuto     = "auto" // the best source of the environment; the default
	RecordNone     = "none"
	RecordTrailers = "trailers" // of the commit message
)

// Guard is the section with the rules of one cluster. polex-validate, polex-sign and polex-request read
// what no exception may reach; the guard reads all of it, from its own file.
type Guard struct {
	// Namespaces are the names or patterns of the namespaces where exceptions may be; empty allows
	// all.
	Namespaces wildcard.Names `json:"namespaces" default:"any" doc:"the namespaces where exceptions may be: names, or patterns in which * is any text and ? is one character"`
	// RequireCluster requires that every exception names its cluster.
	RequireCluster bool `json:"requireCluster" default:"false" doc:"true requires the annotation polex.dev/cluster of every exception"`
	// MaxPerNamespace is the maximum number of exceptions of one kind in a namespace; 0 sets no
	// limit.
	MaxPerNamespace int `json:"maxPerNamespace" min:"0" default:"0" doc:"the number of exceptions of one kind in a namespace; 0 sets no limit"`
	// GuardPolicies and GuardNamespaces protect more policies and namespaces from exceptions,
	// beside those of polex and Kyverno.
	GuardPolicies   []string `json:"guardPolicies" by:"validate sign request guard" default:"none" doc:"names or patterns of policies that no exception may reach, beside those of polex and Kyverno"`
	GuardNamespaces []string `json:"guardNamespaces" by:"validate sign request guard" default:"none" doc:"names or patterns of namespaces that no exception may reach, beside those of polex, of Kyverno and of the guard"`
	// AllowInKyverno lists the objects in the namespace kyverno that exceptions may exempt.
	AllowInKyverno []string `json:"allowInKyverno" by:"validate sign request guard" form:"{policy} {kind}/{name}" default:"none" doc:"the objects in the namespace kyverno that an exception may exempt, each as POLICY Kind/name; all others there are protected. POLICY is the name of a cluster policy among the given policies, and must not name Kyverno itself. Kind and name are as the exception writes them: kyverno-admission-controller-* permits only that pattern"`
	// Policies are files with the policies of the cluster.
	Policies []string `json:"policies" default:"none: every policy may match exceptions" doc:"files of the Kyverno policies of this cluster, from the configuration file; an exception from policies that cannot match exceptions may have any match conditions"`

	_ struct{} `formerly:"insecureOutsideGit" instead:"the guard no longer reads Git; Argo CD, Flux and polex-audit report what is not in Git: docs/reference/guard.md"`
}
