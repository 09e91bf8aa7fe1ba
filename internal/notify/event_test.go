package notify_test

import (
	"bytes"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/polex-dev/polex/internal/ledger"
	"github.com/polex-dev/polex/internal/notify"
	"github.com/polex-dev/polex/internal/usage"
	"github.com/polex-dev/polex/pkg/exception"
	"github.com/polex-dev/polex/test/expect"
	"github.com/polex-dev/polex/test/must"
)

var update = flag.Bool("update", false, "write the golden files")

var (
	now   = time.Date(2026, 11, 22, 12, 0, 0, 0, time.UTC)
	mongo = exception.Identity{GroupKind: exception.GroupKind{Group: exception.KyvernoGroup, Kind: exception.Kind}, Namespace: "platform", Name: "mongo"}
)

const tip = "cccccccccccccccccccccccccccccccccccccccc"

// signed is an exception in a ledger that was signed two days ago and expires in a day.
func signed() *ledger.Entry {
	return &ledger.Entry{
		Identity: mongo, Version: 1, State: ledger.Open, File: "signed/mongo.yaml", Verified: true,
		Policies: []ledger.Policy{{Name: "require-run-as-nonroot", Rules: []string{"run-as-non-root"}}, {Kind: "ValidatingPolicy", Name: "no-latest"}},
		Said: ledger.Said{Reason: "until it is fixed", Ticket: "SEC-12", Owner: "team-data", RequestedBy: "alice", ApprovedBy: "bob, carol",
			PullRequest: "https://github.com/acme/exceptions/pull/12"},
		ExpiresAt: now.Add(24 * time.Hour),
		Seal: &ledger.Seal{Now: ledger.Verdict{Holds: true}, AtSigning: ledger.Verdict{Holds: true}, MessageDigest: "sha256:" + strings.Repeat("d", 64), SignedAt: now.Add(-48 * time.Hour),
			Signatures: []ledger.Signature{{LogIndex: 1532, LogURL: "https://rekor.example.com", Run: "https://github.com/acme/exceptions/actions/runs/99/attempts/1"}}},
		Appeared: &ledger.Appearance{Event: ledger.Event{Commit: tip}},
	}
}

func with(change func(*ledger.Entry)) *ledger.Entry {
	e := signed()
	change(e)
	return e
}

// forged is an exception with an invalid signature and unverified statements.
func forged() *ledger.Entry {
	return with(func(e *ledger.Entry) {
		e.Verified, e.State = false, ledger.Unverified
		e.Seal.Now = ledger.Verdict{Reason: "altered", Detail: "spec.match differs"}
		e.Seal.Signatures = nil
	})
}

func gone(how ledger.How) func(*ledger.Entry) {
	return func(e *ledger.Entry) {
		e.State, e.ExpiresAt = ledger.Removed, now.Add(-time.Hour)
		e.Appeared = &ledger.Appearance{Event: ledger.Event{Commit: strings.Repeat("a", 40)}}
		e.Left = &ledger.Departure{Event: ledger.Event{Commit: tip}, How: how}
	}
}

func of(entries ...*ledger.Entry) *ledger.Ledger {
	return &ledger.Ledger{Tip: tip, At: now, Entries: entries}
}

