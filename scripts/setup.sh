#!/usr/bin/env bash
# Usage: scripts/setup.sh build|test|bench-h2|demo-cluster|lint|vuln|screenshots
#
# Looks for what the make target of that name needs and installs what is missing:
# Go into the user's cache, the rest through the system's package manager.
# When nothing is missing it installs nothing and takes a fraction of a second.
# Everything is looked for by what it does (a command, a pkg-config module),
# so a libvips built by hand counts as well as a packaged one.
set -euo pipefail

# The lowest versions the source builds with, and the Go that is fetched when
# there is none. The checksums are those published with the release.
readonly GO_MINOR=26
readonly GO_VERSION=1.26.8
readonly VIPS_VERSION=8.14
readonly GOLANGCI_VERSION=2.15.0
readonly GOVULNCHECK_VERSION=1.9.0
readonly H2SPEC_VERSION=2.2.1+incompatible # as Go calls a major version without a go.mod

readonly CACHE="${XDG_CACHE_HOME:-$HOME/.cache}/spillway"
readonly GO_DIR="$CACHE/go$GO_VERSION"
readonly BIN="$CACHE/bin"
export PATH="$GO_DIR/bin:$BIN:$PATH"

say() { printf 'setup: %s\n' "$*" >&2; }
fail() {
  say "$*"
  exit 1
}
has() { command -v "$1" >/dev/null 2>&1; }

# --- Go ---------------------------------------------------------------------

# go_is_new asks for the version that would really build this module, so a Go
# that fetches newer toolchains by itself (its default since 1.21) is enough.
go_is_new() {
  local version minor
  version=$(go env GOVERSION 2>/dev/null) || return 1
  minor=${version#go1.}
  [ "$minor" != "$version" ] || return 1
  minor=${minor%%[!0-9]*}
  [ -n "$minor" ] && [ "$minor" -ge "$GO_MINOR" ]
}

go_checksum() {
  case "$1" in
    linux-amd64) echo d0f743b33e8d8945e6b1f432edd15785c70507121d6e2a723b21285eddf8b57b ;;
    linux-arm64) echo 211ffced9dcb9633a55eac6364816ec0ddd951389a740e88fa8b3337971bdda0 ;;
    darwin-amd64) echo 186be014105aa6542b767d2c6ed5cca10a0214bdff809ef1724022a8c7894150 ;;
    darwin-arm64) echo a012b25b571bd0138a03dcd25375ceba866fe5ca822f426d2c66a4de56fd3f4b ;;
    *) return 1 ;;
  esac
}

platform() {
  local system machine
  system=$(uname -s | tr '[:upper:]' '[:lower:]')
  machine=$(uname -m)
  case "$machine" in
    x86_64) machine=amd64 ;;
    aarch64) machine=arm64 ;;
  esac
  echo "$system-$machine"
}

sha256_of() {
  if has sha256sum; then
    sha256sum "$1" | cut -d ' ' -f 1
  else
    shasum -a 256 "$1" | cut -d ' ' -f 1
  fi
}

go_by_hand() {
  fail "$1
  Spillway needs Go 1.$GO_MINOR or newer. Install it by hand from https://go.dev/doc/install so that
  'go version' says 1.$GO_MINOR or newer, or unpack the archive for this machine so that
  $GO_DIR/bin/go exists, and run the same command again."
}

# install_go runs in a subshell, so that its trap removes what it left half done.
install_go() (
  local target checksum url folder actual
  target=$(platform)
  checksum=$(go_checksum "$target") || go_by_hand "there is no Go $GO_VERSION checksum for $target in this script."
  url="https://go.dev/dl/go$GO_VERSION.$target.tar.gz"
  say "Go 1.$GO_MINOR or newer is missing: fetching $url"
  mkdir -p "$CACHE"
  folder=$(mktemp -d "$CACHE/go.XXXXXX")
  trap 'rm -rf "$folder"' EXIT
  curl -fsSL --retry 2 --connect-timeout 20 -o "$folder/go.tar.gz" "$url" ||
    go_by_hand "$url cannot be reached from here."
  actual=$(sha256_of "$folder/go.tar.gz")
  [ "$actual" = "$checksum" ] ||
    go_by_hand "the archive from $url has the SHA-256 $actual, not $checksum: it was not unpacked."
  tar -xzf "$folder/go.tar.gz" -C "$folder"
  rm -rf "$GO_DIR"
  mv "$folder/go" "$GO_DIR"
  say "Go $GO_VERSION is in $GO_DIR"
)

