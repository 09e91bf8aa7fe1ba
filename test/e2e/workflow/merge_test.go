//go:build e2e

package workflow

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/polex-dev/polex/internal/sandbox"
	"github.com/polex-dev/polex/test/e2e/github"
	"github.com/polex-dev/polex/test/expect"
	"github.com/polex-dev/polex/test/must"
)

// allJobs are the jobs of a merge with requests.
var allJobs = github.All("settings", "sign", "commit", "notify")

// told returns the annotation of a notification about a file.
func told(file string) annotation { return annotation{"notice", file, "1", "told"} }

// said checks that a pull request has these comments, each by a part of its text.
func said(t *testing.T, api *github.API, number int, parts ...string) {
	t.Helper()
	comments := api.Comments(number)
	must.That(t, len(comments) == len(parts),
		"pull request %d has %d comments, not %d: %+v", number, len(comments), len(parts), comments)
	for i, part := range parts {
		expect.That(t, strings.Contains(comments[i].Body, part),
			"comment %d of pull request %d does not say %q: %s", i, number, part, comments[i].Body)
	}
}

// pushed returns the event that starts the workflow of a merge.
func pushed(s *sandbox.Sandbox, api *github.API, commit string) github.Play {
	p := github.Pushed(commit)
	p.Env, p.API = s.Environ(), api.URL
	return p
}

// as returns the environment of a job that signs as an identity.
func as(t *testing.T, s *sandbox.Sandbox, id sandbox.Identity) []string {
	t.Helper()
	return []string{"SIGSTORE_ID_TOKEN=" + must.Get(sandbox.RequestToken(t.Context(), s.Dir, id, "sigstore"))(t)}
}

// TestMerge runs the workflow of a merge in a repository made of the template.
func TestMerge(t *testing.T) {
	runner, s := newRunner(t), sigstore(t, github.MergeFile)
	repository := runner.remoted(t, template(t, s))
	api := repository.gitHub(t, true)
	merged := repository.merge(t, map[string]string{"unsigned/web.yaml": narrow, "unsigned/team/api.yaml": another})

	first := pushed(s, api, merged)
	first.Builds = true
	log := repository.run(t, first)
	log.Ended(t, allJobs)
	said(t, api, 1, "- Approved by: `bob`", "- Approved by: `bob`")
	repository.signed(t, merged, "signed/team/api.yaml", "signed/web.yaml")
	repository.verified(t, s)
	log.summarizes(t, "In commit "+repository.tip(t), "| file | exception | until | log entry |",
		"| signed/web.yaml | PolicyException.kyverno.io team-a/web |")
	text := repository.git(t, "-C", repository.Remote, "show", "main:signed/web.yaml")
	expect.That(t, strings.Contains(text, `"polex.dev/approved-by": "bob"`), "it does not say who approved it")
	message := repository.git(t, "-C", repository.Remote, "log", "-1", "--format=%an <%ae>%n%B", "main")
	expect.Contains(t, message, "github-actions[bot] <41898282+github-actions[bot]@users.noreply.github.com>\n", "Polex-Source-Commit: "+merged, "Polex-Log-Index: ")

	// A user can run it again on GitHub. Then everything is already done.
	tip := repository.tip(t)
	log = repository.run(t, pushed(s, api, merged))
	if log.Results["sign"] != "success" || log.Results["commit"] != "" && log.Results["commit"] != "skipped" {
		t.Errorf("the second run ended with %q: %s", log.Results, log.Text)
	}
	expect.Is(t, "after the second run", tip, repository.tip(t))
	for _, a := range log.annotations {
		expect.That(t, a.Level != "warning" || a.Title == "gone-since", "the second run warns: %+v", a)
	}

	// A merge without requests causes no commit.
	repository.git(t, "pull", "--quiet")
	merged = repository.merge(t, map[string]string{"unsigned/README.md": "Nothing waits.\n"})
	log = repository.run(t, pushed(s, api, merged))
	if log.Results["sign"] != "success" || log.Results["commit"] == "failure" || repository.tip(t) != merged {
		t.Errorf("a merge of nothing ended with %q and left main at %s: %s", log.Results, repository.tip(t), log.Text)
	}
}

// TestMergeQueue: a merge queue brings two pull requests in one push, and each exception has the
// review of its own. A signature of the run before the merge is rejected.
func TestMergeQueue(t *testing.T) {
	runner, s := newRunner(t), sigstore(t, github.MergeFile)
	repository := runner.remoted(t, template(t, s))
	api := repository.gitHub(t, true)
	must.Get(repository.Propose(t.Context(), "one", map[string]string{"unsigned/web.yaml": narrow}))(t)
	repository.git(t, "switch", "--quiet", "main")
	must.Get(repository.Propose(t.Context(), "two", map[string]string{"unsigned/team/api.yaml": another}))(t)
	merges := map[string]string{"signed/web.yaml": must.Get(repository.Merge(t.Context(), "one"))(t),
		"signed/team/api.yaml": must.Get(repository.Merge(t.Context(), "two"))(t)}
	last := repository.tip(t)

	queued := pushed(s, api, last)
	queued.Env = as(t, s, sandbox.Identity{Ref: "refs/heads/gh-readonly-queue/main/pr-2-" + last,
		EventName: "merge_group"})
	if log := repository.run(t, queued); log.Results["sign"] != "failure" || repository.tip(t) != last || !strings.Contains(log.Text, "a merge queue signed it before the merge") {
		t.Errorf("the queue's run ended with %q: %s", log.Results, log.Text)
	}

	repository.run(t, pushed(s, api, last)).Ended(t, allJobs)
	repository.signed(t, last, "signed/team/api.yaml", "signed/web.yaml")
	for file, merge := range merges {
		number := api.PullRequest(merge)
		text := repository.git(t, "-C", repository.Remote, "show", "main:"+file)
		if number == 0 || !strings.Contains(text, fmt.Sprintf("/pull/%d\"", number)) || !strings.Contains(text, merge) {
			t.Errorf("%s does not state the merge %s of pull request %d:\n%s", file, merge, number, text)
		}
		comments := []string{"- Approved by: `bob`"}
		if merge == last { // its first comment is about the run before the merge
			comments = []string{"wrong-identity", comments[0]}
		}
		said(t, api, number, comments...)
	}
}

