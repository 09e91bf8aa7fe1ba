//go:build unix

package commit_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/polex-dev/polex/internal/git/commit"
	"github.com/polex-dev/polex/internal/retry"
	"github.com/polex-dev/polex/test/expect"
	"github.com/polex-dev/polex/test/must"
)

// TestTenAtOnce: ten processes, each with its own clone and files, push to one remote at the same
// time. All succeed, one after the other.
func TestTenAtOnce(t *testing.T) {
	const pushers = 10
	queue := map[string]string{}
	for i := range pushers {
		queue[fmt.Sprintf("unsigned/%d.yaml", i)] = fmt.Sprintf("n: %d\n", i)
	}
	r := newRepository(t, queue)
	source := r.Head()
	remote := r.bare()
	var clones []*repository
	for i := range pushers {
		clones = append(clones, remote.clone(fmt.Sprintf("clone%d", i)))
	}
	results := make([]*done, pushers)
	var all sync.WaitGroup
	for i, c := range clones {
		all.Go(func() {
			results[i] = start(t, order{Dir: c.Dir, Mode: "push", KillAt: -1, Only: fmt.Sprintf("unsigned/%d.yaml", i)})
		})
	}
	all.Wait()
	again := 0
	for i, d := range results {
		must.That(t, d != nil && d.Err == "" && d.Commit != "", "%d: %+v", i, d)
		again += strings.Count(strings.Join(d.Steps, "\n"), "push to")
		clones[i].clean()
		_, err := remote.Try("merge-base", "--is-ancestor", d.Commit, "main")
		expect.That(t, err == nil, "%d: its commit %s is lost", i, d.Commit)
	}
	t.Logf("%d pushes for %d commits", again, pushers)
	expect.Is(t, "merges", "", remote.Line("rev-list", "--merges", "main"))
	expect.Is(t, "commits", fmt.Sprint(pushers), remote.Line("rev-list", "--count", source+"..main"))
	for i := range pushers {
		expect.Is(t, fmt.Sprintf("signed/%d.yaml", i),
			fmt.Sprintf("sealed\nn: %d\n", i), remote.Git("show", fmt.Sprintf("main:signed/%d.yaml", i)))
	}
	expect.Is(t, "left", "", remote.Git("ls-tree", "-r", "--name-only", "main", "unsigned"))
}

// TestRemoteRefuses: if a remote rejects a push, nothing changes here or there, and the error contains its message.
func TestRemoteRefuses(t *testing.T) {
	hook := func(name, script string) func(*repository) {
		return func(remote *repository) { remote.script("hooks/"+name, "#!/bin/sh\n"+script+"\n") }
	}
	for name, tc := range map[string]struct {
		remote, local func(*repository)
		want          string
		refused       bool
	}{
		"a hook before all":           {remote: hook("pre-receive", "echo not on Fridays >&2; exit 1"), want: "not on Fridays", refused: true},
		"a protected branch":          {remote: hook("update", "echo GH006: Protected branch update failed >&2; exit 1"), want: "GH006", refused: true},
		"what a hook may shout":       {remote: hook("pre-receive", "yes | head -c 1000000 >&2; exit 1"), want: "y", refused: true},
		"a hook that names an outage": {remote: hook("pre-receive", "echo Connection refused >&2; exit 1"), want: "Connection refused", refused: true},
		"a hook of the clone":         {local: hook("../.git/hooks/pre-push", "echo too early >&2; exit 1"), want: "too early", refused: true},
		"gone":                        {local: func(r *repository) { must.Do(r.TB, os.Rename(r.Path("../remote.git"), r.Path("../gone.git"))) }, want: "git fetch"},
		"no such branch":              {remote: func(r *repository) { r.Git("branch", "--move", "main", "trunk") }, want: "git fetch"},
		"no repository any more": {remote: hook("pre-receive", "mv ../remote.git ../gone.git; exit 1"),
			want: "polex cannot tell whether the remote has the commit", refused: true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := newRepository(t, waiting)
			remote := r.bare()
			if tc.remote != nil {
				tc.remote(remote)
			}
			if tc.local != nil {
				tc.local(r)
			}
			before := endOf(r, "commit")
			got := r.run("push")
			expect.That(t, strings.Contains(got.Err, tc.want) && got.Refused == tc.refused,
				"it ended with %+v, want %q", got, tc.want)
			expect.That(t, len(got.Err) <= 10_000, "it says %d bytes", len(got.Err))
			expect.Is(t, "state", before, endOf(r, "commit"))
			for _, at := range []string{"../remote.git", "../gone.git"} {
				if _, err := os.Stat(r.Path(at)); err == nil {
					expect.Is(t, "the remote",
						"1", (repositoryAt(t, r.Path(at))).Line("rev-list", "--count", "--branches"))
				}
			}
		})
	}
}

