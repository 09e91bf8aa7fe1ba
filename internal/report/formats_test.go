package report

import (
	"bytes"
	"encoding/csv"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/prometheus/client_golang/prometheus/testutil/promlint"

	"github.com/polex-dev/polex/internal/ledger"
	"github.com/polex-dev/polex/internal/usage"
	"github.com/polex-dev/polex/pkg/exception"
	"github.com/polex-dev/polex/test/expect"
	"github.com/polex-dev/polex/test/must"
)

// hostile is text that an attacker may write into any free text.
const hostile = "=HYPERLINK(\"http://evil.example\")</style><script>fetch('http://evil.example/x')</script><img src=http://evil.example/i onerror=alert(1)>\"' onload=alert(2) \n::error::x\u202e\x1b[31m|`@everyone` [a](http://evil.example)"

// large is a report of many exceptions in all states, with hostile texts.
func large(n int) *Report {
	now := time.Date(2026, 11, 22, 12, 0, 0, 0, time.UTC)
	l := &ledger.Ledger{Tip: strings.Repeat("a", 40), Root: strings.Repeat("b", 40), Commits: 3 * n, Merged: n, At: now}
	states := ledger.States()
	unverified := []ledger.State{ledger.Altered, ledger.Unsigned, ledger.Unverified, ledger.NeverSigned}
	for i := range n {
		name := fmt.Sprintf("mongo-%03d", i)
		signed := now.AddDate(0, 0, -3*i%500)
		e := &ledger.Entry{Identity: exception.Identity{GroupKind: exception.GroupKind{Group: exception.KyvernoGroup, Kind: exception.Kind}, Namespace: fmt.Sprintf("team-%d", i%7), Name: name},
			Version: 1, State: states[i%len(states)], File: "signed/" + name + ".yaml", Verified: !slices.Contains(unverified, states[i%len(states)]),
			Exempted:  []ledger.Exempted{{Scope: usage.Scope{Namespaces: []string{fmt.Sprintf("payments-%d", i%5)}, Kinds: []string{"Deployment", "Pod"}, Names: []string{"web-" + name + "-*"}}, NarrowedBy: []string{"labels app=web"}}},
			Policies:  []ledger.Policy{{Name: fmt.Sprintf("require-run-as-nonroot-%d", i%15), Rules: []string{"run-as-non-root", "autogen-run-as-non-root"}, Severity: []string{"high", "medium", "unknown"}[i%3]}},
			Said:      ledger.Said{Reason: "the vendor's image runs as root until its next release", Owner: fmt.Sprintf("team-%d", i%7), RequestedBy: "grace", ApprovedBy: "heidi, ivan", Ticket: fmt.Sprintf("SEC-%d", 1000+i)},
			ExpiresAt: signed.AddDate(0, 0, 30+i%60), Request: &ledger.Request{Event: ledger.Event{Commit: strings.Repeat("c", 40), By: "Grace <grace@example.com>", At: signed.Add(-5 * time.Hour)}, File: "unsigned/" + name + ".yaml"},
		}
		if e.State == ledger.Waiting || e.State == ledger.Dropped {
			e.Version, e.Verified = 0, false
		} else {
			e.Seal = &ledger.Seal{Now: ledger.Verdict{Holds: e.State == ledger.Open}, AtSigning: ledger.Verdict{Holds: e.Verified}, SignedAt: signed, MessageDigest: fmt.Sprintf("sha256:%064x", 7777*i+1),
				Signatures: []ledger.Signature{{Authority: "merge", Subject: "https://github.com/acme/exceptions/.github/workflows/merge.yaml@refs/heads/main", Issuer: "https://token.actions.githubusercontent.com",
					Run: "https://github.com/acme/exceptions/actions/runs/1/attempts/1", Commit: strings.Repeat("d", 40), WitnessedAt: signed, LogURL: "https://rekor.example.com", LogIndex: ledger.LogIndex(910_000_000 + i)}}}
			e.Appeared = &ledger.Appearance{Event: ledger.Event{Commit: strings.Repeat("e", 40), By: "Workflow <w@example.com>", At: signed}}
		}
		if !e.State.Here() {
			e.Left = &ledger.Departure{Event: ledger.Event{Commit: strings.Repeat("f", 40), By: "Ann <ann@example.com>", At: signed.AddDate(0, 0, 20)}, How: ledger.Withdrawn}
		}
		if i%5 == 0 {
			e.Identity.Name, e.Said = hostile, ledger.Said{Reason: hostile, Ticket: hostile, Owner: hostile, ApprovedBy: hostile, RequestedBy: hostile, PullRequest: hostile}
			e.Policies[0].Name, e.File, e.Request.By = hostile, hostile, hostile
			e.Exempted[0] = ledger.Exempted{Scope: usage.Scope{Namespaces: []string{"a", hostile}, Kinds: []string{hostile}, Names: []string{hostile}}, NarrowedBy: []string{hostile}}
			if e.Seal != nil {
				e.Seal.Signatures[0].Subject, e.Seal.Signatures[0].Authority = hostile, hostile
			}
		}
		l.Entries = append(l.Entries, e)
	}
	renew(l)
	for _, kind := range ledger.Kinds() {
		l.Findings = append(l.Findings, ledger.Finding{Kind: kind, Object: hostile, File: hostile, Message: hostile, Hint: "look at it"})
	}
	return &Report{Ledger: l, Revision: "main", Version: "1.0.0", Repository: "https://github.com/acme/exceptions", MadeAt: now.Add(time.Hour),
		Trust:  Trust{Digest: "sha256:" + strings.Repeat("7", 64), Root: "sha256:" + strings.Repeat("8", 64), Threshold: 1, Signers: []Signer{{"merge", "https://github.com/acme/exceptions/.github/workflows/merge.yaml@refs/heads/main, issuer https://token.actions.githubusercontent.com"}, {hostile, hostile}}},
		Totals: l.Sums(), All: true, Failed: []string{"expired"}, Status: 1}
}

