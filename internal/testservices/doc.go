// Package testservices starts a real Postgres, Redis and S3 server for tests.
//
// Start in postgres.go, redis.go and s3.go; process.go is how all are run.
// State: each value owns one server, its data folder and its port; whoever
// called Postgres or Redis owns the value, and the end of its test stops it.
// Starting, Kill and Restart block until the server answers, or is gone.
// It never skips: where a program is missing, the test fails and says which.
// It never signals a process it did not start.
// Limits: Linux and macOS; ports from 15000 to 32000, which no outgoing
// connection is given; on Linux a server dies with the test's process.
package testservices
