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
		from := sealed[i+1].Seal.SignedAt
		for n, e := range sealed[i+1 : i+4] {
			e.Seal.SignedAt = from.AddDate(0, 0, 20*n)
			e.ExpiresAt = e.Seal.SignedAt.AddDate(0, 0, 22)
		}
		l.Chains = append(l.Chains, chain(sealed[i+1:i+4]))
	}
}

// chain makes each entry renew the one before.
func chain(entries []*ledger.Entry) *ledger.Chain {
	last := len(entries) - 1
	c := &ledger.Chain{Entries: entries, Renewals: last, From: entries[0].Seal.SignedAt, To: entries[last].ExpiresAt}
	for i, e := range entries {
		e.Chain = c
		if i > 0 {
			before := entries[i-1]
			e.Renews = &ledger.Renewal{Of: before,
				Renewal: exception.Renewal{Name: before.Identity.Name, Digest: before.Seal.MessageDigest, Number: i}}
			before.RenewedBy = []*ledger.Entry{e}
		}
	}
	return c
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
			expect.That(t, cell == "" || !strings.ContainsAny(cell[:1], "=+-@\t\r"), "a spreadsheet would run %.20q", cell)
		}
	}
	var tree any
	expect.NoError(t, json.Unmarshal([]byte(written(t, "json", v)), &tree))
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
		text := written(t, name, &Report{Ledger: &ledger.Ledger{At: time.Unix(0, 0)}, Revision: "main"})
		expect.That(t, text != "", "%s is empty", name)
	}
}

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
	c := chain(web)
	ghost.Seal.SignedAt, ghost.ExpiresAt = now.AddDate(0, 0, -1), time.Time{}
	ghost.Renews = &ledger.Renewal{Renewal: exception.Renewal{Name: "ghost", Digest: "sha256:" + strings.Repeat("f", 64), Number: 5}}
	ghost.Chain = &ledger.Chain{Entries: l.Entries[3:], Renewals: 5, From: ghost.Seal.SignedAt}
	l.Chains = []*ledger.Chain{ghost.Chain, c}
	return &Report{Ledger: l, Revision: "main", Totals: l.Sums(), All: true}
}

// TestRenewalsTold: every format shows the renewals, their number and their duration.
func TestRenewalsTold(t *testing.T) {
	const object = "PolicyException.kyverno.io a"
	for format, wants := range map[string][]string{
		"table": {`(?m)^renewed most +how long +renewals$`, `(?m)^a/ghost-r5 +from 2026-11-21, no expiry +5$`, `(?m)^a/web to a/web-r2 +65d, from 2026-10-13 to 2026-12-17 +2$`,
			`(?m)^by policy, of renewals +open +ever\nprobes +3 +3$`},
		"markdown": {`\| a/web to a/web-r2 \| 65d, from 2026-10-13 to 2026-12-17 \| 2 \|`, `\| by policy, of renewals \| open \| ever \|\n\| --- \| --- \| --- \|\n\| probes \| 3 \| 3 \|`},
		"html": {`<th scope="row">a/web to a/web-r2</th><td>65d, from 2026-10-13 to 2026-12-17</td><td>2</td>`, `<dt>renews: object</dt><dd>PolicyException.kyverno.io a/web-r1</dd>`,
			`<dt>renewed by</dt><dd>PolicyException.kyverno.io a/web-r2</dd>`, `<dt>renews: number</dt><dd>5</dd>`, `<dt>renews: of</dt><dd>not in this history with a valid signature</dd>`, `by policy, of renewals`},
		"prometheus": {`(?m)^polex_audit_renewals\{group="kyverno.io",namespace="a",name="web-r2"\} 2$`, `(?m)^polex_audit_renewals\{.*name="ghost-r5"\} 5$`,
			`(?m)^polex_audit_chain_start_timestamp_seconds\{.*name="web-r2"\} 1791892800$`, `(?m)^polex_audit_renewals_by_policy\{policy="probes"\} 3$`},
		"csv": {`,renews: object,renews: message digest,renews: number,renews: of,renewed by,chain: from,chain: to,`,
			`(?m)/web.yaml,,,,,PolicyException.kyverno.io a/web-r1,2026-10-13T12:00:00Z,2026-12-17T12:00:00Z,`,
			`/web-r1.yaml,` + object + `/web,sha256:0{64},1,` + object + `/web,` + object + `/web-r2,2026-10-13T12:00:00Z,2026-12-17T12:00:00Z,`,
			`/web-r2.yaml,` + object + `/web-r1,sha256:1{64},2,` + object + `/web-r1,,2026-10-13T12:00:00Z,2026-12-17T12:00:00Z,`,
			`/ghost-r5.yaml,` + object + `/ghost,sha256:f{64},5,not in this history with a valid signature,,2026-11-21T12:00:00Z,,`},
		"json": {`"renewals":\[{"name":"probes","open":3,"ever":3}\]`, // of the first, which renews none, and of a successor:
			`"seconds":5616000},"renewedBy":\[{"object":"` + object + `/web-r1","version":1}\]},{`,
			`"number":1,"of":{"object":"` + object + `/web","version":1}},"renewedBy":\[{"object":"` + object + `/web-r2","version":1}\]`,
			`"renewals":5,"from":"2026-11-21T12:00:00Z"},"renews":{"object":"` + object + `/ghost","messageDigest":"sha256:f{64}","number":5}}`,
			`"first":{"object":"` + object + `/web","version":1},"last":{"object":"` + object + `/web-r2","version":1},"renewals":2,` +
				`"from":"2026-10-13T12:00:00Z","to":"2026-12-17T12:00:00Z","seconds":5616000}\]`},
	} {
		out := unbroken.Replace(written(t, format, renewedThrice()))
		if format == "json" {
			var compact bytes.Buffer
			must.Do(t, json.Compact(&compact, []byte(out)))
			out = compact.String()
		}
		for _, want := range wants {
			expect.That(t, regexp.MustCompile(want).MatchString(out), "%s does not say %s\n%s", format, want, out)
		}
	}
	if out := written(t, "prometheus", renewedThrice()); strings.Contains(out, `polex_audit_renewals{group="kyverno.io",namespace="a",name="web"}`) || strings.Contains(out, `name="web-r2"} 0`) {
		t.Errorf("what was not renewed has been, or what is gone is there\n%s", out)
	}
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
