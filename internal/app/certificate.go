package app

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/sha256"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/hex"
	"encoding/pem"
	"errors"
	"fmt"
	"io/fs"
	"math/big"
	"net"
	"net/netip"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

// certificateLife is the longest that browsers take a certificate for.
const certificateLife = 397 * 24 * time.Hour

// certificateRest is what a certificate must still have left at a start, so
// that it does not end while the process runs for a while.
const certificateRest = 7 * 24 * time.Hour

// ownNames are what a server that listens on address is called: localhost, this
// machine and the address itself, unless that stands for all addresses.
func ownNames(address, machine string) (names []string, addresses []net.IP) {
	names = []string{"localhost"}
	addresses = []net.IP{net.IPv4(127, 0, 0, 1).To4(), net.IPv6loopback}
	host, _, _ := net.SplitHostPort(address) // Validate has read it
	for _, name := range []string{strings.ToLower(machine), strings.ToLower(host)} {
		if ip, err := netip.ParseAddr(name); err == nil {
			raw := net.IP(ip.Unmap().WithZone("").AsSlice())
			if !ip.IsUnspecified() && !slices.ContainsFunc(addresses, raw.Equal) {
				addresses = append(addresses, raw)
			}
		} else if isHostname(name) && !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	return names, addresses
}

// isHostname is strict: a name that a certificate cannot hold would spoil all of it.
func isHostname(name string) bool {
	if name == "" || len(name) > 253 {
		return false
	}
	for label := range strings.SplitSeq(name, ".") {
		if label == "" || len(label) > 63 || label[0] == '-' || label[len(label)-1] == '-' {
			return false
		}
		for _, c := range []byte(label) {
			if (c < 'a' || c > 'z') && (c < '0' || c > '9') && c != '-' && c != '_' {
				return false
			}
		}
	}
	return true
}

// ownCertificate is the certificate that is kept in the file at path. It is
// made anew when there is none, when it is about to end, and when the server
// has got another name.
func ownCertificate(path string, names []string, addresses []net.IP, now time.Time) (tls.Certificate, error) {
	pair, err := tls.LoadX509KeyPair(path, path)
	switch {
	case err == nil && fits(pair.Leaf, names, addresses, now):
		return pair, nil
	case err != nil && !errors.Is(err, fs.ErrNotExist):
		return pair, fmt.Errorf("certificate of this server: %q: %w; remove the file, and the next start makes another", path, err)
	}
	content, err := makeCertificate(names, addresses, now)
	if err == nil {
		err = keepSecret(path, content)
	}
	if err != nil {
		return pair, fmt.Errorf("certificate of this server: %w", err)
	}
	return tls.X509KeyPair(content, content)
}

// fits tells whether a certificate can be used once more.
func fits(c *x509.Certificate, names []string, addresses []net.IP, now time.Time) bool {
	for _, name := range names {
		if c.VerifyHostname(name) != nil {
			return false
		}
	}
	for _, address := range addresses {
		if c.VerifyHostname(address.String()) != nil {
			return false
		}
	}
	return !now.Before(c.NotBefore) && now.Add(certificateRest).Before(c.NotAfter)
}

// makeCertificate signs itself, for who trusts this one file and no authority:
// it cannot sign any other.
func makeCertificate(names []string, addresses []net.IP, now time.Time) ([]byte, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, fmt.Errorf("make key: %w", err)
	}
	serial, err := rand.Int(rand.Reader, new(big.Int).Lsh(big.NewInt(1), 120))
	if err != nil {
		return nil, fmt.Errorf("make serial number: %w", err)
	}
	begin := now.Add(-time.Hour) // for clocks that are late
	form := &x509.Certificate{
		SerialNumber: serial, Subject: pkix.Name{CommonName: "Spillway on " + names[len(names)-1]},
		// Both ends of the validity count (RFC 5280, 4.1.2.5).
		NotBefore: begin, NotAfter: begin.Add(certificateLife - time.Second),
		DNSNames: names, IPAddresses: addresses,
		KeyUsage: x509.KeyUsageDigitalSignature, ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth},
		BasicConstraintsValid: true,
	}
	signed, err := x509.CreateCertificate(rand.Reader, form, form, key.Public(), key)
	if err != nil {
		return nil, fmt.Errorf("sign certificate: %w", err)
	}
	secret, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		return nil, fmt.Errorf("write key: %w", err)
	}
	content := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: signed})
	return append(content, pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: secret})...), nil
}

// keepSecret writes a file that only this user can read, in whole or not at all.
func keepSecret(path string, content []byte) error {
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return err
	}
	file, err := os.CreateTemp(filepath.Dir(path), "."+filepath.Base(path)+"-*") // with mode 0600
	if err != nil {
		return err
	}
	defer func() { _ = os.Remove(file.Name()) }()
	_, err = file.Write(content)
	if err = errors.Join(err, file.Close()); err != nil {
		return err
	}
	return os.Rename(file.Name(), path)
}

// fingerprint is how browsers and openssl show a certificate.
func fingerprint(pair tls.Certificate) string {
	sum := sha256.Sum256(pair.Certificate[0])
	parts := make([]string, len(sum))
	for i, b := range sum {
		parts[i] = strings.ToUpper(hex.EncodeToString([]byte{b}))
	}
	return strings.Join(parts, ":")
}
