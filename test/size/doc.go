// Package size measures the released commands: their size, start-up time and memory for printing
// the version.
package size
