// Package adopt plans how a repository with existing exceptions starts to use polex. Each exception
// moves to the folder of pending exceptions, in its deployed form and with an expiry.
//
//  1. adopt reads each YAML and JSON file document by document, tolerates errors, and splits
//     lists. A patch of a deployer is not an exception.
//  2. It renders the Flux Kustomizations and Argo CD Applications of the repository as their
//     controllers do: kustomize in memory, then Flux's substitution. Parents are rendered
//     before their children. It fetches nothing and runs no plugins. Kustomize reads only
//     files that lead to an exception or a deployer. Other exceptions are built from the
//     topmost kustomizations that reach them, or keep the form of their file.
//  3. It adopts an exception with one deployed form. If there are several or none, it uses the
//     only live object of that name, or reports the flag that decides. It never guesses.
//  4. It keeps the comments and the field order of the original text.
//  5. It keeps a stated expiry. It spreads the other expiries over a window.
//  6. It removes the old documents from their files, and empty files from the kustomizations
//     that list them. It redirects a deployer to the signed folder, or adds a new one.
//
// The package does no I/O and reads no clock: its input is files, its output is a [Plan].
package adopt
