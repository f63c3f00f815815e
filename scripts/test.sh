# Verb test: what is tested, in which builds.
# shellcheck shell=bash

# run_ctest PRESET[/FOLDER] [CTEST OPTION...]: prints ctest's output only where it says something, always its closing lines.
run_ctest() {
  local preset=$1 since=$EPOCHSECONDS status=0 results
  shift
  say "run: tests of build/$preset"
  results=$(mktemp "$BUILD/logs/tests-${preset//\//-}-XXXX.xml")
  ctest --test-dir "$BUILD/$preset" --output-on-failure --no-tests=error --parallel 2 --progress \
    --output-junit "$results" "$@" </dev/null || status=1
  [[ $preset != dev || ! -s $results ]] || # test_changed is of the dev build
    python3 "$ROOT/scripts/changed_tests.py" "$BUILD/$preset" --passed "$results" --since "$since"
  return $status
}

# run_pytest PRESET NAME PYTEST OPTION...: of tests with programs, what ctest has fewer of.
run_pytest() {
  local preset=$1 name=$2
  shift 2
  python3 -B -m pytest --build "$BUILD/$preset" --junit-xml "$BUILD/logs/tests-$preset-$name.xml" "$@" </dev/null
}

# The default: everything quick, in one build of what that needs. Tests of whole processes carry the label "process".
test_quick() {
  build_preset dev quick_tests || die "the build failed"
  run_ctest dev --label-exclude process
}

# What has changed since it passed last, whatever its label: on a fresh clone, everything.
test_changed() {
  local changed
  build_preset dev || die "the build failed"
  read -ra changed < <(python3 "$ROOT/scripts/changed_tests.py" "$BUILD/dev")
  run_ctest dev "${changed[@]}"
}

test_named() {
  build_preset dev || die "the build failed"
  run_ctest dev --tests-regex "$1"
}

build_sanitized() {
  build_preset asan quick_tests probes || die "the asan build failed"
  build_preset tsan quick_tests || die "the tsan build failed"
}

test_sanitized() {
  local status=0
  build_sanitized
  # Twice as many as usual: these wait more than they compute.
  run_ctest asan --parallel 4 --label-exclude 'process|source|fuzz' || status=1 # those run with libFuzzer, and with it
  # Preloading does not go with AddressSanitizer; choosing Skein in code does.
  run_ctest asan --tests-regex '^process\.test_(attacker|death|identity|lifecycle|mixed)\.argument$' || status=1
  run_ctest tsan --parallel 4 --label-exclude 'process|source|fuzz' || status=1
  return $status
}

# Whole processes and guests wait for much of their time. Builds beside them take idle processor time only. The part
# that needs such a build says if it failed. The dev build is there, and is let alone.
when_idle() {
  chrt --idle --pid 0 "$BASHPID" 2>/dev/null || renice -n 19 -p "$BASHPID" >/dev/null # a container may refuse the first
  ("$@") || true
}

build_chroots() {
  tail --pid="$1" -f /dev/null # once the sanitizers' builds are there
  (in_current_grpc build) || true
  (test_debian13 build) || true
}

# What would not end by then is left out, and test_all says so.
END=$((66 * 60))
# The dev build's seconds on the machine whose minutes are told here, without a cache. A slower one takes longer for all.
USUAL_BUILD=$((10 * 60))
PERCENT=100

# The seconds that are left but for so many minutes of that machine; none, if these are not.
seconds_before() {
  local left=$((END - SECONDS - $1 * 60 * PERCENT / 100))
  echo $((left > 0 ? left : 0))
}

# Tests, benchmarks and examples are judged by running them; './run test tidy' has them, and the static analyzer.
tidy_quickly() {
  quietly "clang-tidy" "$BUILD/logs/clang-tidy.log" \
    python3 "$ROOT/scripts/tidy.py" --quick "$BUILD/dev" core grpc_transport thrift_transport tools
}

# The status of a test that cannot be run here, and has said why.
CANNOT=77

