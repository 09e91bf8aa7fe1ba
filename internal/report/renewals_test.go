package report

import (
	"encoding/csv"
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/polex-dev/polex/internal/ledger"
	"github.com/polex-dev/polex/pkg/exception"
	"github.com/polex-dev/polex/test/expect"
	"github.com/polex-dev/polex/test/must"
)

// renewedThrice is a report with a chain of three, and an exception with an unknown predecessor.
func renewedThrice() *Report {
	now := time.Date(2026, 11, 22, 12, 0, 0, 0, time.UTC)
	l := &ledger.Ledger{Tip: strings.Repeat("a", 40), Commits: 4, At: now}
	kind := exception.GroupKind{Group: exception.KyvernoGroup, Kind: exception.Kind}
	for i, name := range []string{"web", "web-r1", "web-r2", "ghost-r5"} {
		signed := now.AddDate(0, 0, 20*(i-2))
		e := &ledger.Entry{Identity: exception.Identity{GroupKind: kind, Namespace: "a", Name: name}, Version: 1, State: ledger.Open, Verified: true, File: "signed/" + name + ".yaml",
			Policies: []ledger.Policy{{Name: "probes"}}, ExpiresAt: signed.AddDate(0, 0, 25),
			Seal: &ledger.Seal{Now: ledger.Verdict{Holds: true}, AtSigning: ledger.Verdict{Holds: true}, SignedAt: signed, MessageDigest: "sha256:" + strings.Repeat(string(rune('0'+i)), 64)}}
		l.Entries = append(l.Entries, e)
	}
	web, ghost := l.Entries[:3], l.Entries[3]
	web[0].State = ledger.Removed
	c := &ledger.Chain{Entries: web, Renewals: 2, From: web[0].Seal.SignedAt, To: web[2].ExpiresAt}
	for i, e := range web {
		e.Chain = c
		if i > 0 {
			e.Renews = &ledger.Renewal{Renewal: exception.Renewal{Name: web[i-1].Identity.Name, Digest: web[i-1].Seal.MessageDigest, Number: i}, Of: web[i-1]}
			web[i-1].RenewedBy = []*ledger.Entry{e}
		}
	}
	ghost.Seal.SignedAt, ghost.ExpiresAt = now.AddDate(0, 0, -1), time.Time{}
	ghost.Renews = &ledger.Renewal{Renewal: exception.Renewal{Name: "ghost", Digest: "sha256:" + strings.Repeat("f", 64), Number: 5}}
	ghost.Chain = &ledger.Chain{Entries: l.Entries[3:], Renewals: 5, From: ghost.Seal.SignedAt}
	l.Chains = []*ledger.Chain{ghost.Chain, c}
	return &Report{Ledger: l, Revision: "main", Totals: l.Sums(), All: true}
}

// TestRenewalsTold: every format shows the renewals, their number and their duration.
func TestRenewalsTold(t *testing.T) {
	for format, wants := range map[string][]string{
		"table": {`(?m)^renewed most +how long +renewals$`, `(?m)^a/ghost-r5 +from 2026-11-21, no expiry +5$`, `(?m)^a/web to a/web-r2 +65d, from 2026-10-13 to 2026-12-17 +2$`,
			`(?m)^by policy, of renewals +open +ever\nprobes +3 +3$`},
		"markdown": {`\| a/web to a/web-r2 \| 65d, from 2026-10-13 to 2026-12-17 \| 2 \|`, `\| by policy, of renewals \| open \| ever \|\n\| --- \| --- \| --- \|\n\| probes \| 3 \| 3 \|`},
		"html": {`<th scope="row">a/web to a/web-r2</th><td>65d, from 2026-10-13 to 2026-12-17</td><td>2</td>`, `<dt>renews: object</dt><dd>PolicyException.kyverno.io a/web-r1</dd>`,
			`<dt>renewed by</dt><dd>PolicyException.kyverno.io a/web-r2</dd>`, `<dt>renews: number</dt><dd>5</dd>`, `<dt>renews: of</dt><dd>not in this history with a valid signature</dd>`, `by policy, of renewals`},
		"prometheus": {`(?m)^polex_audit_renewals\{group="kyverno.io",namespace="a",name="web-r2"\} 2$`, `(?m)^polex_audit_renewals\{.*name="ghost-r5"\} 5$`,
			`(?m)^polex_audit_chain_start_timestamp_seconds\{.*name="web-r2"\} 1791892800$`, `(?m)^polex_audit_renewals_by_policy\{policy="probes"\} 3$`},
	} {
		out := unbroken.Replace(written(t, format, renewedThrice()))
		for _, want := range wants {
			expect.That(t, regexp.MustCompile(want).MatchString(out), "%s does not say %s\n%s", format, want, out)
		}
	}
	if out := written(t, "prometheus", renewedThrice()); strings.Contains(out, `polex_audit_renewals{group="kyverno.io",namespace="a",name="web"}`) || strings.Contains(out, `name="web-r2"} 0`) {
		t.Errorf("what was not renewed has been, or what is gone is there\n%s", out)
	}
}

