package jobsclient

import (
	"time"

	"github.com/spillway-media/spillway/jobs"
)

// Entered is what became of a job that was asked for.
type Entered struct {
	jobs.Document
	// Existing is true when an earlier job has the key of this one.
	Existing bool `json:"existing"`
}

// Detail is all there is to know about one job.
type Detail struct {
	jobs.Document
	History []jobs.Attempt `json:"history"`
}

// Page is a part of a list, newest first.
type Page struct {
	Jobs []jobs.Document `json:"jobs"`
	// Next asks for what follows; empty at the end.
	Next string `json:"next,omitempty"`
}

// Question chooses jobs.
type Question struct {
	State               jobs.State
	Queue, Type, Tenant string
	Limit               int
	Cursor              string
}

// Watcher is told of a job whenever it has changed.
type Watcher func(jobs.Document)

// pollEvery is how often a job is looked at where nothing tells of its changes.
const pollEvery = 250 * time.Millisecond