# part NAME COMMAND...: a part of test_all, and when it began. Adds its minutes to `took`, and the name to `failed` or to
# `left_out` when it ends so. A `die` ends the part alone. Its output goes to build/logs/part-NAME.log, too; bash does not
# wait for that tee, so a process that a test has left behind holds up nobody.
part() {
  local name=$1 status=0 began=$SECONDS
  shift
  say "run: $((SECONDS / 60)) min $((SECONDS % 60)) s: $name"
  ("$@") > >(tee "$BUILD/logs/part-$name.log") 2>&1 || status=$?
  took+=("$name $(((SECONDS - began) / 60)):$(printf %02d $(((SECONDS - began) % 60)))")
  case $status in
    0) ;;
    "$CANNOT") left_out+=("$name") ;;
    *) failed+=("$name") ;;
  esac
}

# part_in_time NAME MINUTES VERBS COMMAND...: the same, if there are so many minutes left; else './run VERBS' does it. Parts
# before the sanitizers leave these their ten minutes.
part_in_time() {
  if (($(seconds_before "$2") > 0)); then
    part "$1" "${@:4}"
  else
    say "no time is left for $1; ./run $3 does it"
    left_out+=("$1")
  fi
}

# Guests in which much is broken on purpose take longest. Others come first.
LATE_GUESTS=(flush service_faults faults process_faults)

# test_all goes on after a failure, so that one run tells of everything that is wrong.
test_all() {
  local failed=() left_out=() took=() sanitized chroots list began built
  rm -f "$BUILD"/logs/tests-*.xml "$BUILD"/*/build/logs/tests-*.xml
  for list in tests/{vm,debian} packaging scripts/site; do # now, while sudo remembers the password
    install_packages "$ROOT/$list/packages.txt" || return
  done
  began=$SECONDS
  build_preset dev all interop thrift_tests hot_paths || die "the build failed"
  built=$((SECONDS - began))
  PERCENT=$((built * 100 / USUAL_BUILD))
  ((PERCENT >= 100)) || PERCENT=100
  set -m # process groups, to end with this one
  when_idle build_sanitized &
  sanitized=$!
  when_idle build_chroots "$sanitized" &
  chroots=$!
  set +m
  # shellcheck disable=SC2064  # these
  trap "kill -- -$sanitized -$chroots 2>/dev/null || true" EXIT # the builds have mostly ended: that fails nothing
  # Parts that wait, beside the compiler.
  part dev run_ctest dev
  part vm run_guests --without "${LATE_GUESTS[@]}"
  part docs verb_docs
  part_in_time interop 13 'test interop' test_interop
  part_in_time thrift 14 'test thrift' test_thrift
  part_in_time packages 15 'test packages' test_packages
  part_in_time grpc-core 16 'test grpc-core' test_grpc_core --sample 60
  part_in_time vm-faults 22 'test vm' run_guests "${LATE_GUESTS[@]}"
  wait "$sanitized" || true
  part sanitizers test_sanitized
  # What finds most in a minute comes first.
  part_in_time chaos 3 'test chaos' test_chaos --seeds 2000
  part_in_time instructions 3 'test instructions' test_instructions
  part_in_time fuzz 3 fuzz test_fuzz
  part_in_time clang-tidy 6 'test tidy' tidy_quickly
  # The chroots' builds may be under way still. There is no time for tests whose build leaves none.
  if kill -0 "$chroots" 2>/dev/null; then
    sleep "$(seconds_before 11)" >/dev/null 2>&1 &
    wait -n "$chroots" "$!" || true
    if ! kill "$!" 2>/dev/null; then END=0; fi
  fi
  part_in_time current-grpc 5 'test current-grpc' test_current_grpc
  part_in_time debian13 6 'test debian13' test_debian13
  say "run: minutes and seconds: build $((built / 60)):$(printf %02d $((built % 60)))$(printf ', %s' "${took[@]}")"
  say "run: $((SECONDS / 60)) min $((SECONDS % 60)) s: the end${left_out[*]:+, without: ${left_out[*]}}"
  if ((${#failed[@]} != 0)); then
    tell_failures
    die "failed: ${failed[*]}"
  fi
}

# What the parts in `failed` said last, and their tests: a log of an hour is often cut, but its end is kept.
tell_failures() {
  local name results
  for name in "${failed[@]}"; do
    say "--- the end of $name (build/logs/part-$name.log)"
    tail -n 12 "$BUILD/logs/part-$name.log"
  done
  mapfile -t results < <(compgen -G "$BUILD/logs/tests-*.xml"; compgen -G "$BUILD/*/build/logs/tests-*.xml")
  python3 "$ROOT/scripts/failed_tests.py" "${results[@]}"
}