// TestMergeInEnvironment: one line of the configuration makes the signing job run in an environment,
// and the trust policy require it.
func TestMergeInEnvironment(t *testing.T) {
	runner, s := newRunner(t), sigstore(t, github.MergeFile)
	files := template(t, s)
	const off, on = "        # environment: exceptions\n", "        environment: exceptions\n"
	expect.Contains(t, files[".polex.yaml"], off)
	files[".polex.yaml"] = strings.Replace(files[".polex.yaml"], off, on, 1)
	for environment, want := range map[string]string{"exceptions": "success", "": "failure", "other": "failure"} {
		repository, api, merged := mergedIn(t, runner, files)
		p := pushed(s, api, merged)
		p.Env = as(t, s, sandbox.Identity{Environment: environment})
		log := repository.run(t, p)
		if log.Results["settings"] != "success" || log.Results["sign"] != want || (repository.tip(t) == merged) != (want == "failure") {
			t.Errorf("in the environment %q it ended with %q: %s", environment, log.Results, log.Text)
		}
		if want == "failure" && !strings.Contains(log.Text, "deploymentEnvironment") {
			t.Errorf("in the environment %q, the message does not name the claim: %s", environment, log.Text)
		}
	}
}

// TestMergeRefused: if another workflow or branch of the repository signs, if nobody has approved the
// merge, or if polex rejects one exception of it, then nothing is signed, and main does not change.
func TestMergeRefused(t *testing.T) {
	runner, s := newRunner(t), sigstore(t, github.MergeFile)
	const web, bad = "unsigned/web.yaml", "unsigned/sloppy.yaml"
	one := map[string]string{web: narrow}
	two := map[string]string{web: narrow, bad: sloppy}
	wrong := []annotation{{"error", web, "1", "wrong-identity"}, told(web)}
	rejected := append(slices.Clone(sloppyAnnotations), told(bad))
	unapproved := []annotation{{"error", web, "1", "not-approved"}, told(web)}
	for name, tc := range map[string]struct {
		by             sandbox.Identity
		unapproved     bool
		requests       map[string]string
		want           []annotation
		summary, reply string // parts of the summary and of the comment
	}{
		"another workflow": {by: sandbox.Identity{WorkflowFile: ".github/workflows/other.yaml"}, requests: one, want: wrong},
		"another branch":   {by: sandbox.Identity{Ref: "refs/heads/work"}, requests: one, want: wrong},
		"another trigger":  {by: sandbox.Identity{EventName: "pull_request_target"}, requests: one, want: wrong},
		"no approval":      {unapproved: true, requests: one, want: unapproved},
		"one that is sloppy": {requests: two, want: rejected, summary: "| missing-ticket |",
			reply: "- Refused: `missing-ticket, wildcard-rule`"},
	} {
		t.Run(name, func(t *testing.T) {
			repository := runner.remoted(t, template(t, s))
			api := repository.gitHub(t, !tc.unapproved)
			merged := repository.merge(t, tc.requests)
			p := pushed(s, api, merged)
			if tc.by != (sandbox.Identity{}) {
				p.Env = as(t, s, tc.by)
			}
			log := repository.run(t, p)
			if log.Results["sign"] != "failure" || log.Results["commit"] == "success" || repository.tip(t) != merged {
				t.Errorf("it ended with %q, and main is at %s, the merge at %s: %s", log.Results, repository.tip(t), merged, log.Text)
			}
			expect.Equal(t, "annotations", tc.want, log.annotations)
			if tc.summary != "" {
				log.summarizes(t, tc.summary)
				said(t, api, 1, tc.reply)
			}
		})
	}
}

// TestSignInOneJob runs the workflow in the README of actions/sign, with an additional first step
// that installs the commands.
func TestSignInOneJob(t *testing.T) {
	runner, s := newRunner(t), sigstore(t, github.MergeFile)
	files := template(t, s)
	const sign, setup = "      - uses: polex-dev/polex/actions/sign@", "      - uses: polex-dev/polex/actions/setup@" + github.ActionCommit + "\n        with: {commands: polex-sign}\n"
	files[github.MergeFile] = strings.Replace(readmeWorkflow(t, "sign", "on:\n  push:\n"), sign, setup+sign, 1)
	repository, api, merged := mergedIn(t, runner, files)
	p := pushed(s, api, merged)
	p.Builds = true
	log := repository.run(t, p)
	log.Ended(t, github.All("sign"))
	expect.Is(t, "Go was set up", 1, strings.Count(log.Text, "Run Main actions/setup-go@"))
	repository.signed(t, merged, "signed/web.yaml")
	repository.verified(t, s)
}