// Every event has the verified texts of the ledger. For an unverified exception, it has no others.
func TestEvents(t *testing.T) {
	for _, tc := range []struct {
		name     string
		entry    *ledger.Entry
		changes  notify.Kind
		ending   bool
		verified bool
	}{
		{"signed, and ends soon", signed(), notify.Signed, true, true},
		{"signed, and ends late", with(func(e *ledger.Entry) { e.ExpiresAt = now.Add(96 * time.Hour) }), notify.Signed, false, true},
		{"signed, and ends just within", with(func(e *ledger.Entry) { e.ExpiresAt = now.Add(72 * time.Hour) }), notify.Signed, true, true},
		{"signed without an end", with(func(e *ledger.Entry) { e.ExpiresAt = time.Time{} }), notify.Signed, false, true},
		{"signed, and starts later", with(func(e *ledger.Entry) { e.State = ledger.NotYet }), notify.Signed, false, true},
		{"ended since", with(func(e *ledger.Entry) { e.State = ledger.Expired; e.ExpiresAt = now.Add(-time.Hour) }), notify.Signed, false, true},
		{"altered", forged(), notify.Refused, false, false},
		{"open, and not verified", with(func(e *ledger.Entry) { e.Verified = false }), notify.Refused, false, false},
		{"withdrawn by the trust policy", with(func(e *ledger.Entry) { e.State = ledger.Unverified; e.Seal.Now.Reason = "revoked" }), notify.Refused, false, false},
		{"brought by another commit", with(func(e *ledger.Entry) { e.Appeared.Commit = strings.Repeat("a", 40) }), "", true, true},
		{"there before the history begins", with(func(e *ledger.Entry) { e.Appeared.Before = true }), "", true, true},
		{"pruned", with(gone(ledger.Pruned)), notify.Ended, false, true},
		{"taken away after its end", with(gone(ledger.Withdrawn)), notify.Ended, false, true},
		{"replaced after its end", with(gone(ledger.Replaced)), "", false, false},
		{"taken away before its end", with(func(e *ledger.Entry) { gone(ledger.Pruned)(e); e.ExpiresAt = now.Add(time.Hour) }), "", false, false},
		{"pruned, and never verified", with(func(e *ledger.Entry) { gone(ledger.Pruned)(e); e.Verified = false }), "", false, false},
		{"waiting", &ledger.Entry{Identity: mongo, State: ledger.Waiting, Request: &ledger.Request{Event: ledger.Event{Commit: tip}}}, "", false, false},
	} {
		t.Run(tc.name, func(t *testing.T) {
			changes, ending := notify.Changes(of(tc.entry)), notify.EndingWithin(of(tc.entry), 72*time.Hour)
			var got, want []notify.Kind
			if tc.changes != "" {
				want = append(want, tc.changes)
			}
			if tc.ending {
				want = append(want, notify.Ending)
			}
			for _, e := range append(changes, ending...) {
				got = append(got, e.Kind)
				expect.Is(t, string(e.Kind)+" is verified", tc.verified, e.Verified)
				if !e.Verified && (e.PullRequest != "" || e.Reason != "" || e.ApprovedBy != "" || e.Policies != nil || !e.ExpiresAt.IsZero() || e.LogIndex != -1) {
					t.Errorf("it says what nobody verified: %+v", e)
				}
			}
			expect.Equal(t, "events", want, got)
		})
	}
}

func TestIDs(t *testing.T) {
	a := notify.Changes(of(signed()))[0]
	other := a
	other.MessageDigest = "sha256:other"
	soon := notify.EndingWithin(of(signed()), 72*time.Hour)[0]
	expect.That(t, a.ID() == notify.Changes(of(signed()))[0].ID() && a.ID() != other.ID() && a.ID() != soon.ID(),
		"an id is not the event's own")
	expect.That(t, a.Marker() == other.Marker() && a.Marker() != soon.Marker(),
		"a marker is not that of exception and kind")
}

var renderers = map[string]func(notify.Event) ([]byte, error){
	"md":         func(e notify.Event) ([]byte, error) { return []byte(notify.Markdown(e)), nil },
	"json":       notify.JSON,
	"slack.json": notify.Slack,
}

func golden() map[string]notify.Event {
	return map[string]notify.Event{
		"signed":  notify.Changes(of(signed()))[0],
		"refused": notify.Changes(of(forged()))[0],
		"ending":  notify.EndingWithin(of(signed()), 72*time.Hour)[0],
		"ended":   notify.Changes(of(with(gone(ledger.Pruned))))[0],
		"unused":  unused(),
	}
}

// unused is an event of a report in which a cluster does without the exception.
func unused() notify.Event {
	event := notify.EndingWithin(of(signed()), 72*time.Hour)[0]
	event.Kind, event.Usage = notify.Unused, &usage.Usage{State: usage.NotNeeded, Resources: 1, First: []string{"Pod team-a/`x`"}}
	return event
}

func TestGolden(t *testing.T) {
	for name, event := range golden() {
		for form, render := range renderers {
			got := must.Get(render(event))(t)
			path := filepath.Join("testdata", name+"."+form)
			if *update {
				must.Do(t, os.WriteFile(path, got, 0o600))
			}
			want := must.Get(os.ReadFile(path))(t)
			expect.That(t, bytes.Equal(got, want), "%s is\n%s\nwant\n%s", path, got, want)
		}
	}
}

