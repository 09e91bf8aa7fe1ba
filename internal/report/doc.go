// Package report shows a ledger: to people as a table, Markdown and a page, to programs
// as JSON, CSV and metrics. Texts in a ledger may be hostile, and each format escapes them.
package report
