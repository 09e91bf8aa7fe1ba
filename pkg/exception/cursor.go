package exception

import (
	"bytes"
	"unicode/utf8"
)

// runeCursor finds the character at a line and column, counted from 1. Calls in the order of the
// source take linear time together.
type runeCursor struct {
	source       []byte
	offset       int
	line, column int // of offset
}

// at returns the first byte of a character, or 0 if there is none.
func (c *runeCursor) at(line, column int) byte {
	if line < c.line || line == c.line && column < c.column {
		c.offset, c.line, c.column = 0, 1, 1
	}
	if at := c.find(line, column); at < len(c.source) {
		return c.source[at]
	}
	return 0
}

// find returns the offset of a character that is not before the last one. Without such a line, it is the length of
// the source.
func (c *runeCursor) find(line, column int) int {
	for c.line < line {
		next := bytes.IndexByte(c.source[c.offset:], '\n')
		if next < 0 {
			return len(c.source)
		}
		c.offset, c.line, c.column = c.offset+next+1, c.line+1, 1
	}
	for c.column < column && c.offset < len(c.source) {
		_, size := utf8.DecodeRune(c.source[c.offset:])
		c.offset, c.column = c.offset+size, c.column+1
	}
	return c.offset
}
