package report

import (
	"encoding/json"
	"io"
	"time"

	"github.com/polex-dev/polex/internal/ledger"
)

// The form of the JSON, which docs/ledger.schema.json describes.
type (
	jsonLedger struct {
		APIVersion string        `json:"apiVersion"`
		Kind       string        `json:"kind"`
		Tool       jsonTool      `json:"tool"`
		Source     jsonSource    `json:"source"`
		At         string        `json:"at"`
		Cluster    *jsonCluster  `json:"cluster,omitempty"`
		Summary    jsonSummary   `json:"summary"`
		Sums       jsonSums      `json:"sums"`
		Findings   []jsonFinding `json:"findings"`
		Entries    []jsonEntry   `json:"entries"`
	}
	jsonTool struct {
		Name    string `json:"name"`
		Version string `json:"version"`
	}
	jsonSource struct {
		Revision    string `json:"revision"`
		Commit      string `json:"commit,omitempty"`
		FirstCommit string `json:"firstCommit,omitempty"`
		Commits     int    `json:"commits"`
		Merged      int    `json:"mergedCommits"`
		Shallow     bool   `json:"shallow"`
	}
	jsonCluster struct {
		Objects int `json:"objects"`
	}
	jsonSummary struct {
		States   map[ledger.State]int `json:"states"`
		Findings int                  `json:"findings"`
		Failed   []string             `json:"failed"`
		Status   int                  `json:"exitStatus"`
	}
	jsonCount struct {
		Name string `json:"name"`
		Open int    `json:"open"`
		Ever int    `json:"ever"`
	}
	jsonWait struct {
		Seconds int64 `json:"medianSeconds"`
		Of      int   `json:"of"`
		LeftOut int   `json:"leftOut"`
	}
	jsonSums struct {
		Policies   []jsonCount `json:"policies"`
		Rules      []jsonCount `json:"rules"`
		Namespaces []jsonCount `json:"namespaces"`
		Owners     []jsonCount `json:"owners"`
		Ages       []jsonCount `json:"ages"`
		Often      []jsonCount `json:"exceptedOften"`
		Renewals   []jsonCount `json:"renewals"`
		Chains     []jsonChain `json:"chains"`
		Wait       jsonWait    `json:"requestToSignature"`
		NotCounted int         `json:"notCounted"`
	}
	jsonFinding struct {
		Kind    ledger.Kind `json:"kind"`
		Object  string      `json:"object,omitempty"`
		File    string      `json:"file,omitempty"`
		Commit  string      `json:"commit,omitempty"`
		Message string      `json:"message"`
		Hint    string      `json:"hint,omitempty"`
	}
	jsonEntry struct {
		Object    string            `json:"object"`
		Group     string            `json:"group"`
		Kind      string            `json:"kind"`
		Namespace string            `json:"namespace"`
		Name      string            `json:"name"`
		Version   int               `json:"version"`
		State     ledger.State      `json:"state"`
		File      string            `json:"file"`
		Verified  bool              `json:"verified"`
		Policies  []jsonPolicy      `json:"policies"`
		Said      map[string]string `json:"said"`
		StartsAt  string            `json:"startsAt,omitempty"`
		ExpiresAt string            `json:"expiresAt,omitempty"`
		Seal      *jsonSeal         `json:"seal,omitempty"`
		Request   *jsonRequest      `json:"requestByGit,omitempty"`
		Appeared  *jsonAppearance   `json:"appearedByGit,omitempty"`
		Left      *jsonDeparture    `json:"leftByGit,omitempty"`
		Returned  bool              `json:"returned,omitempty"`
		Cluster   ledger.Presence   `json:"inCluster,omitempty"`
		Renews    *jsonRenewal      `json:"renews,omitempty"`
		RenewedBy []jsonApproval    `json:"renewedBy,omitempty"`
		Chain     *jsonChain        `json:"chain,omitempty"`
	}
	// jsonApproval names an entry.
	jsonApproval struct {
		Object  string `json:"object"`
		Version int    `json:"version"`
	}
	jsonRenewal struct {
		Object string        `json:"object"`
		Digest string        `json:"messageDigest"`
		Number int           `json:"number"`
		Of     *jsonApproval `json:"of,omitempty"`
	}
	jsonChain struct {
		First    jsonApproval `json:"first"`
		Last     jsonApproval `json:"last"`
		Renewals int          `json:"renewals"`
		From     string       `json:"from,omitempty"`
		To       string       `json:"to,omitempty"`
		Seconds  *int64       `json:"seconds,omitempty"`
	}
	jsonPolicy struct {
		Kind  string   `json:"kind,omitempty"`
		Name  string   `json:"name"`
		Rules []string `json:"rules,omitempty"`
	}
	jsonVerdict struct {
		Holds  bool   `json:"holds"`
		Reason string `json:"reason,omitempty"`
		Detail string `json:"detail,omitempty"`
	}
	jsonSeal struct {
		Now        jsonVerdict     `json:"now"`
		AtSigning  jsonVerdict     `json:"atSigning"`
		Digest     string          `json:"messageDigest,omitempty"`
		SignedAt   string          `json:"signedAt,omitempty"`
		Signatures []jsonSignature `json:"signatures"`
	}
	jsonSignature struct {
		Authority   string `json:"authority"`
		Subject     string `json:"subject,omitempty"`
		Issuer      string `json:"issuer,omitempty"`
		Run         string `json:"run,omitempty"`
		Trigger     string `json:"trigger,omitempty"`
		Source      string `json:"repository,omitempty"`
		Ref         string `json:"ref,omitempty"`
		Commit      string `json:"commit,omitempty"`
		Runner      string `json:"runner,omitempty"`
		WitnessedAt string `json:"witnessedAt,omitempty"`
		Log         string `json:"log,omitempty"`
		LogIndex    *int64 `json:"logIndex,omitempty"`
	}
	jsonEvent struct {
		Commit string `json:"commit"`
		By     string `json:"by"`
		At     string `json:"at,omitempty"`
	}
	jsonRequest struct {
		jsonEvent
		File   string     `json:"file"`
		Merged *jsonEvent `json:"merged,omitempty"`
		Before bool       `json:"beforeHistory,omitempty"`
	}
	jsonAppearance struct {
		jsonEvent
		Before bool `json:"beforeHistory,omitempty"`
	}
	jsonDeparture struct {
		jsonEvent
		How ledger.How `json:"how"`
	}
)

