package verify

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/polex-dev/polex/internal/command/cli"
	"github.com/polex-dev/polex/internal/plain"
	"github.com/polex-dev/polex/pkg/trust"
	"github.com/polex-dev/polex/pkg/verify"
)

// explain returns the verified facts as text, for an accepted or a rejected document.
func explain(facts verify.Facts, counts bool) []cli.Fact {
	if len(facts.Signatures) == 0 {
		return []cli.Fact{{Label: "verified", Value: "nothing: the signer is not known"}}
	}
	var said []cli.Fact
	say := func(label, format string, args ...any) {
		said = append(said, cli.Fact{Label: label, Value: fmt.Sprintf(format, args...)})
	}
	if !counts {
		say("verified", "the facts below; the exception is rejected nevertheless")
	}
	for _, s := range facts.Signatures {
		said = append(said, explainSignature(s)...)
	}
	say("message", "%s", facts.MessageDigest)
	if n := facts.Renewal.Number; n > 0 {
		say("renews", "%s, renewal %d in a row", renewed(facts), n)
	}
	if a := facts.Approvals; len(a.Names) > 0 {
		say("approved by", "%s, by its record from %s", people(a.Names), a.From)
	}
	if !facts.StartsAt.IsZero() {
		say("starts at", "%s", plain.Time(facts.StartsAt))
	}
	switch {
	case !facts.ExpiresAt.IsZero():
		say("expires at", "%s", plain.Time(facts.ExpiresAt))
	case counts:
		say("expires at", "never: it is valid until it is revoked")
	}
	return said
}

func explainSignature(s verify.Signature) []cli.Fact {
	var said []cli.Fact
	say := func(label, value string) {
		if value != "" {
			said = append(said, cli.Fact{Label: label, Value: value})
		}
	}
	say("signed by", signer(s))
	if s.Identity.Subject != "" && s.Authority != "" {
		say("authority", s.Authority)
	}
	say("issuer", s.Identity.Issuer)
	claims := s.Identity.Claims
	say("run", claims["runInvocationURI"])
	// Fulcio used the second names before 2023.
	say("trigger", cmp.Or(claims["buildTrigger"], claims["githubWorkflowTrigger"]))
	say("repository", cmp.Or(claims["sourceRepositoryURI"], claims["githubWorkflowRepository"]))
	say("ref", cmp.Or(claims["sourceRepositoryRef"], claims["githubWorkflowRef"]))
	say("commit", cmp.Or(claims["sourceRepositoryDigest"], claims["githubWorkflowSHA"]))
	say("runner", claims["runnerEnvironment"])
	if caller := claims["buildConfigURI"]; caller != s.Identity.Subject {
		say("called by", caller)
	}
	say("environment", claims["deploymentEnvironment"])
	say("token sub", claims["tokenSubject"])
	for _, name := range slices.Sorted(maps.Keys(claims)) {
		if !slices.Contains(trust.ClaimNames(), name) {
			say("extension "+name, claims[name])
		}
	}
	for _, w := range s.Witnesses {
		say("signing time", plain.Time(w.At)+" by the "+strings.ReplaceAll(w.Kind, "-", " ")+" "+w.URL)
	}
	if len(s.Witnesses) == 0 {
		say("signing time", "not proven")
	}
	if s.LogIndex >= 0 {
		say("log entry", fmt.Sprintf("%d of %s", s.LogIndex, s.LogURL))
	}
	if c := s.Certificate; c.Fingerprint != "" {
		say("certificate", fmt.Sprintf("%s, valid from %s to %s", c.Fingerprint, plain.Time(c.NotBefore),
			plain.Time(c.NotAfter)))
	}
	say("checked", strings.Join(s.Checked, ", "))
	return said
}

// signer names the signer: the subject of the certificate, or a key of the policy.
func signer(s verify.Signature) string {
	if s.Identity.Subject == "" && s.Authority == "" {
		return "a key of the trust policy"
	}
	if s.Identity.Subject == "" {
		return fmt.Sprintf("the key %q", s.Authority)
	}
	return s.Identity.Subject
}

// summary returns the signer, the signing time and the expiry in one line.
func summary(facts verify.Facts) string {
	var said []string
	for _, s := range facts.Signatures {
		if s.Authority == "" {
			continue
		}
		line := "signed by " + signer(s)
		if !s.WitnessedAt.IsZero() {
			line += " at " + plain.Time(s.WitnessedAt)
		}
		if s.LogIndex >= 0 {
			line += fmt.Sprintf(" (log index %d)", s.LogIndex)
		}
		said = append(said, line)
	}
	if facts.ExpiresAt.IsZero() {
		return strings.Join(append(said, "no expiry"), ", ")
	}
	return strings.Join(append(said, "until "+plain.Time(facts.ExpiresAt)), ", ")
}