// TestAnswerIsLost: the connection ends after the remote accepts the commit and before it answers. The next try or, if
// there is no answer to any other push, the next fetch finds the commit. polex does not make it again.
func TestAnswerIsLost(t *testing.T) {
	for name, fetches := range map[string]int{"once": 1, "for good": 2} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := newRepository(t, waiting)
			remote := r.bare()
			// The hook ends the connection after the reference has moved.
			remote.script("hooks/post-receive", "#!/bin/sh\n: >lost\nkill -9 $PPID\n")
			if fetches == 2 {
				r.script("../receive", "#!/bin/sh\nif [ -e \"$1/lost\" ]; then echo Connection refused >&2; exit 1; fi\nexec git receive-pack \"$@\"\n")
				r.Git("config", "remote.origin.receivepack", r.Path("../receive"))
			}
			got := r.run("push")
			must.That(t, got.Err == "" && got.Commit != "", "%+v", got)
			_, err := os.Stat(remote.Path("lost"))
			expect.That(t, err == nil, "the answer was not lost: %v", err)
			if steps := strings.Join(got.Steps, "\n"); strings.Count(steps, "fetch") != fetches || strings.Count(steps, "write the commit") != 1 {
				t.Errorf("want %d fetches: %s", fetches, steps)
			}
			if remote.Head() != got.Commit || r.Head() != got.Commit {
				t.Errorf("the remote is at %s, the clone at %s, and %s was pushed", remote.Head(), r.Head(), got.Commit)
			}
			r.clean()
		})
	}
}

// TestOutrun: another process pushes before each attempt.
func TestOutrun(t *testing.T) {
	r := newRepository(t, waiting)
	remote := r.bare()
	other := remote.clone("other")
	before := r.Head()
	attempts := 0
	var pauses []time.Duration
	sleep := func(_ context.Context, d time.Duration) error {
		pauses = append(pauses, d)
		return nil
	}
	c := r.openWith(commit.Options{Timing: retry.Timing{Sleep: sleep}, Step: func(name string) error {
		if strings.HasPrefix(name, "push") {
			attempts++
			other.CommitFile("Other", "other.txt", fmt.Sprint(attempts))
			other.Git("push", "--quiet")
		}
		return nil
	}})
	_, err := r.push(t.Context(), c)
	expect.That(t, errors.Is(err, commit.ErrOutrun) && attempts == 10 && len(pauses) == 9,
		"%d attempts, %d pauses, %v", attempts, len(pauses), err)
	for i, most := 0, 200*time.Millisecond; i < len(pauses); i, most = i+1, min(2*most, 15*time.Second) {
		expect.That(t, pauses[i] >= most/2 && pauses[i] <= most, "pause %d lasts %s, at most %s", i, pauses[i], most)
	}
	expect.Is(t, "HEAD", before, r.Head())
	r.clean()
}

// TestRewound: the remote branch is reset to an older commit before the push. The push does not bring
// the removed commit back: the commit is made again on the older one.
func TestRewound(t *testing.T) {
	r := newRepository(t, waiting)
	older := r.Head()
	r.CommitFile("Withdrawn", "withdrawn.txt", "x")
	remote := r.bare()
	c := r.openWith(commit.Options{Step: func(name string) error {
		if strings.HasPrefix(name, "push") && remote.Head() != older {
			remote.Git("update-ref", "refs/heads/main", older)
		}
		return nil
	}})
	result, err := r.push(t.Context(), c)
	if err != nil || remote.Head() != result.Commit.String() || remote.Line("rev-parse", "main^") != older {
		t.Errorf("main is at %s, on %s: %v", remote.Head(), remote.Line("rev-parse", "main^"), err)
	}
}