// JSON writes all of it, in the form that docs/ledger.schema.json describes.
func JSON(w io.Writer, v *Report) error {
	out := jsonLedger{
		APIVersion: "polex.dev/v1alpha1", Kind: "Ledger", Tool: jsonTool{"polex-audit", v.Version},
		Source:   jsonSource{v.Revision, v.Tip, v.Root, v.Commits, v.Merged, v.Shallow},
		At:       clock(v.At),
		Summary:  jsonSummary{v.States(), len(v.Findings), v.Failed, v.Status},
		Findings: []jsonFinding{}, Entries: []jsonEntry{},
		Sums: jsonSums{
			Policies: counts(v.Totals.Policies), Rules: counts(v.Totals.Rules), Namespaces: counts(v.Totals.Namespaces), Owners: counts(v.Totals.Owners),
			Ages: counts(v.Totals.Ages), Often: counts(v.Totals.Often), Renewals: counts(v.Totals.Renewals), Chains: []jsonChain{}, NotCounted: v.Totals.NotCounted,
			Wait: jsonWait{int64(v.Totals.Wait / time.Second), v.Totals.Of, v.Totals.LeftOut},
		},
	}
	if out.Summary.Failed == nil {
		out.Summary.Failed = []string{}
	}
	if v.Compared {
		out.Cluster = &jsonCluster{v.Objects}
	}
	for _, f := range v.Findings {
		out.Findings = append(out.Findings, jsonFinding(f))
	}
	for _, c := range v.Chains {
		out.Sums.Chains = append(out.Sums.Chains, jsonChainOf(c))
	}
	for _, e := range v.Entries {
		out.Entries = append(out.Entries, jsonOf(e))
	}
	enc := json.NewEncoder(w)
	enc.SetIndent("", "  ")
	return enc.Encode(out)
}

