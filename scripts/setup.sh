# Verb setup: packages, and the sources of the installed gRPC and Thrift. Quick and offline when nothing is missing.
# shellcheck shell=bash

# wanted_packages FILE, missing_packages FILE: names out of a list like packages.txt.
wanted_packages() { sed 's/#.*//' "$1" | awk 'NF { print $1 }'; }

missing_packages() {
  local package
  for package in $(wanted_packages "$1"); do
    if [[ $(dpkg-query -W -f '${db:Status-Status}' "$package" 2>/dev/null) != installed ]]; then
      echo "$package"
    fi
  done
}

# install_packages FILE
install_packages() {
  local missing
  command -v dpkg-query >/dev/null || die "setup needs Debian 12 or 13: there is no dpkg here"
  mapfile -t missing < <(missing_packages "$1")
  if ((${#missing[@]} == 0)); then
    return 0
  fi
  check_root "apt-get install ${missing[*]}"
  say "run: installing ${#missing[@]} packages: ${missing[*]}"
  quietly "apt-get update" "$BUILD/logs/apt-update.log" as_root apt-get update -q ||
    die "cannot reach the package mirrors: is there a network?"
  quietly "apt-get install" "$BUILD/logs/apt-install.log" \
    as_root env DEBIAN_FRONTEND=noninteractive apt-get install -q -y --no-install-recommends "${missing[@]}" ||
    die "the packages above could not be installed"
}

verb_setup() {
  install_packages "$ROOT/scripts/packages.txt"
  fetch_source libgrpc-dev "$GRPC_SOURCE"
  # Only Thrift's own tests need it. In a subshell: fetch_source ends it where there is none.
  (fetch_source libthrift-dev "$THRIFT_SOURCE") || say "run: going on without Thrift's own tests"
}
