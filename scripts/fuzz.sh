# Verb fuzz: the targets of tests/fuzz, in the build with AddressSanitizer, which clang makes for libFuzzer, too.
# shellcheck shell=bash

fuzz_targets() { sed -n 's/^ *skein_fuzz(\([a-z0-9_]*\).*/\1/p' "$ROOT/tests/fuzz/CMakeLists.txt" | sort; }

check_fuzz_targets() {
  local target all
  mapfile -t all < <(fuzz_targets)
  for target in "$@"; do
    [[ " ${all[*]} " == *" $target "* ]] || usage_error "unknown fuzz target '$target'; there are: ${all[*]}"
  done
}

# run_fuzz OPTION TARGET...: the option of tests/fuzz/run_fuzz.py; without targets, all of them.
run_fuzz() {
  local option=$1 targets=("${@:2}")
  ((${#targets[@]} != 0)) || mapfile -t targets < <(fuzz_targets)
  build_preset asan fuzz_targets || die "the build failed"
  python3 "$ROOT/tests/fuzz/run_fuzz.py" --build "$BUILD/asan" "$option" "${targets[@]}"
}

verb_fuzz() {
  local option=--seconds=60
  case ${1:-} in
    --list)
      (($# == 1)) || usage_error "fuzz --list takes no more arguments"
      fuzz_targets
      return
      ;;
    --merge) option=--merge && shift ;;
    -*) usage_error "unknown option '$1' of fuzz; there are: --list --merge" ;;
    [0-9]*) option=--seconds=$1 && shift ;;
  esac
  [[ $option =~ ^--(merge|seconds=[1-9][0-9]*)$ ]] || usage_error "fuzz takes a number of seconds, not '${option#*=}'"
  [[ $option != --merge || ! ${1:-} =~ ^[0-9] ]] || usage_error "fuzz --merge takes targets, no number of seconds"
  set -- "${@#fuzz_}" # pages and binaries have it in front
  check_fuzz_targets "$@"
  verb_setup
  run_fuzz "$option" "$@"
}