func counts(from []ledger.Count) []jsonCount {
	all := make([]jsonCount, len(from))
	for i, c := range from {
		all[i] = jsonCount(c)
	}
	return all
}

func jsonOf(e *ledger.Entry) jsonEntry {
	out := jsonEntry{
		Object: e.Identity.String(), Group: e.Identity.Group, Kind: e.Identity.Kind, Namespace: e.Identity.Namespace, Name: e.Identity.Name,
		Version: e.Version, State: e.State, File: e.File, Verified: e.Verified, Policies: []jsonPolicy{}, Said: map[string]string{},
		StartsAt: clock(e.StartsAt), ExpiresAt: clock(e.ExpiresAt), Returned: e.Returned, Cluster: e.Cluster,
	}
	for _, p := range e.Policies {
		out.Policies = append(out.Policies, jsonPolicy(p))
	}
	for _, s := range said(e) {
		if s.text != "" {
			out.Said[s.key] = s.text
		}
	}
	if e.Seal != nil {
		out.Seal = &jsonSeal{jsonVerdict(e.Seal.Now), jsonVerdict(e.Seal.AtSigning), e.Seal.MessageDigest, clock(e.Seal.SignedAt), []jsonSignature{}}
		for _, s := range e.Seal.Signatures {
			out.Seal.Signatures = append(out.Seal.Signatures, jsonSignatureOf(s))
		}
	}
	if e.Request != nil {
		out.Request = &jsonRequest{jsonEventOf(e.Request.Event), e.Request.File, nil, e.Request.Before}
		if e.Request.Merged != nil {
			merged := jsonEventOf(*e.Request.Merged)
			out.Request.Merged = &merged
		}
	}
	if e.Appeared != nil {
		out.Appeared = &jsonAppearance{jsonEventOf(e.Appeared.Event), e.Appeared.Before}
	}
	if e.Left != nil {
		out.Left = &jsonDeparture{jsonEventOf(e.Left.Event), e.Left.How}
	}
	if e.Renews != nil {
		out.Renews = &jsonRenewal{predecessor(e), e.Renews.Digest, e.Renews.Number, nil}
		if e.Renews.Of != nil {
			of := jsonApprovalOf(e.Renews.Of)
			out.Renews.Of = &of
		}
	}
	for _, successor := range e.RenewedBy {
		out.RenewedBy = append(out.RenewedBy, jsonApprovalOf(successor))
	}
	if e.Chain != nil {
		chain := jsonChainOf(e.Chain)
		out.Chain = &chain
	}
	return out
}

func jsonApprovalOf(e *ledger.Entry) jsonApproval {
	return jsonApproval{e.Identity.String(), e.Version}
}

func jsonChainOf(c *ledger.Chain) jsonChain {
	out := jsonChain{jsonApprovalOf(c.First()), jsonApprovalOf(c.Last()), c.Renewals, clock(c.From), clock(c.To), nil}
	if length, known := c.Length(); known {
		seconds := int64(length / time.Second)
		out.Seconds = &seconds
	}
	return out
}

func jsonSignatureOf(s ledger.Signature) jsonSignature {
	out := jsonSignature{s.Authority, s.Subject, s.Issuer, s.Run, s.Trigger, s.Source, s.Ref, s.Commit, s.Runner, clock(s.WitnessedAt), s.LogURL, nil}
	if s.LogIndex >= 0 {
		out.LogIndex = &s.LogIndex
	}
	return out
}

func jsonEventOf(e ledger.Event) jsonEvent { return jsonEvent{e.Commit, e.By, clock(e.At)} }

// statement is something that an exception says.
type statement struct{ key, label, text string }

func said(e *ledger.Entry) []statement {
	return []statement{
		{"reason", "reason", e.Said.Reason}, {"ticket", "ticket", e.Said.Ticket}, {"owner", "owner", e.Said.Owner}, {"category", "category", e.Said.Category},
		{"requestedBy", "requested by", e.Said.RequestedBy}, {"approvedBy", "approved by", e.Said.ApprovedBy}, {"pullRequest", "pull request", e.Said.PullRequest},
		{"mergeCommit", "merge commit", e.Said.MergeCommit}, {"recordedFrom", "recorded from", e.Said.RecordedFrom},
	}
}
