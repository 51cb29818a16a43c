package main

import (
	"context"
	"io"
)

// interruptible is a reader whose Read returns at the end of its context, although the reader below, such as a terminal, blocks. It reads
// one block ahead.
type interruptible struct {
	ctx    context.Context
	blocks chan block
	rest   []byte
}

type block struct {
	data []byte
	err  error
}

func newInterruptible(ctx context.Context, r io.Reader) *interruptible {
	i := &interruptible{ctx: ctx, blocks: make(chan block)}
	go i.pump(r)
	return i
}

// pump ends with the context or the input. A Read that blocks for ever ends with the process.
func (i *interruptible) pump(r io.Reader) {
	for {
		data := make([]byte, 64<<10)
		n, err := r.Read(data)
		select {
		case i.blocks <- block{data[:n], err}:
		case <-i.ctx.Done():
			return
		}
		if err != nil {
			close(i.blocks)
			return
		}
	}
}

func (i *interruptible) Read(p []byte) (int, error) {
	if len(i.rest) > 0 {
		n := copy(p, i.rest)
		i.rest = i.rest[n:]
		return n, nil
	}
	select {
	case <-i.ctx.Done():
		return 0, context.Cause(i.ctx)
	case b, ok := <-i.blocks:
		if !ok {
			return 0, io.EOF
		}
		n := copy(p, b.data)
		i.rest = b.data[n:]
		if len(i.rest) > 0 && b.err == io.EOF {
			b.err = nil // the closed channel returns it from now on
		}
		return n, b.err
	}
}
