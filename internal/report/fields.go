package report

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"unicode"

	"github.com/polex-dev/polex/internal/ledger"
)

// field is a field of an entry, in all formats. Its name is its path in the JSON, in words.
type field struct {
	path string
	// values are all of them: one for each policy, signature and set of exempted resources.
	values func(*ledger.Entry) []string
}

// The fields. Those that auditors need first come first.
var fields = slices.Concat(
	[]field{
		exempted("namespaces", func(x ledger.Exempted) []string { return x.Namespaces }),
		exempted("kinds", func(x ledger.Exempted) []string { return x.Kinds }),
		exempted("names", func(x ledger.Exempted) []string { return x.Names }),
		exempted("narrowedBy", func(x ledger.Exempted) []string { return x.NarrowedBy }),
		{"policies.name", func(e *ledger.Entry) []string { return listOf(e.Policies, ledger.Policy.String) }},
		{"policies.rules", func(e *ledger.Entry) []string {
			return listOf(e.Policies, func(p ledger.Policy) string { return strings.Join(p.Rules, ", ") })
		}},
		{"policies.severity", func(e *ledger.Entry) []string {
			return listOf(e.Policies, func(p ledger.Policy) string { return p.Severity })
		}},
		text("object", func(e *ledger.Entry) string { return e.Identity.String() }),
		text("state", func(e *ledger.Entry) string { return string(e.State) }),
		said("requestedBy", func(s ledger.Said) string { return s.RequestedBy }),
		said("approvedBy", func(s ledger.Said) string { return s.ApprovedBy }),
		said("ticket", func(s ledger.Said) string { return s.Ticket }),
		said("owner", func(s ledger.Said) string { return s.Owner }),
		said("reason", func(s ledger.Said) string { return s.Reason }),
		signed("signer", func(s ledger.Signature) string {
			signer := cmp.Or(s.Subject, "a public key")
			if s.Authority == "" {
				signer += ", not in the trust policy"
			}
			return signer
		}),
		signed("log", func(s ledger.Signature) string { return s.LogURL }),
		signed("logIndex", func(s ledger.Signature) string {
			if s.LogIndex < 0 {
				return ""
			}
			return strconv.FormatInt(int64(s.LogIndex), 10)
		}),
		signing("signedAt", func(s *ledger.Seal) string { return clock(s.SignedAt) }),
		text("startsAt", func(e *ledger.Entry) string { return clock(e.StartsAt) }),
		text("expiresAt", func(e *ledger.Entry) string { return clock(e.ExpiresAt) }),
		signing("messageDigest", func(s *ledger.Seal) string { return s.MessageDigest }),

		text("version", func(e *ledger.Entry) string { return strconv.Itoa(e.Version) }),
		text("verified", func(e *ledger.Entry) string { return strconv.FormatBool(e.Verified) }),
		said("category", func(s ledger.Said) string { return s.Category }),
		said("pullRequest", func(s ledger.Said) string { return s.PullRequest }),
		said("mergeCommit", func(s ledger.Said) string { return s.MergeCommit }),
		said("recordedFrom", func(s ledger.Said) string { return s.RecordedFrom }),
		signed("authority", func(s ledger.Signature) string { return s.Authority }),
		signed("issuer", func(s ledger.Signature) string { return s.Issuer }),
		signed("repository", func(s ledger.Signature) string { return s.Source }),
		signed("ref", func(s ledger.Signature) string { return s.Ref }),
		signed("commit", func(s ledger.Signature) string { return s.Commit }),
		signed("run", func(s ledger.Signature) string { return s.Run }),
		signed("trigger", func(s ledger.Signature) string { return s.Trigger }),
		signed("runner", func(s ledger.Signature) string { return s.Runner }),
		signed("caller", func(s ledger.Signature) string { return s.Caller }),
		signed("environment", func(s ledger.Signature) string { return s.Environment }),
		signed("tokenSubject", func(s ledger.Signature) string { return s.TokenSubject }),
		signing("verdict.reason", func(s *ledger.Seal) string { return s.Now.Reason }),
		signing("verdict.detail", func(s *ledger.Seal) string { return s.Now.Detail }),
		signing("verdictAtSigning.reason", func(s *ledger.Seal) string { return s.AtSigning.Reason }),
	},
	byGit("requestByGit", func(e *ledger.Entry) ledger.Event { return request(e).Event }),
	[]field{
		text("requestByGit.file", func(e *ledger.Entry) string { return request(e).File }),
		text("requestByGit.beforeHistory", func(e *ledger.Entry) string { return ifTrue(request(e).Before) }),
		text("requestByGit.merged", func(e *ledger.Entry) string {
			if request(e).Merged == nil {
				return ""
			}
			return event(*request(e).Merged)
		}),
		{"requestByGit.moves", func(e *ledger.Entry) []string {
			return listOf(request(e).Moves, func(m ledger.Move) string { return event(m.Event) + ", from " + m.From })
		}},
	},
	byGit("appearedByGit", func(e *ledger.Entry) ledger.Event { return appeared(e).Event }),
	[]field{
		text("appearedByGit.beforeHistory", func(e *ledger.Entry) string { return ifTrue(appeared(e).Before) }),
	},
	byGit("leftByGit", func(e *ledger.Entry) ledger.Event { return left(e).Event }),
	[]field{
		text("leftByGit.how", func(e *ledger.Entry) string { return string(left(e).How) }),
		text("inCluster", func(e *ledger.Entry) string { return string(e.Cluster) }),
		text("file", func(e *ledger.Entry) string { return e.File }),
		renewed("object", func(e *ledger.Entry) string { return e.Predecessor().String() }),
		renewed("messageDigest", func(e *ledger.Entry) string { return e.Renews.Digest }),
		renewed("number", func(e *ledger.Entry) string { return strconv.Itoa(e.Renews.Number) }),
		renewed("of", func(e *ledger.Entry) string {
			if e.Renews.Of == nil {
				return "not in this history with a valid signature"
			}
			return e.Renews.Of.Identity.String()
		}),
		{"renewedBy", func(e *ledger.Entry) []string {
			return listOf(e.RenewedBy, func(after *ledger.Entry) string { return after.Identity.String() })
		}},
		text("chain.from", func(e *ledger.Entry) string { return clock(chain(e).From) }),
		text("chain.to", func(e *ledger.Entry) string { return clock(chain(e).To) }),
	},
)

