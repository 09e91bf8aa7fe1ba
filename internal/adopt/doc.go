// Package adopt plans how a repository that has exceptions already starts to use
// polex: each exception moves to the folder of pending exceptions, in the form in which
// it is deployed, with an expiry.
//
//  1. Each YAML and JSON file is read leniently, document by document, and lists are
//     taken apart. What a deployer uses as a patch is not an exception.
//  2. The Flux Kustomizations and Argo CD Applications of the repository are rendered as
//     their controllers render them: kustomize in memory, then Flux's substitution. A
//     parent renders its children first. Nothing is fetched and no plugin runs: only
//     what leads to an exception or a deployer is given to kustomize. What no deployer
//     reaches is built from the topmost kustomizations that reach it, or is deployed as
//     it is written.
//  3. An exception with one deployed form is adopted. One with several, or with none that
//     is known, takes the form of the one live object of its name, or is listed with the
//     flag that decides. Nothing is guessed.
//  4. It is written with the comments and in the order of its text.
//  5. A stated expiry stays. The others get expiries that are spread over a window.
//  6. The old documents leave their files, and files that are empty then leave the
//     kustomizations that list them. A deployer is pointed to the signed folder, or a new
//     one is written beside it.
//
// The package does no I/O and knows no clock: files come in, and a [Plan] comes out.
package adopt
