# Verb packages: Debian packages of this tree, in build/packages.
# shellcheck shell=bash

verb_packages() {
  no_arguments packages "$@"
  verb_setup
  install_packages "$ROOT/packaging/packages.txt"
  rm -rf "$BUILD/packages"
  quietly "source package" "$BUILD/logs/packages-source.log" "$ROOT/packaging/make_source.sh" "$BUILD/packages" || return
  quietly "binary packages" "$BUILD/logs/packages-build.log" build_packages "$BUILD/packages" || return
  quietly lintian "$BUILD/logs/packages-lintian.log" \
    lintian --fail-on error,warning --tag-display-limit 0 "$BUILD"/packages/*.{dsc,changes} || return
  # Of no use but to debuggers: *.deb are those to install.
  mkdir "$BUILD/packages/debug" &&
    find "$BUILD/packages" -maxdepth 1 -name '*-dbgsym_*.deb' -exec mv -t "$BUILD/packages/debug" {} + || return
  say "run: in $BUILD/packages; to install: apt install $BUILD/packages/*.deb"
}

# build_packages FOLDER: out of the source package there and nothing else.
build_packages() {
  local tree=$1/tree
  # debhelper gives the build another home, where no cache is.
  CCACHE_DIR=$(ccache --get-config cache_dir)
  export CCACHE_DIR
  dpkg-source --no-check --extract "$1"/skein_*.dsc "$tree" &&
    (cd "$tree" && dpkg-buildpackage --unsigned-source --unsigned-changes --build=binary --jobs-try=auto) &&
    rm -rf "$tree"
}