// asked is the number of fields that auditors need first.
const asked = 21

// reportFields are those of the report itself.
var reportFields = []struct {
	path   string
	values func(*Report) []string
}{
	{"source.repository", func(v *Report) []string { return []string{v.Repository} }},
	{"source.revision", func(v *Report) []string { return []string{v.Revision} }},
	{"source.commit", func(v *Report) []string { return []string{v.Tip} }},
	{"asOf", func(v *Report) []string { return []string{clock(v.At)} }},
	{"madeAt", func(v *Report) []string { return []string{clock(v.MadeAt)} }},
	{"tool.version", func(v *Report) []string { return []string{v.Version} }},
	{"trustPolicy.digest", func(v *Report) []string { return []string{v.Trust.Digest} }},
	{"trustPolicy.trustedRoot", func(v *Report) []string { return []string{v.Trust.Root} }},
	{"trustPolicy.threshold", func(v *Report) []string { return []string{strconv.Itoa(v.Trust.Threshold)} }},
	{"trustPolicy.signers", func(v *Report) []string {
		return listOf(v.Trust.Signers, func(s Signer) string { return s.Name + ": " + s.Identity })
	}},
}

// name is that of a field: its path in words, without what only groups others.
func name(path string) string {
	var words []string
	for key := range strings.SplitSeq(path, ".") {
		if key == "said" || key == "signing" || key == "signatures" {
			continue
		}
		var b strings.Builder
		for _, r := range strings.Replace(key, "Git", " Git", 1) {
			if unicode.IsUpper(r) && !strings.HasSuffix(b.String(), " ") {
				b.WriteByte(' ')
				r = unicode.ToLower(r)
			}
			b.WriteRune(r)
		}
		words = append(words, b.String())
	}
	return strings.Join(words, ": ")
}

