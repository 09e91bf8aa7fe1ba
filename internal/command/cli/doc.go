// Package cli has the parts that all polex commands share: streams, exit codes, reading of input
// files, the report in its formats, and the configuration file.
//
// The library decides, the command renders, main exits.
package cli
