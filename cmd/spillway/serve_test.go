package main_test

import (
	"bytes"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"image"
	_ "image/jpeg" // decodes what the server answers
	"image/png"
	"math/big"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"
)

func assertPicture(t *testing.T, a answer, format string, width, height int) {
	t.Helper()
	config, got, err := image.DecodeConfig(bytes.NewReader(a.body))
	if a.status != http.StatusOK || err != nil || got != format || config.Width != width || config.Height != height {
		t.Errorf("answer %d is %s %dx%d (%v), want %s %dx%d: %.200q", a.status, got, config.Width, config.Height, err, format, width, height, a.body)
	}
}

func TestServeAnswersPicturesOfItsRoot(t *testing.T) {
	s := start(t, nil, "serve", "--listen", "127.0.0.1:0", "--source-root", pictures(t))
	assertPicture(t, get(t, s.url+"/resize?image_url=a.jpg&sizes=30x0&format=jpeg"), "jpeg", 30, 20)
	assertPicture(t, get(t, s.url+"/assets/a.jpg?sizes=0x30&format=png"), "png", 45, 30)
}

func TestServeCanBeSetUpByTheEnvironmentAlone(t *testing.T) {
	s := start(t, []string{"SPILLWAY_LISTEN=127.0.0.1:0", "SPILLWAY_SOURCE_ROOT=" + pictures(t)}, "serve")
	assertPicture(t, get(t, s.url+"/assets/a.jpg?sizes=30x0&format=jpeg"), "jpeg", 30, 20)
}

func TestServeCanBeSetUpByAFileAlone(t *testing.T) {
	path := put(t, t.TempDir(), "my.toml", []byte("listen = \"127.0.0.1:0\"\nsource-root = \""+pictures(t)+"\"\n[presets.small]\nsizes = \"30x0\"\nformat = \"jpeg\"\n"))
	s := start(t, nil, "serve", "--config", path)
	assertPicture(t, get(t, s.url+"/assets/a.jpg?preset=small"), "jpeg", 30, 20)
}

func TestServeRefusesEverythingButItsRoot(t *testing.T) {
	asked := false
	origin := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { asked = true }))
	defer origin.Close()
	s := start(t, nil, "serve", "--listen", "127.0.0.1:0", "--source-root", pictures(t))
	if a := get(t, s.url+"/resize?image_url="+origin.URL+"/a.jpg"); a.status != http.StatusForbidden || asked {
		t.Errorf("status = %d, origin asked = %v; want 403 and not asked", a.status, asked)
	}
}

func TestServeKeepsOperatorsApart(t *testing.T) {
	s := start(t, nil, "serve", "--listen", "127.0.0.1:0", "--admin-listen", "127.0.0.1:0", "--source-root", pictures(t))
	admin := "http://" + field(t, s.wait(t, "listening for operators"), "address")
	if a := get(t, admin+"/metrics"); a.status != http.StatusOK || !bytes.Contains(a.body, []byte("spillway_jobs_limit")) {
		t.Errorf("metrics for operators = %d %.100q", a.status, a.body)
	}
	for path, want := range map[string]int{"/debug/pprof/cmdline": http.StatusOK, "/healthz": http.StatusOK, "/readyz": http.StatusOK} {
		if a := get(t, admin+path); a.status != want {
			t.Errorf("%s for operators = %d, want %d", path, a.status, want)
		}
	}
	for path, want := range map[string]int{"/metrics": http.StatusNotFound, "/debug/pprof/": http.StatusNotFound, "/healthz": http.StatusOK, "/readyz": http.StatusOK} {
		if a := get(t, s.url+path); a.status != want {
			t.Errorf("%s for clients = %d, want %d", path, a.status, want)
		}
	}
}

func TestUpNeedsNothing(t *testing.T) {
	s := start(t, nil, "up", "--listen", "127.0.0.1:0")
	page := get(t, s.url+"/")
	if page.status != http.StatusOK || !strings.Contains(page.header.Get("Content-Type"), "text/html") {
		t.Errorf("page = %d %s", page.status, page.header.Get("Content-Type"))
	}
	if a := get(t, s.url+"/metrics"); a.status != http.StatusOK {
		t.Errorf("metrics = %d, want 200", a.status)
	}
	for _, path := range []string{"/nope", "/assets", "/debug/pprof/"} {
		if a := get(t, s.url+path); a.status != http.StatusNotFound || !bytes.Contains(a.body, []byte(`"code":"not-found"`)) || !bytes.Contains(a.body, []byte(`"request_id":`)) {
			t.Errorf("%s = %d %s, want a problem document", path, a.status, a.body)
		}
	}
	demo := get(t, s.url+"/demo.json")
	_, key, _ := strings.Cut(string(demo.body), `"key":"`)
	key, _, found := strings.Cut(key, `"`)
	if !found {
		t.Fatalf("no picture is listed: %.200q", demo.body)
	}
	a := get(t, s.url+"/resize?image_url="+key+"&sizes=100x100&fit=cover&format=jpeg")
	assertPicture(t, a, "jpeg", 100, 100)
}

func TestServeSpeaksHTTP2OverTLS(t *testing.T) {
	certificate, key := selfSigned(t)
	s := start(t, nil, "serve", "--listen", "127.0.0.1:0", "--source-root", pictures(t), "--tls-cert", certificate, "--tls-key", key)
	if !strings.HasPrefix(s.url, "https://") {
		t.Fatalf("url = %s, want https", s.url)
	}
	transport := &http.Transport{TLSClientConfig: &tls.Config{InsecureSkipVerify: true}, ForceAttemptHTTP2: true}
	defer transport.CloseIdleConnections()
	response, err := (&http.Client{Transport: transport}).Get(s.url + "/assets/a.jpg?sizes=30x0&format=jpeg")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = response.Body.Close() }()
	if response.ProtoMajor != 2 || response.StatusCode != http.StatusOK {
		t.Errorf("answer = %s %d, want HTTP/2 200", response.Proto, response.StatusCode)
	}
}

