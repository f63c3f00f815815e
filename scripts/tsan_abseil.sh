# Abseil built with ThreadSanitizer, from the distribution's source, with the installed libraries' names. The installed
# ones are not instrumented, so that each absl::Mutex would look like no lock at all and every use of one like a race.
# shellcheck shell=bash

TSAN_ABSEIL=$BUILD/abseil-tsan

build_tsan_abseil() {
  local source=$BUILD/abseil-source stamp=$TSAN_ABSEIL/.version version
  fetch_source libabsl-dev "$source"
  version="$(<"$source/.version"), $(clang++ --version | head -n 1)"
  if [[ -f $stamp && $(<"$stamp") == "$version" ]]; then
    return 0
  fi
  quietly "building Abseil with ThreadSanitizer" "$BUILD/logs/abseil-tsan.log" \
    configure_and_install_abseil "$source" || die "Abseil could not be built with ThreadSanitizer"
  echo "$version" >"$stamp"
}

# C++17 and the pinned options of absl/base/options.h, as the distribution builds it: the same types, the same symbols.
configure_and_install_abseil() {
  local source=$1
  rm -rf "$BUILD/abseil-tsan-objects" # of another compiler, perhaps
  cmake -S "$source" -B "$BUILD/abseil-tsan-objects" -G Ninja \
    -DCMAKE_CXX_COMPILER=clang++ -DCMAKE_CXX_STANDARD=17 -DBUILD_SHARED_LIBS=ON -DBUILD_TESTING=OFF -DCMAKE_BUILD_TYPE=None \
    "-DCMAKE_CXX_FLAGS=-O1 -g1 -fsanitize=thread" -DCMAKE_SHARED_LINKER_FLAGS=-fsanitize=thread \
    -DCMAKE_CXX_COMPILER_LAUNCHER=ccache -DCMAKE_INSTALL_PREFIX="$TSAN_ABSEIL" -DCMAKE_INSTALL_LIBDIR=lib &&
    ninja -C "$BUILD/abseil-tsan-objects" install
}