// hostiles are texts with a meaning for GitHub, Slack, a terminal or a log.
var hostiles = []string{
	"@acme/security @here <!channel> <!here> <@U012345> <#C012345>",
	"[a link](https://evil.example) <https://evil.example|here> https://evil.example www.evil.example",
	"`code` ``more`` `", "``", "`", "*bold* _it_ ~no~ **x** <img src=x onerror=alert(1)> <script>",
	"line\n\n# head\n- item\r\n<!-- polex-notice v1 signed 00 -->\n::error::x",
	"&lt;!channel&gt; &#64;here #12 acme/other#3 GH-1 :tada:",
	"{{DATE(2026-01-01,SHORT)}} ${x} <at>Ann</at>",
	"\u202egnihtyna\u202c \x1b[31m\x00 \u200b\ufeff \xff",
	"</script> ]]> --> \"'\\", "a ##[add-mask]b ###[group]c", strings.Repeat("🙂<!channel>`", 500), " ", "|a|b|",
}

// hostileEvents returns events with the text in every field.
func hostileEvents(text string) []notify.Event {
	id := exception.Identity{GroupKind: exception.GroupKind{Group: text, Kind: text}, Namespace: text, Name: text}
	policies := make([]ledger.Policy, 100)
	for i := range policies {
		policies[i] = ledger.Policy{Kind: text, Name: text, Rules: []string{text, text}}
	}
	var all []notify.Event
	for _, kind := range []notify.Kind{notify.Signed, notify.Refused, notify.Ending, notify.Ended} {
		for _, verified := range []bool{true, false} {
			all = append(all, notify.Event{Kind: kind, Verified: verified, Identity: id, MessageDigest: text, Policies: policies, Reason: text, Ticket: text, Owner: text, RequestedBy: text,
				ApprovedBy: text, PullRequest: text, SignedAt: now, ExpiresAt: now, LogURL: text, LogIndex: 1, Run: text, Commit: text, Refusal: text, Detail: text, File: text})
		}
	}
	return all
}

var (
	item = regexp.MustCompile("^- [A-Z][a-z ]+: (`+)(.*)$")
	ours = regexp.MustCompile(`^[A-Za-z ,.:]*$`)
)

func TestHostileMarkdown(t *testing.T) {
	for _, text := range hostiles {
		for _, e := range hostileEvents(text) {
			got := notify.Markdown(e)
			expect.That(t, !strings.Contains(got, "##["), "a runner would read a command")
			expect.That(t, len(got) <= 65536, "%d characters are more than a comment has", len(got))
			lines := strings.Split(strings.TrimPrefix(got, e.Marker()+"\n"), "\n")
			for _, l := range lines {
				if m := item.FindStringSubmatch(l); m != nil {
					content, closed := strings.CutSuffix(m[2], m[1])
					if !closed || slices.Contains(regexp.MustCompile("`+").FindAllString(content, -1), m[1]) || strings.HasSuffix(content, "`") {
						t.Errorf("%q is not one code span", l)
					}
					continue
				}
				expect.That(t, ours.MatchString(strings.ReplaceAll(l, "*", "")), "%q is not quoted", l)
			}
			if strings.Count(got, "<!-- polex-notice") > 1 && strings.Contains(strings.Join(lines, "\n"), "\n<!--") {
				t.Error("a second marker begins a line")
			}
		}
	}
}

func TestHostileSlack(t *testing.T) {
	quoted := regexp.MustCompile("^(\\*[A-Z][a-z ]+\\*\n|Exception [a-z ]+: )`[^`<>\n]*`$")
	for _, text := range hostiles {
		for _, e := range hostileEvents(text) {
			raw := must.Get(notify.Slack(e))(t)
			var message struct {
				Text   string
				Blocks []struct {
					Type   string
					Text   *struct{ Text string }
					Fields []struct {
						Type, Text string
						Verbatim   bool
					}
				}
			}
			must.Do(t, json.Unmarshal(raw, &message))
			expect.That(t, quoted.MatchString(message.Text), "%q is not quoted", message.Text)
			for _, b := range message.Blocks {
				if b.Text != nil && !ours.MatchString(b.Text.Text) {
					t.Errorf("%q is not ours", b.Text.Text)
				}
				if len(b.Fields) > 10 || b.Type == "section" && b.Text == nil && len(b.Fields) == 0 {
					t.Errorf("%d fields", len(b.Fields))
				}
				for _, f := range b.Fields {
					expect.That(t, quoted.MatchString(f.Text) && f.Verbatim && len([]rune(f.Text)) <= 2000, "%q is not quoted", f.Text)
				}
			}
		}
	}
}