// TestFollow: the clone also receives the other changes of the remote. If Git cannot write them,
// the clone stays unchanged.
func TestFollow(t *testing.T) {
	for name, tc := range map[string]struct {
		other func(*repository) // pushed by another person
		local func(*repository)
		left  string
	}{
		"nothing": {},
		"files of all kinds": {other: func(r *repository) {
			r.script("bin/run", "#!/bin/sh\n")
			must.Do(r.TB, os.Symlink("../README.md", r.Path("bin/read")))
			r.Write("README.md", "changed\n")
			r.Git("rm", "--quiet", "signed.txt")
			r.Write("unsigned/z.yaml", "z: 1\n")
		}},
		"somebody's file is in the way": {other: func(r *repository) { r.Write("new.txt", "theirs\n") },
			local: func(r *repository) { r.Write("new.txt", "mine\n") }, left: "git pull"},
		"somebody's large file is in the way": {other: func(r *repository) { r.Write("new.txt", "theirs\n") },
			local: func(r *repository) { r.Write("new.txt", strings.Repeat("mine\n", 7<<20)) }, left: "git pull"},
		"somebody's change is in the way": {other: func(r *repository) { r.Write("README.md", "theirs\n") },
			local: func(r *repository) { r.Write("README.md", "mine\n") }, left: "git pull"},
		"a change elsewhere stays": {local: func(r *repository) { r.Write("README.md", "mine\n") }},
		"a submodule": {other: func(r *repository) {
			r.Git("-c", "protocol.file.allow=always", "submodule", "--quiet", "add", r.Path("../remote.git"), "sub")
		}, left: "submodule"},
		"a filter": {other: func(r *repository) { r.Write(".gitattributes", "*.bin filter=lfs\n"); r.Write("a.bin", "x") }},
		"another branch": {local: func(r *repository) {
			r.Git("checkout", "--quiet", "-b", "topic")
			r.Git("branch", "--quiet", "--set-upstream-to=origin/main")
		}},
		"commits of its own": {local: func(r *repository) { r.Write("mine.txt", "x"); r.Commit("Mine") }, left: "has other commits"},
		"no branch":          {local: func(r *repository) { r.Git("checkout", "--quiet", "--detach") }, left: "is not on"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := newRepository(t, waiting)
			remote := r.bare()
			if tc.other != nil {
				other := remote.clone("other")
				tc.other(other)
				other.Commit("Other")
				other.Git("push", "--quiet")
			}
			if tc.local != nil {
				tc.local(r)
			}
			status, before := r.Git("status", "--porcelain"), r.Head()
			c := r.open()
			got, err := c.Push(context.Background(), author,
				commit.Push{To: commit.Remote{Name: "origin", Branch: "main"}}, seal(""))
			must.That(t, err == nil && (got.Left != "") == (tc.left != "") && strings.Contains(got.Left, tc.left),
				"left: %q, %v, want %q", got.Left, err, tc.left)
			expect.Is(t, "the remote is at", got.Commit.String(), remote.Head())
			want := got.Commit.String()
			if tc.left != "" {
				want = before
			}
			expect.Is(t, "HEAD", want, r.Head())
			after := r.Git("status", "--porcelain")
			expect.That(t, after == status || strings.HasPrefix(status, "## "), "git status %q, was %q", after, status)
			if status == "" {
				r.clean()
			}
		})
	}
}

