// Package postgres keeps durable jobs in Postgres, for several processes on
// several machines.
//
// Start in store.go (Open) and claim.go, then finish.go; group.go is how calls
// share a commit; fleet.go is the scheduler's side of the same database; sql has
// the statements, migrations the tables.
// State: the database owns all of it; the clock is the database's, too. A Store
// owns its pool of connections, an election the connection that holds its lock.
// Every method blocks on the server, for at most about ten seconds.
// It never waits for a row that another claim has taken, never counts without
// a bound, and never shows the address' password.
// Limits: Postgres 13 or newer; behind a pooler only one that pools sessions.
package postgres