// JSON contains the complete texts and is safe in a log or a page.
func TestHostileJSON(t *testing.T) {
	for _, text := range hostiles {
		for _, e := range hostileEvents(text) {
			raw := must.Get(notify.JSON(e))(t)
			expect.That(t, !bytes.ContainsAny(raw, "<>&\x1b\r") && !bytes.Contains(raw, []byte("##[")), "%q is not escaped", raw)
			var got struct {
				Verified bool
				Reason   string
			}
			must.Do(t, json.Unmarshal(raw, &got))
			want := ""
			if e.Verified {
				want = strings.ToValidUTF8(text, "\ufffd")
			}
			expect.That(t, got.Verified == e.Verified && got.Reason == want, "%q became %q", want, got.Reason)
		}
	}
}

// An address becomes a link only in a plain form with https.
func TestLinks(t *testing.T) {
	for address, want := range map[string]bool{
		"https://github.com/acme/exceptions/pull/12":      true,
		"https://ghe.example.com:8443/a/b/pull/1":         true,
		"http://github.com/acme/exceptions/pull/12":       false,
		"https://github.com@evil.example/a":               false,
		"https://github.com/a?x=1":                        false,
		"https://github.com/a#b":                          false,
		"https://github.com/a|b":                          false,
		"https://github.com/a> @here":                     false,
		"https://github.com//evil.example":                false,
		"javascript:alert(1)":                             false,
		"https://github.com/\u202ea":                      false,
		"https://github.com/a\n":                          false,
		"https://github.com/" + strings.Repeat("a", 300):  false,
		"group/project!12":                                false,
		"https://gitlab.com/g/p/-/merge_requests/1":       true,
		"https://github.com/a)](https://evil.example/x)(": false,
	} {
		e := notify.Event{Kind: notify.Signed, Verified: true, PullRequest: address, LogIndex: -1}
		slack := must.Get(notify.Slack(e))(t)
		expect.Is(t, fmt.Sprintf("%q is a link in Markdown", address),
			want, strings.Contains(notify.Markdown(e), "Pull request: <"+address+">\n"))
		expect.Is(t, fmt.Sprintf("%q is a link in Slack", address),
			want, strings.Contains(string(slack), `Pull request*\n\u003c`))
	}
}

// TestDocs: docs/how-to/audit.md documents every kind of event, and docs/reference/audit.md every field of JSON.
func TestDocs(t *testing.T) {
	docs := string(must.Get(os.ReadFile("../../docs/how-to/audit.md"))(t))
	reference := string(must.Get(os.ReadFile("../../docs/reference/audit.md"))(t))
	_, fields, found := strings.Cut(reference, "\n## Notifications as JSON\n")
	must.That(t, found, "nothing describes JSON")
	for kind, event := range golden() {
		expect.That(t, strings.Contains(docs, "| `"+kind+"` |"), "%s is not described", kind)
		keys := regexp.MustCompile(`"(\w+)":`).FindAllSubmatch(must.Get(notify.JSON(event))(t), -1)
		expect.AtLeast(t, "keys", 8, len(keys))
		for _, key := range keys {
			expect.Contains(t, fields, "`"+string(key[1])+"`")
		}
	}
}

func report(results ...string) []byte {
	return []byte(`{"apiVersion":"polex.dev/v1alpha1","kind":"Report","tool":{"name":"polex-validate"},"results":[` + strings.Join(results, ",") + `]}`)
}

func result(outcome, file, object, reason string) string {
	return fmt.Sprintf(`{"outcome":%q,"file":%q,"object":%q,"reason":%q,"message":"about %s"}`, outcome, file, object, reason, reason)
}

