package report

import (
	"encoding/csv"
	"encoding/json"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/polex-dev/polex/internal/ledger"
	"github.com/polex-dev/polex/pkg/exception"
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
	return &Report{Ledger: l, Revision: "main", Totals: l.Sums(0), All: true, Width: 100}
}

// TestRenewalsTold: every format shows the renewals, their number and their duration.
func TestRenewalsTold(t *testing.T) {
	for format, wants := range map[string][]string{
		"table": {`(?m)^renewed most +renewals$`, `(?m)^a/ghost-r5, from 2026-11-21, no expiry +5$`, `(?m)^a/web to a/web-r2, 65d, from 2026-10-13 to 2026-12-17 +2$`,
			`(?m)^by policy, of renewals +open +ever\nprobes +3 +3$`},
		"markdown": {`\| a/web to a/web-r2 \| 65d, from 2026-10-13 to 2026-12-17 \| 2 \|`, `\| policy, of renewals \| open \| ever \|\n\| --- \| ---: \| ---: \|\n\| probes \| 3 \| 3 \|`},
		"html": {`<strong>a/web to a/web-r2</strong> <span class="state open">open</span><br>renewed 2 times; 65d`, `<dt>renews: object</dt><dd>PolicyException.kyverno.io a/web-r1</dd>`,
			`<dt>renewed by</dt><dd>PolicyException.kyverno.io a/web-r2</dd>`, `<dt>renews: number</dt><dd>5</dd>`, `<dt>renews: of</dt><dd>not in this history with a valid signature</dd>`, `By policy, of renewals`},
		"prometheus": {`(?m)^polex_audit_renewals\{group="kyverno.io",namespace="a",name="web-r2"\} 2$`, `(?m)^polex_audit_renewals\{.*name="ghost-r5"\} 5$`,
			`(?m)^polex_audit_chain_start_timestamp_seconds\{.*name="web-r2"\} 1791892800$`, `(?m)^polex_audit_renewals_by_policy\{policy="probes"\} 3$`},
	} {
		out := unbroken.Replace(written(t, format, renewedThrice()))
		for _, want := range wants {
			if !regexp.MustCompile(want).MatchString(out) {
				t.Errorf("%s does not say %s\n%s", format, want, out)
			}
		}
	}
	if out := written(t, "prometheus", renewedThrice()); strings.Contains(out, `polex_audit_renewals{group="kyverno.io",namespace="a",name="web"}`) || strings.Contains(out, `name="web-r2"} 0`) {
		t.Errorf("what was not renewed has been, or what is gone is there\n%s", out)
	}
}

func TestRenewalsInCSV(t *testing.T) {
	rows, err := csv.NewReader(strings.NewReader(written(t, "csv", renewedThrice()))).ReadAll()
	if err != nil {
		t.Fatal(err)
	}
	from := slices.Index(rows[0], "renews: object")
	for i, want := range []string{
		"renews: object,renews: message digest,renews: number,renews: of,renewed by,chain: from,chain: to",
		",,,,PolicyException.kyverno.io a/web-r1,2026-10-13T12:00:00Z,2026-12-17T12:00:00Z",
		"PolicyException.kyverno.io a/web,sha256:" + strings.Repeat("0", 64) + ",1,PolicyException.kyverno.io a/web,PolicyException.kyverno.io a/web-r2,2026-10-13T12:00:00Z,2026-12-17T12:00:00Z",
		"PolicyException.kyverno.io a/web-r1,sha256:" + strings.Repeat("1", 64) + ",2,PolicyException.kyverno.io a/web-r1,,2026-10-13T12:00:00Z,2026-12-17T12:00:00Z",
		"PolicyException.kyverno.io a/ghost,sha256:" + strings.Repeat("f", 64) + ",5,not in this history with a valid signature,,2026-11-21T12:00:00Z,",
	} {
		if got := strings.Join(rows[i][from:from+7], ","); got != want {
			t.Errorf("line %d: %s, want %s", i, got, want)
		}
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
	if err := json.Unmarshal([]byte(written(t, "json", renewedThrice())), &out); err != nil {
		t.Fatal(err)
	}
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
	if out.Entries[0].Renews != nil || out.Sums.Renewals[0].Ever != 3 {
		t.Errorf("%+v, %+v", out.Entries[0].Renews, out.Sums.Renewals)
	}
}

// TestChainInTimeline: the exceptions of a chain share a line and are joined; a single exception is
// not.
func TestChainInTimeline(t *testing.T) {
	drawn, caption := timeline(renewedThrice())
	out := string(drawn)
	if got := strings.Count(out, `class="chain"`); got != 1 {
		t.Errorf("%d chains are drawn", got)
	}
	var lines []string
	for _, bar := range regexp.MustCompile(`<rect class="s-(\w+)( link)?" x="[\d.]+" y="([\d.]+)"[^>]*><title>([^,]*)`).FindAllStringSubmatch(out, -1) {
		lines = append(lines, bar[3]+" "+bar[4]+bar[2])
	}
	if got := strings.Join(lines, ","); got != "33.0 a/web link,33.0 a/web-r1 link,33.0 a/web-r2 link,57.0 a/ghost-r5" {
		t.Errorf("the bars are %s", got)
	}
	if !strings.Contains(caption, "of 4 exceptions") || !strings.Contains(caption, "share a line") || !strings.Contains(out, "renewal 2</title>") {
		t.Errorf("%s\n%s", caption, out)
	}
	alone := &Report{Ledger: &ledger.Ledger{Entries: renewedThrice().Entries[3:], At: renewedThrice().At}}
	if out, caption := timeline(alone); strings.Contains(string(out), "chain") || strings.Contains(caption, "one line") {
		t.Errorf("one alone is a chain: %s", caption)
	}
}