// renew makes chains of three from the verified entries.
func renew(l *ledger.Ledger) {
	var sealed []*ledger.Entry
	for _, e := range l.Entries {
		if e.Verified && e.Seal != nil {
			sealed = append(sealed, e)
		}
	}
	for i := 0; i+3 < len(sealed); i += 4 {
		c := &ledger.Chain{Entries: sealed[i+1 : i+4], Renewals: 2, From: sealed[i+1].Seal.SignedAt, To: sealed[i+3].ExpiresAt}
		for n, e := range c.Entries {
			e.Chain = c
			e.Seal.SignedAt = c.From.AddDate(0, 0, 20*n)
			e.ExpiresAt = e.Seal.SignedAt.AddDate(0, 0, 22)
			if n > 0 {
				before := c.Entries[n-1]
				e.Renews = &ledger.Renewal{Renewal: exception.Renewal{Name: before.Identity.Name, Digest: before.Seal.MessageDigest, Number: n}, Of: before}
				before.RenewedBy = []*ledger.Entry{e}
			}
		}
		c.To = c.Entries[2].ExpiresAt
		l.Chains = append(l.Chains, c)
	}
}

// formats are all formats.
var formats = map[string]func(io.Writer, *Report) error{"table": Table, "json": JSON, "csv": CSV, "markdown": Markdown, "html": HTML, "prometheus": Prometheus}

func written(t *testing.T, format string, v *Report) string {
	t.Helper()
	var b bytes.Buffer
	must.Do(t, formats[format](&b, v))
	return b.String()
}

// unbroken removes the places where a browser may break a line.
var unbroken = strings.NewReplacer("<wbr>", "")

// TestParts: an address breaks between its parts, and stays text.
func TestParts(t *testing.T) {
	for text, want := range map[string]string{
		"https://github.com/acme/sign.yaml@refs/heads/main": "https://github.com/<wbr>acme/<wbr>sign.yaml<wbr>@refs/<wbr>heads/<wbr>main",
		"Bo <bo@example.com>":                               "Bo &lt;bo<wbr>@example.com&gt;",
		`</td><a href="//x">&#47;`:                          "&lt;/<wbr>td&gt;&lt;a href=&#34;/<wbr>/<wbr>x&#34;&gt;&amp;#47;",
	} {
		expect.Is(t, fmt.Sprintf("parts(%q)", text), want, string(parts(text)))
	}
}

// TestHostileText: text of a document stays text in every format.
func TestHostileText(t *testing.T) {
	v := large(60)
	for _, format := range []string{"table", "markdown", "csv", "html"} {
		out := written(t, format, v)
		if format != "csv" && strings.Contains(out, "\n::error") || strings.Contains(out, "\x1b") || strings.Contains(out, "\u202e") {
			t.Errorf("%s holds a command to a terminal or a runner", format)
		}
		expect.That(t, utf8.ValidString(out), "%s is no UTF-8", format)
	}
	for _, v.Width = range []int{1, 60, 100, 200} {
		entries, _, _ := strings.Cut(written(t, "table", v), "\n? marks")
		for line := range strings.Lines(entries) {
			if n := utf8.RuneCountInString(strings.TrimSuffix(line, "\n")); strings.HasPrefix(line, " ") && n > max(v.Width, 2*7) {
				t.Errorf("a line has %d characters on a terminal of %d: %s", n, v.Width, line)
			}
		}
	}
	v.Width = 0
	markdown := written(t, "markdown", v)
	for _, bad := range []string{"<script", "http://evil", "@everyone", "`"} {
		expect.That(t, !strings.Contains(markdown, bad), "the Markdown holds %q", bad)
	}
	rows, err := csv.NewReader(strings.NewReader(written(t, "csv", v))).ReadAll()
	must.That(t, err == nil && len(rows) == 61, "%d rows, %v", len(rows), err)
	for _, row := range rows {
		for _, cell := range row {
			expect.That(t, cell == "" || !strings.ContainsAny(cell[:1], "=+-@\t\r"),
				"a spreadsheet would run %.20q", cell)
		}
	}
	var tree any
	if err := json.Unmarshal([]byte(written(t, "json", v)), &tree); err != nil {
		t.Error(err)
	}
}

