package main

import (
	"testing"

	"github.com/anishathalye/porcupine"
)

func compared(value int64) *int64 { return &value }

func TestWhatIsLinearizableAndWhatIsNot(t *testing.T) {
	write := operation{Kind: "write", Value: 1, Known: true, Call: 0, Return: 10}
	lost := operation{Kind: "write", Value: 1, Call: 0, Return: 10}
	swap := operation{Kind: "cas", Value: 2, Compared: compared(1), Known: true, Call: 30, Return: 40}
	read := func(value, call, back int64) operation {
		return operation{Kind: "read", Value: value, Known: true, Call: call, Return: back}
	}
	cases := []struct {
		what    string
		history []operation
		ought   porcupine.CheckResult
	}{
		{"a read after a write", []operation{write, read(1, 20, 30)}, porcupine.Ok},
		{"a stale read", []operation{write, read(0, 20, 30)}, porcupine.Illegal},
		{"a read beside a write", []operation{write, read(0, 5, 30)}, porcupine.Ok},
		{"back in time", []operation{write, read(1, 1, 4), read(0, 5, 9)}, porcupine.Illegal},
		{"nobody knows, and it was", []operation{lost, read(1, 20, 30)}, porcupine.Ok},
		{"nobody knows, and it was not", []operation{lost, read(0, 20, 30)}, porcupine.Ok},
		{"it came late", []operation{lost, read(0, 20, 30), read(1, 40, 50)}, porcupine.Ok},
		{"and went again", []operation{lost, read(1, 20, 30), read(0, 40, 50)}, porcupine.Illegal},
		{"a swap", []operation{write, swap, read(2, 50, 60)}, porcupine.Ok},
		{"a swap of nothing", []operation{swap, read(2, 50, 60)}, porcupine.Illegal},
		{"a lost write", []operation{write, swap, read(1, 50, 60)}, porcupine.Illegal},
	}
	for _, c := range cases {
		if is := check(c.history); is != c.ought {
			t.Errorf("%s: %s, not %s", c.what, is, c.ought)
		}
	}
}