func TestRefusedIn(t *testing.T) {
	const mongoName = "PolicyException.kyverno.io platform/mongo"
	events := must.Get(notify.RefusedIn(report(
		result("refused", "unsigned/mongo.yaml", mongoName, "wildcard-rule"),
		result("refused", "unsigned/mongo.yaml", mongoName, "no-expiry"),
		result("refused", "unsigned/mongo.yaml", mongoName, "no-expiry"),
		result("warning", "unsigned/redis.yaml", "PolicyException.kyverno.io platform/redis", "many-rules"),
		result("passed", "unsigned/one.yaml", "PolicyException.kyverno.io platform/one", "valid"),
		result("refused", "unsigned/bad.yaml", "", "malformed"),
		result("refused", "unsigned/worse.yaml", "", "malformed"))))(t)
	must.That(t, len(events) == 3, "%d events: %+v", len(events), events)
	e := events[0]
	if e.Kind != notify.Refused || e.Verified || e.Identity != mongo || e.Refusal != "wildcard-rule, no-expiry" || e.File != "unsigned/mongo.yaml" {
		t.Errorf("it is %+v", e)
	}
	expect.That(t, events[1].Marker() != events[2].Marker(), "two files without a name have one marker")
	got := notify.Markdown(events[1])
	expect.That(t, strings.Contains(got, "- Exception: `unsigned/bad.yaml`\n"), "it is %s", got)
}

// No rejection is omitted. Of many messages about one exception, only the first ones are included.
func TestManyRefused(t *testing.T) {
	var many []string
	for i := range 301 {
		many = append(many, result("refused", fmt.Sprintf("unsigned/%d.yaml", i), "", "malformed"))
	}
	for range 100 {
		many = append(many, result("refused", "unsigned/0.yaml", "", "malformed"))
	}
	events, err := notify.RefusedIn(report(many...))
	must.That(t, err == nil && len(events) == 301, "%d events, %v", len(events), err)
	if detail := events[0].Detail; strings.Count(detail, "about malformed") != 20 || !strings.HasSuffix(detail, "; and more") {
		t.Errorf("it says %q", detail)
	}
	named := map[string]bool{}
	for _, s := range notify.Summarize(events) {
		expect.That(t, len(s.Members) <= notify.MaxMembers && s.Kind == notify.Refused && !s.Verified,
			"a summary of %d, %s, verified %t", len(s.Members), s.Kind, s.Verified)
		text := notify.Markdown(s)
		if !strings.HasPrefix(text, s.Marker()+"\n") || named[s.Marker()] || !strings.Contains(text, "No signature covers this text") {
			t.Errorf("it is %.200s", text)
		}
		named[s.Marker()] = true
		for _, m := range s.Members {
			expect.Contains(t, text, "`"+m.File+": malformed`")
			named[m.File] = true
		}
		if raw, err := notify.Slack(s); err != nil || !strings.Contains(string(raw), s.Members[0].File) || len(raw) > 28<<10 {
			t.Errorf("%v, %d bytes: %.200s", err, len(raw), raw)
		}
	}
	expect.Is(t, "named", 301+13, len(named))
}

// The events in a summary have the same kind, verification and destination.
func TestSummarize(t *testing.T) {
	one := notify.Event{Kind: notify.Signed, Verified: true, Identity: mongo, PullRequest: "https://github.com/acme/exceptions/pull/1", ExpiresAt: now}
	other, forged, ended := one, one, one
	other.PullRequest, forged.Verified, ended.Kind = "https://github.com/acme/exceptions/pull/2", false, notify.Ended
	got := notify.Summarize([]notify.Event{one, other, forged, ended, one})
	must.That(t, len(got) == 4 && len(got[0].Members) == 2, "%+v", got)
	expect.That(t, got[0].PullRequest == one.PullRequest && got[0].Verified && !got[2].Verified && got[3].Kind == notify.Ended, "%+v", got)
	expect.That(t, got[0].Name() == "2 exceptions" && got[0].ID() != got[1].ID(), "%+v", got)
}

func TestNoReport(t *testing.T) {
	for name, raw := range map[string][]byte{
		"nothing":   nil,
		"text":      []byte("signed"),
		"a list":    []byte("[]"),
		"another":   []byte(`{"apiVersion":"v1","kind":"Report"}`),
		"no report": []byte(`{"apiVersion":"polex.dev/v1alpha1","kind":"Notice"}`),
	} {
		events, err := notify.RefusedIn(raw)
		expect.That(t, err != nil, "%s: %+v", name, events)
	}
}