need_go() {
  go_is_new && return
  has curl || need_packages curl
  install_go
  hash -r
  go_is_new || go_by_hand "the Go in $GO_DIR does not run on this machine."
}

# --- Tools written in Go ----------------------------------------------------

# need_tool NAME VERSION PACKAGE: a pinned tool, built into the user's cache.
# A file beside it names the version, because asking each tool is slow.
need_tool() {
  local name=$1 version=$2 package=$3
  [ -x "$BIN/$name" ] && [ "$(cat "$BIN/$name.version" 2>/dev/null)" = "$version" ] && return
  say "building $name $version into $BIN (once; this takes a few minutes)"
  mkdir -p "$BIN"
  (cd "$BIN" && GOFLAGS='' GOWORK=off GOBIN="$BIN" go install "$package@v$version") ||
    fail "$name $version could not be built: is the Go module proxy reachable? ('go env GOPROXY' names it)"
  printf '%s\n' "$version" >"$BIN/$name.version"
}

# --- The system's packages --------------------------------------------------

# works NAME tells whether a prerequisite is there.
works() {
  case "$1" in
    compiler) has gcc || has clang ;;
    headers) [ "$(uname -s)" != Linux ] || cc -E -o /dev/null - <<<'#include <stdlib.h>' 2>/dev/null ;;
    libvips) has pkg-config && pkg-config --exists "vips >= $VIPS_VERSION" ;;
    certificates) [ "$(uname -s)" != Linux ] || [ -s /etc/ssl/certs/ca-certificates.crt ] || [ -s /etc/pki/tls/certs/ca-bundle.crt ] ;;
    browser) has chromium || has google-chrome || has chromium-browser || [ -d "/Applications/Google Chrome.app" ] ;;
    postgres) has initdb || compgen -G '/usr/lib/postgresql/*/bin/initdb' >/dev/null ;;
    redis) has redis-server ;;
    http2) has nghttp && has h2load ;;
    # Debian keeps the last two where a user's PATH does not lead.
    namespaces) [ "$(uname -s)" != Linux ] || { has unshare && PATH="$PATH:/usr/sbin:/sbin" has ip && PATH="$PATH:/usr/sbin:/sbin" has tc; } ;;
    *) has "$1" ;;
  esac
}

# package MANAGER NAME prints the packages that bring a prerequisite.
package() {
  case "$1:$2" in
    apt:compiler) echo gcc libc6-dev ;;
    apt:headers) echo libc6-dev ;;
    apt:libvips) echo libvips-dev pkg-config ;;
    apt:certificates) echo ca-certificates ;;
    apt:browser) echo chromium fonts-dejavu-core ;;
    apt:postgres) echo postgresql ;; # the system's release; 15 on Debian 12
    apt:redis) echo redis-server ;;
    apt:http2) echo nghttp2-client ;;
    apt:namespaces) echo iproute2 util-linux ;;
    brew:libvips) echo vips pkg-config ;;
    brew:compiler) echo gcc ;;
    brew:headers | brew:certificates) ;;
    brew:browser) echo google-chrome ;;
    brew:postgres) echo postgresql@17 ;;
    brew:http2) echo nghttp2 ;;
    *) echo "$2" ;;
  esac
}

# codecs prints the packages of AVIF and HEIC codecs where the system ships
# them apart from libheif (Debian 13, Ubuntu 24.04); Debian 12 has none.
codecs() {
  local name
  for name in libheif-plugin-aomenc libheif-plugin-libde265 libheif-plugin-dav1d; do
    if apt-cache show "$name" >/dev/null 2>&1; then echo "$name"; fi
  done
}

manager() {
  if has apt-get && has dpkg-query; then
    echo apt
  elif has brew; then
    echo brew
  else
    echo none
  fi
}

# as_root prints what a command is to begin with to run as root. It never
# waits for a password that nobody can type.
as_root() {
  if [ "$(id -u)" -eq 0 ]; then
    return
  elif ! has sudo; then
    fail "there is no sudo. As root, run: $*"
  elif ! sudo -n true 2>/dev/null && ! [ -t 0 ]; then
    fail "sudo has no terminal to ask for a password on. As root, run: $*"
  fi
  echo sudo
}