func TestRenewalsInCSV(t *testing.T) {
	rows := must.Get(csv.NewReader(strings.NewReader(written(t, "csv", renewedThrice()))).ReadAll())(t)
	from := slices.Index(rows[0], "renews: object")
	for i, want := range []string{
		"renews: object,renews: message digest,renews: number,renews: of,renewed by,chain: from,chain: to",
		",,,,PolicyException.kyverno.io a/web-r1,2026-10-13T12:00:00Z,2026-12-17T12:00:00Z",
		"PolicyException.kyverno.io a/web,sha256:" + strings.Repeat("0", 64) + ",1,PolicyException.kyverno.io a/web,PolicyException.kyverno.io a/web-r2,2026-10-13T12:00:00Z,2026-12-17T12:00:00Z",
		"PolicyException.kyverno.io a/web-r1,sha256:" + strings.Repeat("1", 64) + ",2,PolicyException.kyverno.io a/web-r1,,2026-10-13T12:00:00Z,2026-12-17T12:00:00Z",
		"PolicyException.kyverno.io a/ghost,sha256:" + strings.Repeat("f", 64) + ",5,not in this history with a valid signature,,2026-11-21T12:00:00Z,",
	} {
		expect.Is(t, fmt.Sprintf("line %d", i), want, strings.Join(rows[i][from:from+7], ","))
	}
}

func TestRenewalsInJSON(t *testing.T) {
	type named struct {
		Object  string
		Version int
	}
	type chain struct {
		First, Last named
		Renewals    int
		To          string
		Seconds     *int64
	}
	var out struct {
		Entries []struct {
			Renews *struct {
				Object string
				Number int
				Of     *named
			}
			RenewedBy []named
			Chain     *chain
		}
		Sums struct {
			Chains   []chain
			Renewals []struct{ Ever int }
		}
	}
	must.Do(t, json.Unmarshal([]byte(written(t, "json", renewedThrice())), &out))
	second, ghost := out.Entries[1], out.Entries[3]
	if r := second.Renews; r == nil || r.Number != 1 || r.Object != "PolicyException.kyverno.io a/web" || r.Of == nil || r.Of.Version != 1 || len(second.RenewedBy) != 1 || second.RenewedBy[0].Object != "PolicyException.kyverno.io a/web-r2" {
		t.Errorf("%+v", second)
	}
	if ghost.Renews.Of != nil || ghost.Chain.Seconds != nil || ghost.Chain.To != "" || ghost.Chain.Renewals != 5 {
		t.Errorf("%+v", ghost)
	}
	if c := out.Sums.Chains; len(c) != 2 || c[1].First.Object != "PolicyException.kyverno.io a/web" || c[1].Last.Object != "PolicyException.kyverno.io a/web-r2" || *c[1].Seconds != 65*24*60*60 {
		t.Errorf("%+v", c)
	}
	expect.That(t, out.Entries[0].Renews == nil && out.Sums.Renewals[0].Ever == 3,
		"%+v, %+v", out.Entries[0].Renews, out.Sums.Renewals)
}

// TestTimeline: the exceptions of a chain share a line, in the order of their start, and the chains of files that
// exist come first. A bar ends at the removal, and one without expiry has no end in words.
func TestTimeline(t *testing.T) {
	v := renewedThrice()
	v.Entries[0].Left = &ledger.Departure{Event: ledger.Event{At: v.At.AddDate(0, 0, -30)}}
	alone := *v.Entries[3]
	alone.Chain, alone.Renews, alone.State, alone.StartsAt = nil, nil, ledger.Removed, v.At
	unverified := alone
	unverified.Verified = false
	v.Entries = append(v.Entries, &alone, &unverified)
	var got []string
	drawn := timelineOf(v)
	for _, l := range drawn.Lines {
		line := approval(l.Last)
		for _, b := range l.Bars {
			line += fmt.Sprintf(" | %s %.0f+%.0f", b.Words, b.X, b.Width)
		}
		got = append(got, line)
	}
	want := []string{
		"a/web-r2 | a/web, removed: from 2026-10-13 until 2026-10-23 0+143" +
			" | a/web-r1, open: from 2026-11-02 until 2026-11-27, renewal 1 286+357" +
			" | a/web-r2, open: from 2026-11-22 until 2026-12-17, renewal 2 571+357",
		"a/ghost-r5 | a/ghost-r5, open: from 2026-11-21 no expiry, renewal 5 557+443",
		"a/ghost-r5 | a/ghost-r5, removed: from 2026-11-22 no expiry 571+429",
	}
	expect.That(t, slices.Equal(got, want),
		"the timeline is\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	if c := "From the signature to the expiry of 5 exceptions; the line is 2026-11-22. Renewals share a line"; drawn.Caption != c ||
		drawn.From+" "+drawn.To != "2026-10-13 2026-12-22" || fmt.Sprintf("%.0f", drawn.Now) != "571" {
		t.Errorf("%s: %s to %s, %f", drawn.Caption, drawn.From, drawn.To, drawn.Now)
	}
	v.Entries = v.Entries[5:]
	expect.That(t, timelineOf(v) == nil, "an unverified exception is drawn")
}
