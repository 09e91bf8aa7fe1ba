// Package kyvernocli runs Kyverno's command line.
package kyvernocli
