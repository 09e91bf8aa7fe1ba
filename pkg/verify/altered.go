package verify

import (
	"crypto/x509"
	"fmt"
	"slices"
	"strings"

	sgverify "github.com/sigstore/sigstore-go/pkg/verify"

	"github.com/polex-dev/polex/pkg/exception"
	"github.com/polex-dev/polex/pkg/seal"
	"github.com/polex-dev/polex/pkg/trust"
)

const (
	maxDifferences = 3  // in a message
	maxCompared    = 20 // compared
	maxManagers    = 100
)

// altered rejects an object that differs from its message. It names the tool or the field manager
// that added something, and the remedy: allowedMetadata for a tool that delivers the object, and a
// replacement for fields of another manager, which server-side apply does not remove.
func altered(object *exception.Document, differences []seal.Difference) error {
	fields := managedFields(object)
	signers := fields.owners("metadata", "annotations", seal.Prefix+"message")
	allowed, left, added, known := true, true, true, false
	var details []string
	for i, d := range differences {
		field, key, value := d.AddedMetadata()
		owners := fields.owners(d.Path...)
		others := !slices.ContainsFunc(owners, func(m manager) bool { return slices.Contains(signers, m) })
		allowed = allowed && field != "" && trust.CheckAdded(field, key, value) == nil
		left = left && others && len(owners) > 0 && len(signers) > 0
		added = added && !d.InMessage && others
		by := writers(d, key, value, owners)
		known = known || by != ""
		details = append(details, d.String()+by)
		if i >= maxDifferences {
			details = append(details[:maxDifferences], "and more")
		}
	}
	detail := "it differs from its signed content: " + strings.Join(details, "; ")
	if allowed && !known {
		detail += " (Helm, Flux commonMetadata and kustomize do this)"
	}
	const allow, replace = "; list it under allowedMetadata in the trust policy", `run "kubectl replace -f FILE" once`
	switch {
	case added && left:
		detail += "; an older version left it: " + replace
	case added && allowed:
		detail += allow + "; or, if an older version left it, " + replace
	case added:
		detail += "; if an older version left it, " + replace
	case allowed:
		detail += allow
	}
	return &Rejected{Reason: ReasonAltered, Detail: detail}
}

// writers describes the known writers of an addition.
func writers(d seal.Difference, key, value string, owners []manager) string {
	if d.InMessage {
		return ""
	}
	text := ""
	if tool := trust.WriterOf(key, value); tool != "" {
		text = " by " + tool
	}
	if len(owners) > 0 {
		text += fmt.Sprintf(" (field manager %.60q)", owners[0].name)
	}
	return text
}

// manager is a field manager of the API server, with its operation: Apply or Update.
type manager struct{ name, operation string }

// managed are the entries of metadata.managedFields, at most [maxManagers]. The user that writes the
// object chooses their names.
type managed []any

func managedFields(object *exception.Document) managed {
	entries, _ := object.Lookup("metadata", "managedFields")
	list, _ := entries.([]any)
	return list[:min(len(list), maxManagers)]
}

// owners returns the managers that own a field, in the order of the entries. A list without the
// fields of its items has the owners of the list.
func (m managed) owners(path ...any) []manager {
	var owners []manager
	for _, item := range m {
		entry, _ := item.(map[string]any)
		fields, _ := entry["fieldsV1"].(map[string]any)
		for i, step := range path {
			name, isField := step.(string)
			if !isField || fields == nil || i > 0 && len(fields) == 0 {
				break
			}
			fields, _ = fields["f:"+name].(map[string]any)
		}
		if fields != nil {
			name, _ := entry["manager"].(string)
			operation, _ := entry["operation"].(string)
			owners = append(owners, manager{name, operation})
		}
	}
	return owners
}

// checkCertificate verifies a certificate at a proven time, with its SCT. The errors of sigstore-go have no types, so
// it asks again without the SCT for the reason.
func (e *evidenceVerifier) checkCertificate(cert *x509.Certificate, t Witness) error {
	if cert == nil {
		return nil
	}
	_, cause := sgverify.VerifyLeafCertificate(t.At, cert, e.issuers)
	if cause == nil {
		return nil
	}
	switch _, err := sgverify.VerifyLeafCertificate(t.At, cert, e.material); {
	case err == nil:
		return rejectCause(ReasonNoSCT, cause, "no CT log in the trusted root confirms the certificate")
	case t.At.Before(cert.NotBefore) || t.At.After(cert.NotAfter):
		return rejectCause(ReasonCertificateNotValid, cause,
			"it was signed at %s, and the certificate was valid from %s to %s", clock(t.At), clock(cert.NotBefore),
			clock(cert.NotAfter))
	default:
		return rejectCause(ReasonUntrustedCertificate, cause,
			"the certificate was not issued by an authority of the trusted root (%s)", e.root.Source())
	}
}

// outsideValidity returns a rejection if the time of the log entry is outside the validity of the
// certificate. Such an entry fails in sigstore-go like an unproven one.
func outsideValidity(entity *entity, cert *x509.Certificate) error {
	if cert == nil {
		return nil
	}
	entries, err := entity.TlogEntries()
	if err != nil || len(entries) != 1 {
		return nil //nolint:nilerr // nothing to tell; the caller refuses either way
	}
	at := entries[0].IntegratedTime()
	if at.IsZero() || (!at.Before(cert.NotBefore) && !at.After(cert.NotAfter)) {
		return nil
	}
	return reject(ReasonCertificateNotValid, "it was logged at %s, and the certificate was valid from %s to %s",
		clock(at), clock(cert.NotBefore), clock(cert.NotAfter))
}