# Each decoder of what peers send: whether a change has broken one. They begin with a corpus of many hours, and reach nearly
# all that they reach in 15 s within 6. The hours that find rare faults are on record.
test_fuzz() { run_fuzz --seconds=6; }

# Who speaks with whom: gRPC's and Thrift's own cases, and calls by each of gRPC's APIs at both ends, between stock processes
# and Skein's, over shared memory and TCP, with TLS and without; then over RDMA, in virtual machines. The tables of
# docs/reliability.md.
test_matrix() {
  local status=0 of="$BUILD/dev/interop" in="$BUILD/vm/results"
  local tables=("$of/grpc/matrix.json" "$of/grpc/styles.json" "$of/thrift/matrix.json" "$in/interop/matrix.json"
    "$in/thrift/matrix.json")
  rm -f "${tables[@]}"
  test_interop || status=1
  test_thrift || status=1
  install_packages "$ROOT/tests/vm/packages.txt" || return
  python3 "$ROOT/tests/vm/run_vm.py" --build "$BUILD/dev" interop thrift || status=1
  python3 "$ROOT/tests/skeintest/matrix.py" "${tables[@]}" || status=1
  return $status
}

test_interop() {
  local status=0
  build_preset dev all interop || die "the build failed"
  python3 "$ROOT/interop/grpc/run_interop.py" --build "$BUILD/dev" || status=1
  python3 "$ROOT/interop/grpc/styles.py" --build "$BUILD/dev" || status=1
  return $status
}

# test_grpc_core [OPTION...]: the end-to-end cases of gRPC's core over TCP and over Skein; interop/grpc_core/README.md has the
# options.
test_grpc_core() {
  check_options "$ROOT/interop/grpc_core/run_grpc_core.py" "$@"
  build_preset dev grpc_core || die "the build failed"
  python3 -B "$ROOT/interop/grpc_core/run_grpc_core.py" --build "$BUILD/dev" "$@"
}

test_thrift() {
  if [[ ! -f $THRIFT_SOURCE/.version ]]; then
    say "Thrift's own tests are left out: their source package could not be had; ./run setup tries again"
    return "$CANNOT"
  fi
  build_preset dev thrift_tests || die "the build failed"
  python3 "$ROOT/interop/thrift/run_thrift.py" --build "$BUILD/dev"
}

# test_instructions [--update]: what the hot paths cost.
# shellcheck disable=SC2120  # verb_test passes the option
test_instructions() {
  build_preset dev hot_paths || die "the build failed"
  python3 "$ROOT/tests/instructions/run_instructions.py" --build "$BUILD/dev" "$@"
}

# Durable calls, and what they stand on; then servers of gRPC and of Thrift that are killed 500 times each, in three
# minutes and one; then a machine whose power is cut five times, in three.
test_durable() {
  local status=0
  install_packages "$ROOT/tests/vm/packages.txt" || return
  build_preset dev || die "the build failed"
  run_ctest dev --label-regex durable || status=1
  run_pytest dev durable-kills "$ROOT"/tests/system/test_{durable_kills,notebook}.py -k 'not preload' -s --times 500 || status=1
  run_pytest dev replica-kills "$ROOT/tests/system/test_replica_kills.py" -s --times 200 || status=1
  python3 "$ROOT/tests/vm/power_loss.py" --build "$BUILD/dev" --cuts 5 || status=1
  return $status
}

# test_faults [OPTION...]: processes killed and stopped under load, 500 times each unless told otherwise, in an hour.
test_faults() {
  check_options "$ROOT/tests/system/faults/faults.py" "$@"
  build_preset dev || die "the build failed"
  python3 "$ROOT/tests/system/faults/faults.py" --build "$BUILD/dev" --times 500 "$@"
}

