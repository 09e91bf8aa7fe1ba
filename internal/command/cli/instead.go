package cli

const inTrustPolicy = "the section trust of the configuration (--config) says it"

const nothingKept = "nothing is kept between runs: --previous names the last commit of an earlier report"

// instead has the hints for flags that a command does not have, or no longer: what to use instead.
var instead = map[string]string{
	"allow-unbounded":             inTrustPolicy + ": allowUnbounded",
	"certificate-identity":        inTrustPolicy + ": authorities, with issuer and subject",
	"certificate-identity-regexp": inTrustPolicy + ": authorities, with issuer and subjectRegexp",
	"certificate-oidc-issuer":     inTrustPolicy + ": authorities, with issuer and subject",
	"key":                         inTrustPolicy + ": authorities, with keyFile",
	"kinds":                       inTrustPolicy + ": kinds",
	"max-lifetime":                inTrustPolicy + ": maxLifetime",
	"trusted-root":                inTrustPolicy + ": trustedRoot",

	"accept-rewritten":  "leave out --previous",
	"author":            "git config user.name and user.email, or GIT_AUTHOR_NAME and GIT_AUTHOR_EMAIL",
	"cache-dir":         nothingKept,
	"color":             "a terminal gets colors, except with NO_COLOR=1 or TERM=dumb",
	"concurrency":       "8 documents are signed at once",
	"directory":         "the configuration says it: directories.signed and directories.unsigned",
	"dry-run":           "polex promote and polex prune change nothing without --commit, --push or another destination",
	"github-repository": "set GITHUB_REPOSITORY",
	"no-cache":          nothingKept,
	"policy-threshold":  "the report lists the policies with the most open exceptions first",
	"pull-request-mode": "--pull-request",
	"push-attempts":     "a push is tried 10 times",
	"rekor-versions":    "both versions of Rekor run",
	"reload-interval":   "the guard reads its files every 5 seconds",
	"remote":            "git config branch.NAME.remote",
	"sign-commit":       "git config commit.gpgSign true",
	"timeout":           "a recipient of notifications has 3 minutes",
	"webhook-name":      "the ValidatingWebhookConfiguration is called polex-guard",
}
