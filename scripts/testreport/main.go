package main

import (
	"fmt"
	"os"
)

func main() {
	report := NewReport(os.Stdout)
	if err := report.Read(os.Stdin); err != nil {
		fmt.Fprintln(os.Stderr, "testreport:", err)
		os.Exit(1)
	}
	report.Close()
	if !report.Good() {
		os.Exit(1)
	}
}