// TestTableOnTerminal: at 80 columns, each line names the whole exception, its policy and its reason before
// the resources. A column without a value is left out.
func TestTableOnTerminal(t *testing.T) {
	v := renewedThrice()
	v.Width = 80
	for _, e := range v.Entries {
		e.Identity.Namespace, e.Said.Reason = "platform-exceptions", "the vendor's image has no health endpoint until its next release in spring"
		e.Exempted = []ledger.Exempted{{Scope: usage.Scope{Namespaces: []string{"data"}, Kinds: []string{"Deployment", "ReplicaSet"}, Names: []string{"a-long-name-of-a-workload"}}}}
	}
	out := written(t, "table", v)
	for _, want := range []string{`(?m)^  EXCEPTION +POLICY +REASON +EXEMPTED +STATE +EXPIRES$`, `(?m)^  platform-exceptions/web-r2 +probes +the .*… Dep.*… `} {
		expect.That(t, regexp.MustCompile(want).MatchString(out), "no %s in\n%s", want, out)
	}
	for _, e := range v.Entries {
		e.Said.Reason = ""
	}
	if out := written(t, "table", v); strings.Contains(out, "REASON") {
		t.Errorf("an empty column is shown:\n%s", out)
	}
}

// TestPage: the page runs one script, fetches nothing, and closes all tags.
func TestPage(t *testing.T) {
	out := written(t, "html", large(60))
	expect.Is(t, "the page", 1, strings.Count(out, "<script"))
	for _, bad := range []string{"<img", "<link", "<iframe", "onerror=\"", "javascript:", " style=\"", "src=\""} {
		expect.That(t, !strings.Contains(out, bad), "the page holds %q", bad)
	}
	if !strings.Contains(out, `<meta http-equiv="Content-Security-Policy" content="default-src &#39;none&#39;; style-src &#39;sha256-`) {
		t.Error("the page has no policy")
	}
	for _, tag := range []string{"svg", "table", "section", "tbody", "dl", "li", "tr"} {
		if open, closed := len(regexp.MustCompile("<"+tag+"[ >]").FindAllString(out, -1)), strings.Count(out, "</"+tag+">"); open == 0 || open != closed {
			t.Errorf("%d %s are opened and %d closed", open, tag, closed)
		}
	}
	expect.Contains(t, written(t, "html", &Report{Ledger: &ledger.Ledger{}, Revision: "main"}), "There are no findings")
}

func TestMetrics(t *testing.T) {
	v := large(60)
	v.Compared = true
	out := written(t, "prometheus", v)
	problems, err := promlint.New(strings.NewReader(out)).Lint()
	must.That(t, err == nil, "%v\n%s", err, out)
	for _, p := range problems {
		t.Errorf("%s: %s", p.Metric, p.Text)
	}
	if !regexp.MustCompile(`(?m)^polex_audit_renewals\{group="kyverno.io",namespace="team-\d",name="[^"\n]*"\} [12]$`).MatchString(out) ||
		!regexp.MustCompile(`(?m)^polex_audit_chain_start_timestamp_seconds\{.*\} \d+$`).MatchString(out) || !regexp.MustCompile(`(?m)^polex_audit_renewals_by_policy\{policy="require-.*"\} [1-9]`).MatchString(out) {
		t.Errorf("nothing is said of renewals in\n%s", out)
	}
	for _, want := range []string{"polex_audit_exceptions{state=\"expired\"} 6", "polex_audit_findings{kind=\"cluster-altered\"} 1"} {
		expect.That(t, strings.Contains(out, want+"\n"), "there is no %s in\n%s", want, out)
	}
}

// TestMetricsDocumented: docs/reference/audit.md lists every metric with its labels, and no other.
func TestMetricsDocumented(t *testing.T) {
	page := must.Get(os.ReadFile("../../docs/reference/audit.md"))(t)
	var want, got []string
	for _, m := range regexp.MustCompile("(?m)^\\| `(polex_audit_[^`]+)` \\|").FindAllSubmatch(page, -1) {
		got = append(got, string(m[1]))
	}
	v := large(60)
	v.UsageKnown, v.Entries[0].Usage = true, &usage.Usage{State: usage.Idle}
	out := written(t, "prometheus", v)
	for _, m := range regexp.MustCompile(`(?m)^# TYPE (\S+) gauge\n(?:polex_\w+(\{.*\}))?`).FindAllStringSubmatch(out, -1) {
		want = append(want, m[1]+regexp.MustCompile(`="(?:[^"\\]|\\.)*"`).ReplaceAllString(m[2], ""))
	}
	slices.Sort(got)
	slices.Sort(want)
	expect.That(t, len(want) >= 10 && slices.Equal(want, got),
		"docs/reference/audit.md lists\n%s\nand there are\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
}

// TestEmpty: every format can write an empty report.
func TestEmpty(t *testing.T) {
	for name := range formats {
		expect.That(t, written(t, name, &Report{Ledger: &ledger.Ledger{At: time.Unix(0, 0)}, Revision: "main"}) != "",
			"%s is empty", name)
	}
}
