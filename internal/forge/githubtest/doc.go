// Package githubtest plays GitHub as a forge that commits: its API over a real bare repository, with
// rules for the branch main. It enforces the rules for git push too, by a hook.
package githubtest
