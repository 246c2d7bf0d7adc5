package app

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/spillway-media/spillway/fleet"
	"github.com/spillway-media/spillway/internal/app/settings"
	"github.com/spillway-media/spillway/internal/httpapi"
	"github.com/spillway-media/spillway/internal/machine"
	"github.com/spillway-media/spillway/internal/source"
	"github.com/spillway-media/spillway/internal/transform"
	"github.com/spillway-media/spillway/internal/web"
)

// program holds the parts while Run lasts. All fields are set by build.
type program struct {
	*pipeline
	role    Role
	sources *source.Router
	warming *source.Router // to the image server whose cache is warmed; nil for this one
	stores  transform.Stores
	cfg     settings.Config
	log     *slog.Logger
	ready   *readiness
	tracing tracing
	backlog *backlog // nil without jobs
	edge    *httpapi.Server
	public  *door // nil in Work
	admin   *door // nil when off
}

func (p *program) doors() []*door {
	var doors []*door
	for _, d := range []*door{p.public, p.admin} {
		if d != nil {
			doors = append(doors, d)
		}
	}
	return doors
}

// build makes the parts in the order they need each other. Nothing runs yet,
// but the listeners are open at the end, so that a taken port is an error here.
func build(ctx context.Context, cfg settings.Config, role Role, log *slog.Logger) (*program, error) {
	demo := role == Up && cfg.SourceRoot == ""
	if demo {
		cfg.SourceRoot = filepath.Join(cfg.Data, "demo")
		log.Info("making demo pictures", "folder", cfg.SourceRoot)
		if err := web.EnsureDemo(ctx, cfg.SourceRoot); err != nil {
			return nil, err
		}
	}
	cfg = jobsDefaults(cfg, role)
	warnOfGaps(cfg, role, log)
	facts := machine.Seen()
	limitHeap(facts, cfg.MemoryBudget.Of(facts.Memory)+int64(cfg.SpoolMemory))
	spareProcessors(facts.Cores(), transformConfig(cfg, facts).Jobs)
	sources, err := source.New(ctx, sourceConfig(cfg), log)
	if err != nil {
		return nil, fmt.Errorf("open sources: %w", err)
	}
	stores, err := openStores(cfg, log)
	if err != nil {
		return nil, err
	}
	p := &program{role: role, sources: sources, stores: stores, cfg: cfg, log: log}
	if cfg.Database != "" {
		if p.backlog, err = newBacklog(ctx, cfg, log); err != nil {
			return nil, err
		}
	}
	if p.pipeline, err = newPipeline(cfg, facts, p.originals(), stores, log); err != nil {
		return nil, err
	}
	p.ready = &readiness{Service: p.service}
	if err := p.staffBacklog(ctx, facts); err != nil {
		return nil, err
	}
	if p.tracing, err = newTracing(ctx, cfg.OTLPEndpoint, ReadBuild().Version, log); err != nil {
		return nil, err
	}
	site, err := p.newSite(role, demo)
	if err != nil {
		return nil, err
	}
	return p, p.open(ctx, site, role)
}

// newSite is what lies beside the API: in Up the playground, else nothing.
func (p *program) newSite(role Role, demo bool) (httpapi.Site, error) {
	if role != Up {
		return nil, nil
	}
	keys, err := p.cfg.Keys()
	if err != nil {
		return nil, err
	}
	page, err := web.New(web.Config{
		Root: rootFiles(p.cfg.SourceRoot), Demo: demo, Signed: len(keys) > 0,
		Abilities: p.engine.Abilities(), Version: ReadBuild().Version,
	})
	if err != nil {
		return nil, fmt.Errorf("make playground: %w", err)
	}
	return page, nil
}

// rootFiles lets the playground list the root; a bucket is not listed.
func rootFiles(root string) fs.FS {
	if strings.Contains(root, "://") {
		return nil
	}
	return os.DirFS(root)
}

