package report

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"unicode"

	"github.com/polex-dev/polex/internal/ledger"
)

// fields are the fields of an entry in the other formats, by their path in its JSON. Those that
// auditors need first come first.
var fields = strings.Fields(`
exempted.namespaces exempted.kinds exempted.names exempted.narrowedBy
policies.name policies.rules policies.severity object state
usage.state said.requestedBy said.approvedBy said.ticket said.owner said.reason
signing.signatures.signer signing.signatures.log signing.signatures.logIndex signing.signedAt
startsAt expiresAt signing.messageDigest

version verified said.category said.pullRequest said.mergeCommit said.recordedFrom
signing.signatures.authority signing.signatures.issuer signing.signatures.repository signing.signatures.ref
signing.signatures.commit signing.signatures.run signing.signatures.trigger signing.signatures.runner
signing.signatures.caller signing.signatures.environment signing.signatures.tokenSubject
signing.verdict.reason signing.verdict.detail signing.verdictAtSigning.reason
requestByGit.at requestByGit.by requestByGit.commit requestByGit.file requestByGit.beforeHistory
requestByGit.merged requestByGit.moves
appearedByGit.at appearedByGit.by appearedByGit.commit appearedByGit.beforeHistory
leftByGit.at leftByGit.by leftByGit.commit leftByGit.how inCluster usage.resources
usage.first usage.knownSince usage.why file
renews.object renews.messageDigest renews.number renews.of renewedBy chain.from chain.to`)

// auditorFields is the number of fields that auditors need first.
const auditorFields = 22

// reportFields are those of the report itself, by their path in its JSON.
var reportFields = strings.Fields(`source.repository source.revision source.commit asOf madeAt tool.version
trustPolicy.digest trustPolicy.trustedRoot trustPolicy.threshold trustPolicy.signers`)

// name is that of a field: its path in words, without words that only group others.
func name(path string) string {
	var b strings.Builder
	for key := range strings.SplitSeq(path, ".") {
		if key == "said" || key == "signing" || key == "signatures" {
			continue
		}
		if b.Len() > 0 {
			b.WriteString(": ")
		}
		for i, r := range key {
			if unicode.IsUpper(r) && i > 0 {
				b.WriteByte(' ')
				if !strings.HasPrefix(key[i:], "Git") {
					r = unicode.ToLower(r)
				}
			}
			b.WriteRune(r)
		}
	}
	return b.String()
}

// row is an entry with its JSON. A format makes one row after the other, because all of them would need too much
// memory.
type row struct {
	*ledger.Entry
	json any
}

func rowOf(e *ledger.Entry) row { return row{e, decoded(e)} }

// Values returns the values of a field: one for each policy, signature and set of exempted resources.
func (r row) Values(path string) []string {
	switch path {
	case "policies.name":
		return listOf(r.Policies, ledger.Policy.String)
	case "signing.signatures.signer":
		return listOf(r.Signatures(), func(s ledger.Signature) string {
			name := cmp.Or(s.Subject, "a public key")
			if s.Authority == "" {
				name += ", not in the trust policy"
			}
			return name
		})
	case "renews.of":
		if r.Renews != nil && r.Renews.Of == nil {
			return []string{"not in this history with a valid signature"}
		}
	}
	return lookUp(r.json, path)
}

// Text returns the values of a field in one text, "" if all are empty.
func (r row) Text(path string) string { return joined(r.Values(path)) }

// shown is a field for people: unverified values are marked, and a requester who is not in the
// document is the author of the commit.
func (r row) shown(path string) string {
	if path == "said.requestedBy" && r.Said.RequestedBy == "" && r.Request != nil {
		return marked(r.Request.By, false)
	}
	return marked(r.Text(path), !r.unverified(path))
}

// unverified reports whether nobody vouches for a field of the entry.
func (r row) unverified(path string) bool {
	top, _, _ := strings.Cut(path, ".")
	return !r.Verified && path != "policies.severity" &&
		slices.Contains([]string{"exempted", "policies", "said", "startsAt", "expiresAt"}, top)
}

// marked marks an unverified value with a question mark.
func marked(text string, verified bool) string {
	if text != "" && !verified {
		return "?" + text
	}
	return text
}

// decoded returns the JSON of a value. Values of a report have one.
func decoded(value any) any {
	var into any
	raw, err := json.Marshal(value)
	if err == nil {
		decoder := json.NewDecoder(bytes.NewReader(raw))
		decoder.UseNumber()
		err = decoder.Decode(&into)
	}
	if err != nil {
		panic(err) // a type of this program without a JSON form
	}
	return into
}

// lookUp returns the values at a path of JSON: those of each element of a list on the way, and a list
// or an object at its end in one text.
func lookUp(value any, path string) []string {
	if list, ok := value.([]any); ok && path != "" {
		var values []string
		for _, element := range list {
			values = append(values, lookUp(element, path)...)
		}
		return values
	}
	if path == "" {
		return []string{inWords(value)}
	}
	key, rest, _ := strings.Cut(path, ".")
	object, _ := value.(map[string]any)
	if list, ok := object[key].([]any); ok && rest == "" && len(list) > 0 {
		if _, objects := list[0].(map[string]any); objects {
			return listOf(list, inWords)
		}
	}
	return lookUp(object[key], rest)
}

// inWords writes a value of the JSON: a commit with its time and author, an entry by its name and a
// signer by name and identity.
func inWords(value any) string {
	switch v := value.(type) {
	case nil:
		return ""
	case []any:
		return strings.Join(listOf(v, inWords), ", ")
	case map[string]any:
		switch {
		case v["object"] != nil:
			return inWords(v["object"])
		case v["identity"] != nil:
			return fmt.Sprintf("%s: %s", v["name"], v["identity"])
		case v["from"] != nil:
			return fmt.Sprintf("%s, %s, %s, from %s", inWords(v["at"]), v["by"], v["commit"], v["from"])
		}
		return fmt.Sprintf("%s, %s, %s", inWords(v["at"]), v["by"], v["commit"])
	}
	return fmt.Sprint(value)
}

// joined writes values in one text, "" if all are empty.
func joined(values []string) string {
	text := strings.Join(values, "; ")
	if strings.Trim(text, "; ") == "" {
		return ""
	}
	return text
}

func listOf[T, S any](list []T, get func(T) S) []S {
	all := make([]S, len(list))
	for i, one := range list {
		all[i] = get(one)
	}
	return all
}
