// Package cli is what every polex binary shares: streams, exit statuses, the
// walk over its inputs, the report in its formats and the configuration file.
//
// The library decides, the command renders, main exits.
package cli
