// Package githubtest plays the part of GitHub and of GitLab that commits: their APIs over a real bare
// repository, with rules for the branch main. It enforces the rules for git push too, by a hook.
package githubtest