// people names the first approvers and the number of the others.
func people(names []string) string {
	const most = 10
	if more := len(names) - most; more > 0 {
		return fmt.Sprintf("%s and %d more", strings.Join(names[:most], ", "), more)
	}
	return strings.Join(names, ", ")
}

// renewed returns the signed reference to the predecessor.
func renewed(facts verify.Facts) string { return facts.Renewal.Name + "@" + facts.Renewal.Digest }

// details returns the facts for JSON, or nil if nothing was verified.
func details(facts verify.Facts) map[string]any {
	if len(facts.Signatures) == 0 {
		return nil
	}
	signatures := make([]map[string]any, len(facts.Signatures))
	for i, s := range facts.Signatures {
		signatures[i] = signatureDetails(s)
	}
	all := map[string]any{"messageDigest": facts.MessageDigest, "signatures": signatures}
	if n := facts.Renewal.Number; n > 0 {
		all["renews"], all["renewal"] = renewed(facts), n
	}
	if a := facts.Approvals; len(a.Names) > 0 {
		all["approvedBy"], all["recordedFrom"] = a.Names, a.From
	}
	if !facts.StartsAt.IsZero() {
		all["startsAt"] = plain.Time(facts.StartsAt)
	}
	if !facts.ExpiresAt.IsZero() {
		all["expiresAt"] = plain.Time(facts.ExpiresAt)
	}
	return all
}

func signatureDetails(s verify.Signature) map[string]any {
	d := map[string]any{"authority": s.Authority, "checked": s.Checked}
	if s.Identity.Subject != "" {
		d["issuer"], d["subject"], d["claims"] = s.Identity.Issuer, s.Identity.Subject, claimsOf(s.Identity)
		d["certificate"] = map[string]any{"fingerprint": s.Certificate.Fingerprint,
			"notBefore": plain.Time(s.Certificate.NotBefore), "notAfter": plain.Time(s.Certificate.NotAfter)}
	}
	if !s.WitnessedAt.IsZero() {
		d["witnessedAt"] = plain.Time(s.WitnessedAt)
	}
	if s.LogIndex >= 0 {
		d["log"], d["logIndex"] = s.LogURL, s.LogIndex
	}
	witnesses := make([]map[string]any, len(s.Witnesses))
	for i, w := range s.Witnesses {
		witnesses[i] = map[string]any{"kind": w.Kind, "url": w.URL, "at": plain.Time(w.At)}
	}
	d["witnesses"] = witnesses
	return d
}

func claimsOf(id trust.Identity) map[string]string {
	if id.Claims == nil {
		return map[string]string{}
	}
	return id.Claims
}

// hints are the hints for rejections that do not explain themselves.
var hints = map[string]string{
	verify.ReasonUnsigned:   "sign it with polex-sign, or let the merge workflow promote it",
	verify.ReasonAltered:    "restore the file that was signed, or have the change reviewed and signed again",
	verify.ReasonBadMessage: "remove the annotations under cosign.sigstore.dev/ and sign the file again",
	verify.ReasonWrongIdentity: "if you trust this signer, add it to trust.authorities; if not, have a " +
		"trusted signer sign",
	verify.ReasonUnknownKey: "if you trust the key, add it to trust.authorities or pass it with --key; if " +
		"not, have a trusted signer sign",
	verify.ReasonMalformedSignature: "restore the file that was signed",
	verify.ReasonEvidenceMismatch:   "restore the file that was signed",
	verify.ReasonLifetimeTooLong:    "have an exception with a shorter lifetime reviewed and signed",
	verify.ReasonBeyondLimits:       "narrow it to the limits of its signer, or have an authority sign that may",
	verify.ReasonRenewalNotAllowed:  "request a new exception instead of a renewal",
	verify.ReasonExpired:            "remove it, or have a renewal reviewed and signed",
	verify.ReasonNoExpiry:           "have it signed with an expiry, or pass --allow-unbounded",
	verify.ReasonUntrustedCertificate: "if a private Sigstore signed it, name its root with --trusted-root or " +
		"trust.trustedRoot",
	verify.ReasonUnprovenLogEntry: "if a private Sigstore signed it, name its root with --trusted-root or " +
		"trust.trustedRoot",
	verify.ReasonNoLogEntry: "sign it again with polex-sign, which adds the entry; for a key without a log, set " +
		"insecureWithoutLog in trust.authorities",
	verify.ReasonKindNotAllowed: "name the kind with --kinds Kind.group, or in the trust policy",
	verify.ReasonSignedInFuture: "set the clock of this machine",
}
