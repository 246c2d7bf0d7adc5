package httpapi

import (
	"net/http"
	"net/http/pprof"

	"github.com/spillway-media/spillway/internal/media"
)

// Admin is the handler for operators: metrics, health, pools, streams and profiles. It has to
// listen where clients cannot reach it.
func (s *Server) Admin() http.Handler {
	mux := http.NewServeMux()
	mux.Handle("/healthz", s.handle("healthz", s.answerHealth))
	mux.Handle("/readyz", s.handle("readyz", s.answerReady))
	mux.Handle("/metrics", s.handle("metrics", s.answerMetrics))
	mux.Handle("/debug/pools", s.handle("pools", s.answerPools))
	mux.Handle(h2Path, s.handle("h2", s.answerH2))
	mux.HandleFunc("/debug/pprof/", pprof.Index)
	mux.HandleFunc("/debug/pprof/cmdline", pprof.Cmdline)
	mux.HandleFunc("/debug/pprof/profile", pprof.Profile)
	mux.HandleFunc("/debug/pprof/symbol", pprof.Symbol)
	mux.HandleFunc("/debug/pprof/trace", pprof.Trace)
	mux.Handle("/", s.handle("none", func(*exchange) error {
		return media.Errorf(codeNotFound, "This listener answers /metrics, /healthz, /readyz, /debug/pools, /debug/h2 and /debug/pprof/.")
	}))
	return mux
}

// answerHealth says that the process answers; it asks nothing of anybody.
func (s *Server) answerHealth(x *exchange) error { return s.writeState(x, `{"status":"ok"}`) }

// answerReady says whether new requests are of use here at the moment.
func (s *Server) answerReady(x *exchange) error {
	if err := s.images.Ready(s.cfg.Now()); err != nil {
		return media.Wrap(codeNotReady, err, "New work is of no use here at the moment: %s.", err)
	}
	return s.writeState(x, `{"status":"ready"}`)
}

func (s *Server) writeState(x *exchange, document string) error {
	if x.r.Method != http.MethodGet && x.r.Method != http.MethodHead {
		return refuseMethod(x, "GET, HEAD")
	}
	h := x.w.Header()
	h.Set("Content-Type", "application/json")
	h.Set("Cache-Control", "no-store")
	s.writeDocument(x, http.StatusOK, []byte(document))
	return nil
}

func (s *Server) answerMetrics(x *exchange) error {
	if x.r.Method != http.MethodGet && x.r.Method != http.MethodHead {
		return refuseMethod(x, "GET, HEAD")
	}
	s.metrics.scrape.ServeHTTP(x.w, x.r)
	return nil
}