// open puts the edge in front of the service and begins to listen.
func (p *program) open(ctx context.Context, site httpapi.Site, role Role) error {
	config, err := edgeConfig(p.cfg)
	if err != nil {
		return err
	}
	config.Site, config.MetricsOnPublic = site, role == Up
	config.Spools, config.Engine, config.Tracer = p.spools, p.engineStats, p.tracing.provider
	config.Pools, config.Origins = p.service.Pools, p.sources.Origins
	config.H2 = p.streams
	if config.Jobs, err = p.jobsConfig(role); err != nil {
		return err
	}
	config.JobStats = p.jobStats()
	if p.backlog != nil && p.backlog.file != nil {
		config.Fleet = func() (fleet.Stats, bool) { return p.backlog.planner.Load().stats() }
	}
	if p.edge, err = httpapi.New(config, p.ready, p.log); err != nil {
		return err
	}
	if role != Work {
		err = p.openPublic(ctx)
	}
	if err == nil && p.cfg.AdminListen != "" {
		p.admin, err = openDoor(ctx, "admin-listen", p.cfg.AdminListen, nil, p.cfg, p.edge.Admin(), p.log)
	}
	if err != nil {
		p.close(ctx)
		if p.backlog != nil {
			err = errors.Join(err, p.backlog.close())
		}
	}
	return err
}

// streams are the listeners that have our own server of HTTP/2. The edge is made
// before they are, and asks only once they serve.
func (p *program) streams() []httpapi.H2Listener {
	var listeners []httpapi.H2Listener
	for _, d := range p.doors() {
		if d.h2 != nil {
			listeners = append(listeners, httpapi.H2Listener{Name: d.name, Server: d.h2})
		}
	}
	return listeners
}

func (p *program) openPublic(ctx context.Context) error {
	own, err := p.credentials()
	if err != nil {
		return err
	}
	p.public, err = openDoor(ctx, "listen", p.cfg.Listen, own, p.cfg, p.edge.Public(), p.log)
	return err
}

// credentials are nil where the settings ask for none.
func (p *program) credentials() (*credentials, error) {
	switch {
	case p.cfg.TLSCert != "":
		files, err := openKeyPair(p.cfg.TLSCert, p.cfg.TLSKey, p.log, time.Now)
		if err != nil {
			return nil, err
		}
		return &credentials{get: files.get}, nil
	case p.cfg.HTTPS:
		machine, _ := os.Hostname() // without one there are names enough
		names, addresses := ownNames(p.cfg.Listen, machine)
		pair, err := ownCertificate(p.cfg.OwnCertificate(), names, addresses, time.Now())
		if err != nil {
			return nil, err
		}
		get := func(*tls.ClientHelloInfo) (*tls.Certificate, error) { return &pair, nil }
		return &credentials{get: get, fingerprint: fingerprint(pair)}, nil
	}
	return nil, nil
}

func (p *program) engineStats() httpapi.EngineStats {
	s := p.engine.Stats()
	return httpapi.EngineStats{MemoryBytes: s.MemoryBytes, Allocations: s.Allocations, OpenFiles: s.Files}
}

// edgeConfig is what the settings tell the HTTP edge.
func edgeConfig(c settings.Config) (httpapi.Config, error) {
	keys, err := c.Keys()
	if err != nil {
		return httpapi.Config{}, err
	}
	config := httpapi.DefaultConfig()
	config.Limits, config.MaxURL = c.Media(), c.MaxURLBytes
	config.Keys, config.Presets, config.PresetsOnly = keys, c.Presets, c.PresetsOnly
	config.MaxAge, config.ErrorMaxAge, config.HonourOrigin = c.CacheMaxAge, c.ErrorMaxAge, c.HonourOriginCache
	config.ClientHints, config.AllowOrigin = c.ClientHints, c.CORSOrigin
	config.StallTimeout, config.MinWriteRate = c.StallTimeout, int64(c.MinWriteRate)
	return config, nil
}

// edgeFaults are those the edge finds in its part of the settings. Faults of
// the keys are Validate's to tell.
func edgeFaults(c settings.Config) error {
	c.SignatureKeyFile, c.SignatureKeys = "", nil
	if len(c.Presets) == 0 {
		c.PresetsOnly = false
	}
	config, err := edgeConfig(c)
	if err != nil {
		return err
	}
	return config.Validate()
}