// TestRemoteNames: names that look like an option, a pattern or an address are neither a remote nor a branch.
func TestRemoteNames(t *testing.T) {
	r := newRepository(t, waiting)
	r.bare()
	c := r.open()
	for name, valid := range map[string]bool{
		"": true, "origin": true, "upstream": false, "--upload-pack=touch x": false, r.Path("../remote.git"): false,
	} {
		got, err := c.Remote(commit.Remote{Name: name})
		if valid != (err == nil) || valid && got.String() != "origin/main" || !valid && !errors.Is(err, commit.ErrNoRemote) {
			t.Errorf("%q: %s, %v, valid %t", name, got, err, valid)
		}
	}
	for branch, valid := range map[string]bool{
		"release/1.0": true, "a+b@1.0": true, "web@1": true, "für/x,y=z%#'$(id)": true,
		"+main": true, // valid for Git, and never at the start of a refspec here
		"-f":    false, "HEAD": false, "@": false, "main@{1}": false, "refs/heads/main": false, "caf\xe9": false, "main:other": false,
		"*": false, "a*": false, "a..b": false, "../../HEAD": false, "main.lock": false, "a b": false, "/a": false, "a/": false,
	} {
		got, err := c.Remote(commit.Remote{Branch: branch})
		if valid != (err == nil) || valid && got.String() != "origin/"+branch || !valid && !errors.Is(err, commit.ErrNoRemote) {
			t.Errorf("%q: %s, %v, valid %t", branch, got, err, valid)
		}
		err = commit.CheckBranch(branch)
		expect.That(t, valid == (err == nil) && (valid || errors.Is(err, commit.ErrBranchName)), "%q: %v", branch, err)
	}
	expect.Cause(t, commit.CheckBranch(""), commit.ErrBranchName)
}

// TestPlantedNames: the push updates the right branch with the right commit, even if an attacker
// names tags or branches like its hash or like the end of the branch.
func TestPlantedNames(t *testing.T) {
	r := newRepository(t, waiting)
	told := start(t, order{Dir: r.copy().bare().clone("told").Dir, Mode: "push", KillAt: -1})
	must.That(t, told.Err == "", "%v", told.Err)
	planted := r.CommitFile("Planted", "planted.txt", "x")
	r.Git("reset", "--quiet", "--hard", "HEAD~1")
	for name, plant := range map[string]func(remote, clone *repository){
		"a tag of the hash":        func(_, clone *repository) { clone.Git("tag", told.Commit, planted) },
		"a branch of the hash":     func(_, clone *repository) { clone.Git("update-ref", "refs/heads/"+told.Commit, planted) },
		"a tag like the branch":    func(remote, _ *repository) { remote.Git("update-ref", "refs/tags/refs/heads/main", "main") },
		"a branch like the branch": func(remote, _ *repository) { remote.Git("update-ref", "refs/heads/refs/heads/main", "main") },
		"a hook that allows no reference of polex": func(_, clone *repository) {
			clone.script(".git/hooks/reference-transaction", "#!/bin/sh\n! grep -q refs/polex/\n")
		},
		"a reference like it": func(remote, _ *repository) { remote.Git("update-ref", "refs/refs/heads/main", "main") },
	} {
		t.Run(name, func(t *testing.T) {
			origin := r.copy()
			origin.TB = t
			remote := origin.bare()
			clone := remote.clone("promoting")
			clone.Git("fetch", "--quiet", r.Dir, planted)
			plant(remote, clone)
			got := start(t, order{Dir: clone.Dir, Mode: "push", KillAt: -1})
			if got.Err != "" || got.Commit != told.Commit || remote.Line("for-each-ref", "--format=%(objectname)", "refs/heads/main") != told.Commit || clone.Head() != told.Commit {
				t.Errorf("%+v, and the remote has %s", got, remote.Line("for-each-ref", "--format=%(objectname)", "refs/heads/main"))
			}
			expect.Is(t, "left", "", clone.Git("for-each-ref", "refs/polex", "refs/worktree"))
		})
	}
}

// TestLongName: a pushed file name that this file system does not allow keeps the clone from
// following and leaves no journal. It must not block later runs.
func TestLongName(t *testing.T) {
	r := newRepository(t, waiting)
	r.bare()
	blob, long := r.Line("rev-parse", "HEAD:README.md"), strings.Repeat("n", 300)
	r.Git("update-index", "--add", "--cacheinfo", "100644,"+blob+",new/"+long)
	tip := r.Line("commit-tree", "-p", "HEAD", "-m", "Long", r.Line("write-tree"))
	r.Git("reset", "--quiet")
	r.Git("push", "--quiet", "origin", tip+":main")
	got := r.run("push")
	expect.That(t, got.Err == "" && strings.Contains(got.Left, long), "it ended with %+v", got)
	r.clean()
	got = r.run("nothing")
	expect.That(t, got.Err == "" && got.Recovered == "", "the next run says %+v", got)
}