# quietly shows what a command said only when it fails.
quietly() (
  local log
  log=$(mktemp)
  trap 'rm -f "$log"' EXIT
  "$@" >"$log" 2>&1 </dev/null && return
  cat "$log" >&2
  return 1
)

apt_updated=''
apt_install() {
  local sudo more=''
  sudo=$(as_root "apt-get update && apt-get install --no-install-recommends $*")
  local apt="$sudo env DEBIAN_FRONTEND=noninteractive apt-get -o DPkg::Lock::Timeout=300 -y -qq"
  # shellcheck disable=SC2086 # several words
  if [ -z "$apt_updated" ]; then
    quietly $apt update || say 'apt-get update had errors; going on with the lists that are there'
    apt_updated=yes
  fi
  case " $* " in *' libvips-dev '*) more=$(codecs) ;; esac
  # shellcheck disable=SC2086 # one word a package
  quietly $apt install --no-install-recommends "$@" $more || fail "apt-get could not install: $*"
}

# need_packages installs the prerequisites that do not work yet, in one go,
# and then holds each of them to the same check.
need_packages() {
  local name missing='' packages=''
  for name in "$@"; do
    works "$name" || missing="$missing $name"
  done
  [ -n "$missing" ] || return 0
  for name in $missing; do
    packages="$packages $(package "$(manager)" "$name")"
  done
  say "missing:$missing; installing:$packages"
  # shellcheck disable=SC2086 # one word a package
  case "$(manager)" in
    apt) apt_install $packages ;;
    brew) quietly brew install --quiet $packages || fail "brew could not install:$packages" ;;
    none) fail "this system has neither apt-get nor brew, so nothing was installed. Install by hand:$missing (libvips $VIPS_VERSION or newer with its headers)." ;;
  esac
  hash -r
  for name in $missing; do
    works "$name" || fail "$name is still not usable after installing:$packages ($(reason "$name"))"
  done
}

reason() {
  case "$1" in
    libvips) echo "libvips $VIPS_VERSION or newer is needed; pkg-config finds '$(pkg-config --modversion vips 2>/dev/null || echo none)'" ;;
    *) echo "it was looked for on PATH: $PATH" ;;
  esac
}

# --- What each make target needs --------------------------------------------

need_build() {
  need_packages certificates compiler headers libvips
  need_go
}

# The tests drive the playground in a browser, and git as the scripts do. They
# start their own Postgres and Redis on other ports than the services have that
# these packages may bring up. Peers of other makes (h2spec, nghttp, h2load, curl)
# hold the HTTP/2 server to the protocol.
need_test() {
  need_packages certificates compiler headers libvips git browser postgres redis curl http2 namespaces
  need_go
  need_h2spec
}

# Peers, a browser for the film of a page, and a link of its own for each run.
need_bench_h2() {
  need_packages certificates compiler headers libvips browser http2 namespaces
  need_go
}

need_screenshots() {
  need_packages certificates compiler headers libvips browser
  need_go
}

need_h2spec() {
  need_tool h2spec "$H2SPEC_VERSION" github.com/summerwind/h2spec/cmd/h2spec
}

# Servers of their own, as the tests start them.
need_cluster() {
  need_packages certificates compiler headers libvips postgres redis
  need_go
}

need_lint() {
  need_packages certificates compiler headers libvips git shellcheck
  need_go
  need_tool golangci-lint "$GOLANGCI_VERSION" github.com/golangci/golangci-lint/v2/cmd/golangci-lint
}

need_vuln() {
  need_build
  need_tool govulncheck "$GOVULNCHECK_VERSION" golang.org/x/vuln/cmd/govulncheck
}

main() {
  cd "$(dirname "$0")/.."
  case "${1:-}" in
    build) need_build ;;
    test) need_test ;;
    bench-h2) need_bench_h2 ;;
    screenshots) need_screenshots ;;
    demo-cluster) need_cluster ;;
    lint) need_lint ;;
    vuln) need_vuln ;;
    *) fail "usage: scripts/setup.sh build|test|bench-h2|demo-cluster|lint|vuln|screenshots" ;;
  esac
}

main "$@"
