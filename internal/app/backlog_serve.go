package app

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/spillway-media/spillway/internal/app/settings"
	"github.com/spillway-media/spillway/internal/derive"
	"github.com/spillway-media/spillway/internal/httpapi"
	"github.com/spillway-media/spillway/internal/notify"
)

// jobsConfig is what /v1 is made of; nil where there are no jobs, or nobody
// serves them.
func (p *program) jobsConfig(role Role) (*httpapi.JobsConfig, error) {
	if p.backlog == nil || role == Work {
		return nil, nil
	}
	tokens, err := readTokens(p.cfg)
	if err != nil {
		return nil, err
	}
	if role == Up {
		own, err := p.ownToken()
		if err != nil {
			return nil, err
		}
		tokens = append(tokens, own...)
	}
	return &httpapi.JobsConfig{
		Tokens: tokens, Client: p.backlog.client, Store: p.backlog.store, Scaling: lateDesk{p.backlog.store},
		Uploads: derive.NewUploads(p.backlog.blobs, p.cfg.SpoolDir), Outputs: p.backlog.blobs,
		MaxUpload: int64(p.cfg.MaxSourceBytes), BodyTimeout: p.cfg.StallTimeout,
	}, nil
}

// jobStats are where the metrics of jobs are read; nil without jobs.
func (p *program) jobStats() *httpapi.JobStats {
	b := p.backlog
	if b == nil {
		return nil
	}
	stats := &httpapi.JobStats{Store: b.store, Bell: b.bell.Stats, Keeper: b.keeper.Stats}
	if b.worker != nil {
		stats.Worker = b.worker.Stats
	}
	if b.hooks != nil {
		stats.Webhooks = b.hooks.Stats
	}
	return stats
}

// CheckRole finds what is missing in settings for a role, which is no fault in
// others.
func CheckRole(c settings.Config, role Role) error {
	fault := func(key, what string) error { return &settings.Error{Key: key, What: what} }
	switch {
	case c.HTTPS && role == Serve:
		return fault("https", "true is for up only, which is for one machine; give tls-cert and tls-key")
	case role == Work && c.Database == "":
		return fault("database", "must be given, as there is nothing to work on without; all processes of a cluster have the same")
	case role == Schedule && c.Database == "":
		return fault("database", "must be given, as there is nothing to decide on without; all processes of a cluster have the same")
	case role == Serve && c.Database != "" && c.APITokenFile == "":
		return fault("api-token-file", "must be given when database is, or nobody could ask for jobs; the command token makes a token and its line")
	}
	return nil
}

// readTokens reads the file that the settings name, if they do.
func readTokens(c settings.Config) (httpapi.Tokens, error) {
	if c.APITokenFile == "" {
		return nil, nil
	}
	content, err := os.ReadFile(c.APITokenFile)
	if err != nil {
		return nil, fmt.Errorf("api-token-file: %w", err)
	}
	tokens, err := httpapi.ParseTokens(content)
	if err == nil && len(tokens) == 0 {
		err = errors.New("it holds no token")
	}
	if err != nil {
		return nil, fmt.Errorf("api-token-file: %q: %w", c.APITokenFile, err)
	}
	return tokens, nil
}

// ownName is what logs call who uses the token that up made.
const ownName = "up"

// ownToken makes the token of up at its first start, and accepts it from then
// on. It is for the user of this machine, who can read the file.
func (p *program) ownToken() (httpapi.Tokens, error) {
	path := p.cfg.OwnToken()
	content, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		if err = makeOwnToken(path); err == nil {
			content, err = os.ReadFile(path)
		}
	}
	if err != nil {
		return nil, fmt.Errorf("token of this server: %w", err)
	}
	token := strings.TrimSpace(string(content))
	if token == "" {
		return nil, fmt.Errorf("token of this server: %q is empty; remove it, and the next start makes another", path)
	}
	sum := sha256.Sum256([]byte(token))
	tokens, err := httpapi.ParseTokens([]byte(ownName + " sha256:" + hex.EncodeToString(sum[:])))
	if err != nil {
		return nil, fmt.Errorf("token of this server: %w", err)
	}
	p.log.Info("jobs API takes the token in a file", "file", path)
	return tokens, nil
}

// makeOwnToken writes it so that it is there in whole or not at all, and that
// of two processes at once one wins.
func makeOwnToken(path string) error {
	token, _, err := httpapi.NewToken(ownName, false)
	if err != nil {
		return err
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return err
	}
	file, err := os.CreateTemp(filepath.Dir(path), ".api-token-*") // with mode 0600
	if err != nil {
		return err
	}
	defer func() { _ = os.Remove(file.Name()) }()
	_, err = fmt.Fprintln(file, token)
	if err = errors.Join(err, file.Close()); err != nil {
		return err
	}
	if err := os.Link(file.Name(), path); err != nil && !errors.Is(err, fs.ErrExist) {
		return err
	}
	return nil
}

// addHooks has this process tell webhooks.
func (b *backlog) addHooks() (err error) {
	b.hooks, err = notify.New(notify.Config{
		Key: []byte(b.cfg.WebhookKey), AllowPrivate: b.cfg.AllowPrivateWebhooks,
		UserAgent: "Spillway/" + ReadBuild().Version,
	}, b.store, b.log)
	return err
}

// keptFor is how long an upload is kept that no job names.
func keptFor(c settings.Config) time.Duration { return max(c.RetentionFailed, c.RetentionSucceeded) }

// sweepEvery is how often uploads are looked for that nobody needs any more.
const sweepEvery = time.Hour

// sweep removes them until ctx ends. Several processes may do it at once.
func (b *backlog) sweep(ctx context.Context) {
	kept := derive.NewUploads(b.blobs, b.cfg.SpoolDir)
	again := time.NewTicker(sweepEvery)
	defer again.Stop()
	for {
		n, err := kept.Sweep(ctx, time.Now().Add(-keptFor(b.cfg)), b.store)
		switch {
		case ctx.Err() != nil:
		case err != nil:
			b.log.Warn("old uploads not removed", "removed", n, "error", err)
		case n > 0:
			b.log.Info("old uploads removed", "uploads", n)
		}
		select {
		case <-ctx.Done():
			return
		case <-again.C:
		}
	}
}
