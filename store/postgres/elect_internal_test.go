package postgres

import (
	"log/slog"
	"testing"
	"time"

	"github.com/spillway-media/spillway/internal/testservices"
)

// A process that is stopped keeps its connection, and with it the lock.
func TestAnElectedProcessThatIsSilentLosesItsElection(t *testing.T) {
	dsn := testservices.Postgres(t, "fsync=off").NewDatabase(t)
	if _, _, err := Migrate(t.Context(), dsn); err != nil {
		t.Fatal(err)
	}
	s, err := Open(t.Context(), dsn, slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	if s.silence != electionSilence {
		t.Errorf("it may be silent for %s; want %s", s.silence, electionSilence)
	}
	s.silence = 50 * time.Millisecond
	silent, err := s.Elect(t.Context(), "reconciler")
	if err != nil || silent == nil {
		t.Fatal(silent, err)
	}
	for {
		next, err := s.Elect(t.Context(), "reconciler")
		if err != nil {
			t.Fatal(err)
		}
		if next != nil {
			next.Release()
			break
		}
	}
	if err := silent.Held(t.Context()); err == nil {
		t.Error("who was silent thinks that it is still elected")
	}
}
