package app

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/tls"
	"crypto/x509"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// today has no fraction of a second, as times in certificates.
var today = time.Date(2026, 12, 1, 9, 0, 0, 0, time.UTC)

func TestNamesOfAServerAreThoseItIsReachedBy(t *testing.T) {
	for name, c := range map[string]struct {
		address, machine string
		names, addresses []string
	}{
		"an address of its own":                        {"192.0.2.7:443", "box", []string{"localhost", "box"}, []string{"127.0.0.1", "::1", "192.0.2.7"}},
		"every address stands for none":                {"0.0.0.0:443", "box", []string{"localhost", "box"}, []string{"127.0.0.1", "::1"}},
		"no address is every address":                  {":443", "box", []string{"localhost", "box"}, []string{"127.0.0.1", "::1"}},
		"the loopback stands once":                     {"127.0.0.1:8080", "localhost", []string{"localhost"}, []string{"127.0.0.1", "::1"}},
		"a zone is this machine's affair":              {"[fe80::1%eth0]:443", "box", []string{"localhost", "box"}, []string{"127.0.0.1", "::1", "fe80::1"}},
		"names are written small":                      {"Media.Example.COM:443", "BOX", []string{"localhost", "box", "media.example.com"}, []string{"127.0.0.1", "::1"}},
		"a machine whose name is none is left out":     {"localhost:443", "my box!", []string{"localhost"}, []string{"127.0.0.1", "::1"}},
		"a machine with an empty label is left out":    {"localhost:443", "a..b", []string{"localhost"}, []string{"127.0.0.1", "::1"}},
		"a machine without a name has other names":     {"localhost:443", "", []string{"localhost"}, []string{"127.0.0.1", "::1"}},
		"a machine called by its address has that one": {"localhost:443", "192.0.2.9", []string{"localhost"}, []string{"127.0.0.1", "::1", "192.0.2.9"}},
	} {
		t.Run(name, func(t *testing.T) {
			names, raw := ownNames(c.address, c.machine)
			var addresses []string
			for _, ip := range raw {
				addresses = append(addresses, ip.String())
			}
			if diff := cmp.Diff(c.names, names) + cmp.Diff(c.addresses, addresses); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// own is the certificate of a server at a time and an address.
func own(t *testing.T, path, address string, now time.Time) tls.Certificate {
	t.Helper()
	names, addresses := ownNames(address, "box")
	pair, err := ownCertificate(path, names, addresses, now)
	if err != nil {
		t.Fatal(err)
	}
	return pair
}

func TestACertificateIsMadeAsBrowsersWantIt(t *testing.T) {
	path := filepath.Join(t.TempDir(), "data", "certificate.pem")
	pair := own(t, path, "192.0.2.7:443", today)
	leaf, err := x509.ParseCertificate(pair.Certificate[0])
	if err != nil {
		t.Fatal(err)
	}
	if key, ok := leaf.PublicKey.(*ecdsa.PublicKey); !ok || key.Curve != elliptic.P256() {
		t.Errorf("key %T", leaf.PublicKey)
	}
	if life := leaf.NotAfter.Sub(leaf.NotBefore) + time.Second; life > 397*24*time.Hour || life < 390*24*time.Hour {
		t.Errorf("it is valid for %s", life)
	}
	trusted := x509.NewCertPool()
	trusted.AddCert(leaf)
	for _, name := range []string{"localhost", "box", "127.0.0.1", "::1", "192.0.2.7"} {
		if _, err := leaf.Verify(x509.VerifyOptions{DNSName: name, Roots: trusted, CurrentTime: today}); err != nil {
			t.Errorf("who trusts the file and asks %s: %v", name, err)
		}
	}
	if leaf.IsCA || leaf.KeyUsage != x509.KeyUsageDigitalSignature {
		t.Errorf("it may sign others: %v, %v", leaf.IsCA, leaf.KeyUsage)
	}
	facts, err := os.Stat(path)
	if err != nil || facts.Mode().Perm() != 0o600 {
		t.Errorf("mode %v, %v", facts.Mode(), err)
	}
	left, err := os.ReadDir(filepath.Dir(path))
	if err != nil || len(left) != 1 {
		t.Errorf("files %v, %v", left, err)
	}
}

func TestACertificateIsKeptWhileItIsOfUse(t *testing.T) {
	for name, c := range map[string]struct {
		address string
		later   time.Duration
		same    bool
	}{
		"at the next start":              {"127.0.0.1:8443", time.Minute, true},
		"on another port":                {"127.0.0.1:9443", time.Minute, true},
		"after a year":                   {"127.0.0.1:8443", 365 * 24 * time.Hour, true},
		"not a week before its end":      {"127.0.0.1:8443", 391 * 24 * time.Hour, false},
		"not after its end":              {"127.0.0.1:8443", 500 * 24 * time.Hour, false},
		"not before it began":            {"127.0.0.1:8443", -24 * time.Hour, false},
		"not on an address it lacks":     {"192.0.2.7:8443", time.Minute, false},
		"not under a name that it lacks": {"media.example.com:8443", time.Minute, false},
	} {
		t.Run(name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "certificate.pem")
			first := fingerprint(own(t, path, "127.0.0.1:8443", today))
			then := fingerprint(own(t, path, c.address, today.Add(c.later)))
			if (first == then) != c.same {
				t.Errorf("fingerprints %s, then %s", first, then)
			}
			if again := fingerprint(own(t, path, c.address, today.Add(c.later))); again != then {
				t.Error("what was made is not what was kept")
			}
		})
	}
}

func TestAFileThatIsNoCertificateIsNotOverwritten(t *testing.T) {
	path := filepath.Join(t.TempDir(), "certificate.pem")
	if err := os.WriteFile(path, []byte("somebody's notes"), 0o600); err != nil {
		t.Fatal(err)
	}
	_, err := ownCertificate(path, []string{"localhost"}, nil, today)
	if err == nil || !strings.Contains(err.Error(), path) || !strings.Contains(err.Error(), "remove the file") {
		t.Errorf("error %v", err)
	}
	if content, _ := os.ReadFile(path); string(content) != "somebody's notes" {
		t.Errorf("the file now holds %q", content)
	}
}

func TestFilesOfACertificateAreReadAgainWhenTheyChange(t *testing.T) {
	path := filepath.Join(t.TempDir(), "c.pem")
	now := today
	first := fingerprint(own(t, path, "127.0.0.1:1", now))
	log := slog.New(slog.DiscardHandler)
	files, err := openKeyPair(path, path, log, func() time.Time { return now })
	if err != nil {
		t.Fatal(err)
	}
	shown := func() string {
		pair, err := files.get(nil)
		if err != nil {
			t.Fatal(err)
		}
		return fingerprint(*pair)
	}
	write := func(content string, change time.Time) {
		if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
		if err := os.Chtimes(path, change, change); err != nil {
			t.Fatal(err)
		}
	}
	names, addresses := ownNames("127.0.0.1:1", "box")
	second, err := makeCertificate(names, addresses, now)
	if err != nil {
		t.Fatal(err)
	}
	if shown() != first {
		t.Error("another certificate than that in the file")
	}
	write("half", today.Add(time.Hour))
	now = now.Add(time.Minute)
	if shown() != first {
		t.Error("a file that cannot be read took the certificate away")
	}
	write(string(second), today.Add(2*time.Hour))
	if shown() != first {
		t.Error("files are looked at for every connection")
	}
	now = now.Add(time.Minute)
	if renewed := shown(); renewed == first {
		t.Error("the new certificate is not shown")
	}
}
