package verify_test

import (
	"bytes"
	"context"
	"crypto"
	"encoding/base64"
	"encoding/pem"
	"errors"
	"fmt"
	"slices"
	"testing"

	"github.com/sigstore/cosign/v2/pkg/cosign"
	"github.com/sigstore/cosign/v2/pkg/cosign/bundle"
	"github.com/sigstore/cosign/v2/pkg/oci/static"
	protobundle "github.com/sigstore/protobuf-specs/gen/pb-go/bundle/v1"
	sgbundle "github.com/sigstore/sigstore-go/pkg/bundle"
	sgverify "github.com/sigstore/sigstore-go/pkg/verify"
	"github.com/sigstore/sigstore/pkg/cryptoutils"
	"github.com/sigstore/sigstore/pkg/signature"
	"google.golang.org/protobuf/encoding/protojson"

	"github.com/polex-dev/polex/pkg/exception"
	"github.com/polex-dev/polex/pkg/seal"
	"github.com/polex-dev/polex/pkg/trust"
	"github.com/polex-dev/polex/pkg/verify"
	"github.com/polex-dev/polex/test/attacks"
	"github.com/polex-dev/polex/test/must"
)

// notOfTrust are the reasons that depend on more than a message, its evidence and an identity.
var notOfTrust = []string{
	verify.ReasonKindNotAllowed, verify.ReasonUnsigned, verify.ReasonMalformedSignature, verify.ReasonBadMessage, verify.ReasonAltered,
	verify.ReasonBadLifetime, verify.ReasonNoExpiry, verify.ReasonExpired, verify.ReasonLifetimeTooLong, verify.ReasonNotYetValid,
	verify.ReasonSignedInFuture, verify.ReasonWithdrawn, verify.ReasonBeyondLimits, verify.ReasonRenewalNotAllowed,
}

// Causes for other verdicts of cosign.
const (
	otherClaims = "polex compares claims of the certificate that cosign does not check"
	everySet    = "every signature set of a seal has to hold, and cosign is shown one at a time"
	oneName     = "polex takes a certificate of exactly one name, and the name that is asked for is among these"
	typedName   = "polex compares the type of a name too: workflows have addresses, people have mailboxes"
	everyEntry  = "a log entry that is there has to hold, even where none is needed"
	witnessed   = "polex needs to know when it was signed"
	oneSigner   = "one signer counts once, and cosign is asked about one authority at a time"
	noGroups    = "cosign knows no groups: it is asked how many of the authorities signed"
	dotsAreDots = "the dots of a domain are dots to polex, and any character to cosign"
	sameKind    = "what the bundle says of its log entry has to be what the entry says of itself"
	newIssuer   = "the issuer stands in the newer of Fulcio's two extensions alone, which is the one that counts"
)

// TestSecondOpinion: for every case of the corpus about trust, cosign's own code, with the same
// root and identities, has the same verdict, or the case states the cause.
func TestSecondOpinion(t *testing.T) {
	asked, agreed := 0, 0
	for _, c := range corpus(t) {
		if len(c.Expect) != 1 || slices.Contains(notOfTrust, c.Expect[0]) || c.Expect[0] == "malformed" {
			continue
		}
		t.Run(c.Name, func(t *testing.T) {
			theirs := cosignSays(t, c)
			if errors.Is(theirs, errByTheClock) {
				t.Skip(theirs)
			}
			asked++
			agree := (theirs == nil) == (c.Expect[0] == attacks.Verified)
			switch {
			case agree && c.Differs != "":
				t.Errorf("cosign agrees, and the case says that it does not: %v", theirs)
			case !agree && c.Differs == "":
				t.Errorf("%s: we say %s, cosign says %v", c.Title, c.Expect[0], theirs)
			case agree:
				agreed++
			}
		})
	}
	if asked == 0 {
		t.Fatal("cosign was not asked")
	}
	t.Logf("cosign agrees on %d of %d cases; the others say why", agreed, asked)
}

// errByTheClock excludes a verdict that would change with the years.
var errByTheClock = errors.New("without a witness, cosign would judge the certificate by this machine's clock")