// claimed reports whether nobody vouches for a field of an entry.
func (f field) claimed(e *ledger.Entry) bool {
	top, _, _ := strings.Cut(f.path, ".")
	return !e.Verified && f.path != "policies.severity" && (top == "exempted" || top == "policies" || top == "said" || top == "startsAt" || top == "expiresAt")
}

// shown is a field for people: what nobody vouches for has a mark, and a requester who is not
// in the document is the author by Git.
func (f field) shown(e *ledger.Entry) string {
	if f.path == "said.requestedBy" {
		who, signed := askedBy(e)
		return claimed(who, signed)
	}
	return claimed(joined(f.values(e)), !f.claimed(e))
}

func fieldAt(path string) field {
	return fields[slices.IndexFunc(fields, func(f field) bool { return f.path == path })]
}

// of returns the values of an entry in one text.
func of(path string, e *ledger.Entry) string { return joined(fieldAt(path).values(e)) }

// joined writes values in one text, "" if none of them says anything.
func joined(values []string) string {
	text := strings.Join(values, "; ")
	if strings.Trim(text, "; ") == "" {
		return ""
	}
	return text
}

func listOf[T, S any](list []T, say func(T) S) []S {
	texts := make([]S, len(list))
	for i, one := range list {
		texts[i] = say(one)
	}
	return texts
}

func text(path string, get func(*ledger.Entry) string) field {
	return field{path, func(e *ledger.Entry) []string { return []string{get(e)} }}
}

func exempted(key string, get func(ledger.Exempted) []string) field {
	return field{"exempted." + key, func(e *ledger.Entry) []string {
		return listOf(e.Exempted, func(x ledger.Exempted) string { return strings.Join(get(x), ", ") })
	}}
}

func signed(key string, get func(ledger.Signature) string) field {
	return field{"signing.signatures." + key, func(e *ledger.Entry) []string { return listOf(sealOf(e).Signatures, get) }}
}

func said(key string, get func(ledger.Said) string) field {
	return text("said."+key, func(e *ledger.Entry) string { return get(e.Said) })
}

func signing(key string, get func(*ledger.Seal) string) field {
	return text("signing."+key, func(e *ledger.Entry) string { return get(sealOf(e)) })
}

// byGit are the fields of a commit.
func byGit(key string, get func(*ledger.Entry) ledger.Event) []field {
	return []field{
		text(key+".at", func(e *ledger.Entry) string { return clock(get(e).At) }),
		text(key+".by", func(e *ledger.Entry) string { return get(e).By }),
		text(key+".commit", func(e *ledger.Entry) string { return get(e).Commit }),
	}
}

func renewed(key string, get func(*ledger.Entry) string) field {
	return text("renews."+key, func(e *ledger.Entry) string {
		if e.Renews == nil {
			return ""
		}
		return get(e)
	})
}

func sealOf(e *ledger.Entry) *ledger.Seal         { return cmp.Or(e.Seal, &ledger.Seal{}) }
func request(e *ledger.Entry) *ledger.Request     { return cmp.Or(e.Request, &ledger.Request{}) }
func appeared(e *ledger.Entry) *ledger.Appearance { return cmp.Or(e.Appeared, &ledger.Appearance{}) }
func left(e *ledger.Entry) *ledger.Departure      { return cmp.Or(e.Left, &ledger.Departure{}) }
func chain(e *ledger.Entry) *ledger.Chain         { return cmp.Or(e.Chain, &ledger.Chain{}) }

func event(e ledger.Event) string { return fmt.Sprintf("%s, %s, %s", clock(e.At), e.By, e.Commit) }

func ifTrue(is bool) string {
	if is {
		return "true"
	}
	return ""
}
