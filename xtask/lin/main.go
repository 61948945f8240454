// Command lin checks histories of registers for linearizability, with porcupine. Each file that is
// named has one history: a line of JSON for each operation. It prints a line for each and ends with
// 1 if one is not linearizable, with 2 if that could not be found out.
package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"math"
	"os"
	"time"

	"github.com/anishathalye/porcupine"
)

// How long one history may take.
const limit = 2 * time.Minute

type operation struct {
	Client   int    `json:"client"`
	Register int    `json:"register"`
	Kind     string `json:"kind"`
	Value    int64  `json:"value"`
	Compared *int64 `json:"compared"`
	Known    bool   `json:"known"`
	Call     int64  `json:"call"`
	Return   int64  `json:"return"`
}

// A register that begins with 0. Of a compare-and-set it is known that it succeeded, or nothing.
var model = porcupine.Model{
	Partition: func(history []porcupine.Operation) [][]porcupine.Operation {
		parts := map[int][]porcupine.Operation{}
		for _, op := range history {
			register := op.Input.(operation).Register
			parts[register] = append(parts[register], op)
		}
		var all [][]porcupine.Operation
		for _, part := range parts {
			all = append(all, part)
		}
		return all
	},
	Init: func() interface{} { return int64(0) },
	Step: func(state, input, _ interface{}) (bool, interface{}) {
		is, op := state.(int64), input.(operation)
		switch {
		case op.Kind == "read":
			return is == op.Value, is
		case op.Kind == "write":
			return true, op.Value
		case op.Compared != nil && *op.Compared == is:
			return true, op.Value
		default:
			return !op.Known, is
		}
	},
	Equal: func(a, b interface{}) bool { return a == b },
}

func check(operations []operation) porcupine.CheckResult {
	var history []porcupine.Operation
	for _, op := range operations {
		end := op.Return
		if !op.Known {
			// It may happen at any time from its call on, or never.
			end = math.MaxInt64
		}
		history = append(history, porcupine.Operation{
			ClientId: op.Client, Input: op, Call: op.Call, Output: nil, Return: end,
		})
	}
	return porcupine.CheckOperationsTimeout(model, history, limit)
}

func read(name string) ([]operation, error) {
	file, err := os.Open(name)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	var operations []operation
	lines := bufio.NewScanner(file)
	for lines.Scan() {
		var op operation
		if err := json.Unmarshal(lines.Bytes(), &op); err != nil {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
		operations = append(operations, op)
	}
	return operations, lines.Err()
}

func main() {
	status, passed := 0, 0
	fmt.Printf("lin: %d points from seed %s\n", len(os.Args)-1, os.Getenv("LIN_SEED"))
	for _, name := range os.Args[1:] {
		operations, err := read(name)
		if err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(2)
		}
		result := check(operations)
		fmt.Printf("%s: %d operations: %s\n", name, len(operations), result)
		switch {
		case result == porcupine.Ok:
			passed++
		case result == porcupine.Illegal:
			status = 1
		case status == 0:
			status = 2
		}
	}
	fmt.Printf("%d passed, %d failed\n", passed, len(os.Args)-1-passed)
	os.Exit(status)
}