# test_chaos [OPTION...]: faults on simulated time; tests/sim/README.md has the options.
# shellcheck disable=SC2120  # verb_test passes them
test_chaos() {
  build_preset dev chaos || die "the build failed"
  "$BUILD/dev/tests/sim/chaos" "$@"
}

# run_guests [NAME...] [-- OPTION...], test_vm: in virtual machines, whose kernel has an RDMA device whatever this machine has. What
# there is, and what it takes, is in tests/vm/README.md.
# shellcheck disable=SC2120  # verb_test passes them
run_guests() { python3 "$ROOT/tests/vm/run_vm.py" --build "$BUILD/dev" "$@"; }

# shellcheck disable=SC2120
test_vm() {
  install_packages "$ROOT/tests/vm/packages.txt" || return
  build_preset dev all interop thrift_tests || die "the build failed"
  run_guests "$@"
}

# can_chroot NAME: of what is left out where not.
can_chroot() {
  if [[ $(. /etc/os-release && echo "$ID") != debian ]] || ! as_root unshare --mount true; then
    say "$1 is left out: it takes the mirror of a machine with Debian, and root who may mount"
    return "$CANNOT"
  fi
}

# The same source on other releases of Debian; as root, or with sudo.
test_debian() {
  install_packages "$ROOT/tests/debian/packages.txt" || return
  can_chroot "$1" || return
  "$ROOT/tests/debian/run_debian.sh" "$@"
}

test_debian13() { test_debian debian13 trixie "$@"; }

test_sid() { test_debian sid sid; }

# Current gRPC, of Debian experimental. Exits with CANNOT where the distribution's packages do not fit together.
test_current_grpc() { in_current_grpc test; }

# in_current_grpc VERB [ARGUMENT...]: of inside_current_grpc.sh, in the chroot with current gRPC.
in_current_grpc() {
  install_packages "$ROOT/tests/debian/packages.txt" || return
  can_chroot current-grpc || return
  BENCH_COMMIT=$(git -C "$ROOT" describe --always --dirty || true) \
    "$ROOT/tests/debian/run_current_grpc.sh" tests/debian/inside_current_grpc.sh "$@"
}

# The packages of this tree: built, read by lintian, installed, and tried as a user would. Trying them replaces those that
# are installed, and removes them.
test_packages() {
  local installed
  # shellcheck disable=SC2016  # the ${} are dpkg-query's, which fails where it knows none of them
  installed=$({ dpkg-query -W -f '${db:Status-Abbrev} ${Package}\n' 'libskein-*' 'skein-*' 2>/dev/null || true; } |
    awk '$1 == "ii" { print $2 }')
  if [[ -n $installed ]]; then
    say "the packages are left out: these are installed here: ${installed//$'\n'/ }"
    return "$CANNOT"
  fi
  verb_packages || return
  quietly "trying the packages" "$BUILD/logs/packages-try.log" "$ROOT/packaging/try_packages.sh"
}

# Of all folders, each file by itself.
test_tidy() {
  UNITY=none build_preset dev || die "the build failed"
  quietly "clang-tidy" "$BUILD/logs/clang-tidy.log" python3 "$ROOT/scripts/tidy.py" "$BUILD/dev"
}

verb_test() {
  local what=${1:-quick}
  if [[ "$*" != 'instructions --update' && ! $what =~ ^(chaos|faults|grpc-core|vm)$ ]] && (($# > 1)); then
    usage_error "only 'test chaos', 'test faults', 'test grpc-core' and 'test vm' take more arguments, not 'test $what'; alone: --all, changed, debian13, sid, current-grpc, packages, durable, interop, matrix, thrift, instructions, tidy or a regular expression of test names"
  fi
  case $what in
    quick | changed | chaos | debian13 | sid | current-grpc | packages | durable | faults | grpc-core | matrix | interop | thrift | vm | instructions | tidy | --all) what=${what#--} ;;
    -*) usage_error "unknown option '$what' of test; there is: --all" ;;
    *) set -- named "$what" && what=named ;;
  esac
  verb_setup
  "test_${what//-/_}" "${@:2}"
}