// cosignSays verifies every signature of a case with cosign for every authority. It returns nil if
// enough of them have one.
func cosignSays(t *testing.T, c *attacks.Case) error {
	t.Helper()
	doc := must.Get(exception.Parse(c.Input, c.File))(t)
	s := readSeal(t, doc)
	root := must.Get(trust.ParseRoot(c.Root, attacks.RootFile))(t)
	config := configOf(t, c)
	var refusals []error
	counted := 0
	for _, a := range config.Authorities {
		var refused []error
		for _, sig := range s.Signatures {
			if err := cosignCounts(t, root, a, s.Message, sig); err != nil {
				refused = append(refused, err)
			}
		}
		if len(refused) < len(s.Signatures) {
			counted++
		}
		refusals = append(refusals, refused...)
	}
	if counted >= max(config.Threshold, 1) {
		return nil
	}
	return fmt.Errorf("%d authorities: %w", counted, errors.Join(refusals...))
}

// only returns the value of a claim that the policy requires. cosign compares with one value.
func only(a trust.AuthorityConfig, claim string) string {
	if len(a.Claims[claim]) == 0 {
		return ""
	}
	return a.Claims[claim][0]
}

// cosignCounts verifies one signature in each form of its evidence.
func cosignCounts(t *testing.T, root *trust.Root, a trust.AuthorityConfig, message []byte, sig seal.Signature) error {
	t.Helper()
	opts := &cosign.CheckOpts{
		TrustedMaterial: root.Material(), Offline: true, IgnoreSCT: !root.LogsCertificates(), IgnoreTlog: !root.Logs() || a.InsecureWithoutLog,
		CertGithubWorkflowTrigger: only(a, "githubWorkflowTrigger"), CertGithubWorkflowRef: only(a, "githubWorkflowRef"),
		CertGithubWorkflowRepository: only(a, "githubWorkflowRepository"),
	}
	if a.Key != "" {
		key := must.Get(cryptoutils.UnmarshalPEMToPublicKey([]byte(a.Key)))(t)
		opts.SigVerifier = must.Get(signature.LoadVerifier(key, crypto.SHA256))(t)
	} else {
		opts.Identities = []cosign.Identity{{Issuer: a.Issuer, Subject: a.Subject}}
		if a.SubjectRegexp != "" {
			opts.Identities[0].SubjectRegExp = "^(?:" + a.SubjectRegexp + ")$"
		}
	}
	if sig.BundleV03 != nil {
		if err := cosignBundle(opts, root, message, sig.BundleV03); err != nil {
			return err
		}
	}
	if sig.Bundle != nil || sig.BundleV03 == nil {
		return cosignOldForm(t, opts, message, sig)
	}
	return nil
}

func cosignOldForm(t *testing.T, opts *cosign.CheckOpts, message []byte, sig seal.Signature) error {
	t.Helper()
	var parts []static.Option
	if sig.Bundle != nil {
		p := sig.Bundle.Payload
		parts = append(parts, static.WithBundle(&bundle.RekorBundle{SignedEntryTimestamp: sig.Bundle.SignedEntryTimestamp,
			Payload: bundle.RekorPayload{Body: p.Body, IntegratedTime: p.IntegratedTime, LogIndex: p.LogIndex, LogID: p.LogID}}))
	}
	if sig.Certificate != nil {
		if opts.SigVerifier != nil {
			return errors.New("a certificate, where a key is asked for")
		}
		parts = append(parts, static.WithCertChain(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: sig.Certificate}), nil))
	} else if opts.SigVerifier == nil {
		return errors.New("no certificate")
	}
	signed, err := static.NewSignature(message, base64.StdEncoding.EncodeToString(sig.Signature), parts...)
	if err != nil {
		return err
	}
	_, err = cosign.VerifyBlobSignature(t.Context(), signed, opts)
	return err
}

func cosignBundle(opts *cosign.CheckOpts, root *trust.Root, message, raw []byte) error {
	pb := new(protobundle.Bundle)
	if err := protojson.Unmarshal(raw, pb); err != nil {
		return err
	}
	entity, err := sgbundle.NewBundle(pb)
	if err != nil {
		return err
	}
	asked := *opts
	asked.NewBundleFormat = true
	asked.UseSignedTimestamps = root.Timestamps() && len(pb.GetVerificationMaterial().GetTimestampVerificationData().GetRfc3161Timestamps()) > 0
	if asked.IgnoreTlog && !asked.UseSignedTimestamps && asked.SigVerifier == nil {
		return errByTheClock
	}
	_, err = cosign.VerifyNewBundle(context.Background(), &asked, sgverify.WithArtifact(bytes.NewReader(message)), entity)
	return err
}
