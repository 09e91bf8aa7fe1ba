// Package servers runs the real programs of the end-to-end tests as processes on loopback.
//
// A [Group] stops as a whole, the last program first, and with the process that started it. Every
// program writes a log file of its own; failures show its last lines.
package servers
