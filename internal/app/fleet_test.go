package app_test

import (
	"context"
	"errors"
	"io"
	"net/http"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/spillway-media/spillway/internal/app"
	"github.com/spillway-media/spillway/internal/app/settings"
)

func TestUpSchedulesInVPSOnlyAndStartsNothing(t *testing.T) {
	p := run(t, app.Up, "listening", func(*app.Config) {})
	if line := p.log.await(t, "scheduling"); !strings.Contains(line, `"mode":"vps_only"`) {
		t.Errorf("it says %s", line)
	}
	if line := p.log.await(t, "scaling decision"); !strings.Contains(line, `"kind":"hold"`) || !strings.Contains(line, `"rule":"mode"`) {
		t.Errorf("its first decision is %s", line)
	}
	if left, _ := filepath.Glob(filepath.Join(p.cfg.Data, "machines")); len(left) > 0 {
		t.Errorf("%v is there though no file enables provider process", left)
	}
	metrics := awaitMetric(t, p.address, "spillway_fleet_rounds_total 1")
	for _, want := range []string{`spillway_fleet_mode{mode="vps_only"} 1`, "spillway_fleet_leader 1", "spillway_fleet_latched 0"} {
		if !strings.Contains(metrics, want) {
			t.Errorf("metrics do not have %s", want)
		}
	}
}

// awaitMetric gives the metrics once they have a line.
func awaitMetric(t *testing.T, address, line string) string {
	t.Helper()
	for deadline := time.Now().Add(limit); ; {
		metrics := body(t, "http://"+address+"/metrics")
		if strings.Contains(metrics, line) {
			return metrics
		}
		if time.Now().After(deadline) {
			t.Fatalf("metrics do not have %s", line)
		}
	}
}

func body(t *testing.T, url string) string {
	t.Helper()
	client := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}, Timeout: limit}
	response, err := client.Get(url)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = response.Body.Close() }()
	content, err := io.ReadAll(response.Body)
	if err != nil {
		t.Fatal(err)
	}
	return string(content)
}

func TestScheduleTellsOperatorsHowItGoesAndEndsWhenItIsTold(t *testing.T) {
	data := t.TempDir()
	p := run(t, app.Schedule, "listening for operators", func(c *app.Config) {
		c.Data, c.Database, c.AdminListen = data, "sqlite://"+filepath.Join(data, "jobs.db"), "127.0.0.1:0"
	})
	p.log.await(t, "scaling decision")
	if metrics := awaitMetric(t, p.address, "spillway_fleet_rounds_total 1"); strings.Contains(metrics, "spillway_jobs_in_flight") {
		t.Error("metrics tell of pictures, which it does not make")
	}
	if status := get(t, "http://"+p.address+"/readyz"); status != http.StatusOK {
		t.Errorf("/readyz is %d", status)
	}
	if err := p.stop(); err != nil {
		t.Error(err)
	}
	p.log.await(t, "stopped")
}

func TestScheduleNeedsADatabase(t *testing.T) {
	fault := &settings.Error{}
	if err := app.CheckRole(settings.Defaults(), app.Schedule); !errors.As(err, &fault) || fault.Key != "database" {
		t.Errorf("fault = %v", err)
	}
}

func TestAStopBeforeThereIsADatabaseIsOrderly(t *testing.T) {
	cfg := settings.Defaults()
	cfg.Database = "postgres://127.0.0.1:1/none"
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := app.Run(ctx, cfg, app.Schedule, app.NewLogger(cfg.Observing, io.Discard, false)); err != nil {
		t.Errorf("it ends with %v", err)
	}
}