// selfSigned makes a certificate for 127.0.0.1 and gives the paths of its
// files.
func selfSigned(t *testing.T) (certificate, key string) {
	t.Helper()
	private, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)},
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour),
	}
	signed, err := x509.CreateCertificate(rand.Reader, template, template, &private.PublicKey, private)
	if err != nil {
		t.Fatal(err)
	}
	encoded, err := x509.MarshalPKCS8PrivateKey(private)
	if err != nil {
		t.Fatal(err)
	}
	folder := t.TempDir()
	certificate = put(t, folder, "cert.pem", pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: signed}))
	key = put(t, folder, "key.pem", pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: encoded}))
	return certificate, key
}

func TestSignedURLsOfTheCommandPassTheServer(t *testing.T) {
	keys := put(t, t.TempDir(), "keys", []byte("hex:000102030405060708090a0b0c0d0e0f\n"))
	s := start(t, nil, "serve", "--listen", "127.0.0.1:0", "--source-root", pictures(t), "--signature-key-file", keys)
	target := "/assets/a.jpg?sizes=30x0&format=jpeg"
	if a := get(t, s.url+target); a.status != http.StatusForbidden {
		t.Errorf("unsigned = %d, want 403", a.status)
	}
	for _, args := range [][]string{{"sign", "--key-file", keys, target}, {"sign", "--key-file", keys, "--expires", "1h", target}} {
		signed := run(t, nil, args...)
		if signed.code != 0 {
			t.Fatalf("sign: %+v", signed)
		}
		path := strings.TrimSpace(signed.stdout)
		assertPicture(t, get(t, s.url+path), "jpeg", 30, 20)
		if a := get(t, s.url+strings.Replace(path, "30x0", "31x0", 1)); a.status != http.StatusForbidden {
			t.Errorf("altered = %d, want 403", a.status)
		}
		_, signature, _ := strings.Cut(path, "signature=")
		if s.wait(t, `"status":200`); signature == "" || strings.Contains(s.log.String(), signature) {
			t.Errorf("signature %q is in the log", signature)
		}
	}
	if strings.Contains(s.log.String(), "000102030405060708090a0b0c0d0e0f") {
		t.Error("a key is in the log")
	}
}

func TestATakenPortIsAClearFailure(t *testing.T) {
	taken, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = taken.Close() }()
	r := run(t, nil, "serve", "--listen", taken.Addr().String())
	want := "spillway: listen: " + taken.Addr().String() + " is already in use; stop what uses it, or choose another port\n"
	if r.code != 1 || r.stderr != want {
		t.Errorf("result = %+v, want exit code 1 and %q", r, want)
	}
}

func TestWarningsAndSecretsInTheLog(t *testing.T) {
	s := start(t, []string{
		"SPILLWAY_LITSEN=x", "SPILLWAY_S3_ACCESS_KEY=visible-id", "SPILLWAY_S3_SECRET_KEY=very-secret-word",
	}, "serve", "--listen", "127.0.0.1:0", "--source-root", "s3://bucket/prefix", "--s3-endpoint", "http://127.0.0.1:9", "--s3-region", "eu-central-1")
	if line := s.wait(t, "SPILLWAY_LITSEN"); !strings.Contains(line, "SPILLWAY_LISTEN") {
		t.Errorf("warning = %s, want the nearest name", line)
	}
	get(t, s.url+"/assets/a.jpg")
	s.wait(t, `"msg":"request"`)
	if strings.Contains(s.log.String(), "very-secret-word") || strings.Contains(s.log.String(), "visible-id") {
		t.Error("a secret is in the log")
	}
}

func TestAClientThatTakesNothingIsDropped(t *testing.T) {
	// Noise does not compress, so the answer is larger than all buffers of the
	// system on the way.
	root, noise := pictures(t), image.NewNRGBA(image.Rect(0, 0, 2400, 1600))
	if _, err := rand.Read(noise.Pix); err != nil {
		t.Fatal(err)
	}
	var encoded bytes.Buffer
	if err := (&png.Encoder{CompressionLevel: png.NoCompression}).Encode(&encoded, noise); err != nil {
		t.Fatal(err)
	}
	put(t, root, "noise.png", encoded.Bytes())
	s := start(t, nil, "serve", "--listen", "127.0.0.1:0", "--source-root", root, "--stall-timeout", "1s")
	connection, err := net.Dial("tcp", strings.TrimPrefix(s.url, "http://"))
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = connection.Close() }()
	if err := connection.(*net.TCPConn).SetReadBuffer(4096); err != nil {
		t.Fatal(err)
	}
	_, err = connection.Write([]byte("GET /assets/noise.png?format=png HTTP/1.1\r\nHost: x\r\n\r\n"))
	if err != nil {
		t.Fatal(err)
	}
	if line := s.wait(t, `"path":"/assets/noise.png"`); !strings.Contains(line, `"broken":true`) {
		t.Errorf("access line = %s, want a broken answer", line)
	}
	assertPicture(t, get(t, s.url+"/assets/a.jpg?sizes=30x0&format=jpeg"), "jpeg", 30, 20)
}
