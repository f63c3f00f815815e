#!/usr/bin/env bash
# make_source.sh FOLDER: the Debian source package of this tree, in FOLDER. The tree itself, as git lists it, is one
# component; the internal headers of the distribution's gRPC, which are not in the repository, are another: building it
# takes no network. Needs what ./run setup gets.
set -euo pipefail

# shellcheck source-path=SCRIPTDIR
source "$(dirname "${BASH_SOURCE[0]}")/../scripts/lib.sh"
(($# == 1)) || usage_error "make_source.sh takes a folder"
mkdir -p "$1"
folder=$(realpath "$1")

full_version=$(dpkg-parsechangelog -l "$ROOT/packaging/debian/changelog" -S Version)
version=${full_version%-*}
date=@$(dpkg-parsechangelog -l "$ROOT/packaging/debian/changelog" -S Timestamp)
tree=$folder/skein-$version
rm -rf "$tree"
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT

# archive FILE FOLDER PREFIX: the files of FOLDER that standard input lists, the same bytes whenever it is made.
archive() {
  LC_ALL=C sort -z | tar --create --xz --file "$1" --directory "$2" --mtime="$date" --owner=0 --group=0 --numeric-owner \
    --mode=u+rw,go=rX,a+X --transform "flags=r;s,^,$3/," --no-recursion --null --files-from -
}

# The compiler says which headers; how it is called, CMake says.
cmake -G Ninja -S "$ROOT" -B "$scratch/build" -DBUILD_TESTING=OFF -DSKEIN_GRPC_SOURCE="$GRPC_SOURCE" >"$scratch/log" ||
  { cat "$scratch/log" >&2 && exit 1; }
{
  echo .version
  "$ROOT/packaging/grpc_headers.py" "$GRPC_SOURCE" "$scratch/build"
} | tr '\n' '\0' >"$scratch/headers"
archive "$folder/skein_$version.orig-grpc.tar.xz" "$GRPC_SOURCE" grpc <"$scratch/headers"
# New files, too, and none that is gone.
git -C "$ROOT" ls-files -z --cached --others --exclude-standard --deduplicate |
  (cd "$ROOT" && while IFS= read -r -d '' file; do [[ ! -e $file && ! -L $file ]] || printf '%s\0' "$file"; done) |
  archive "$folder/skein_$version.orig.tar.xz" "$ROOT" "skein-$version"

tar --extract --file "$folder/skein_$version.orig.tar.xz" --directory "$folder"
tar --extract --file "$folder/skein_$version.orig-grpc.tar.xz" --directory "$tree"
cp -r "$tree/packaging/debian" "$tree/debian"
(cd "$folder" && dpkg-source --build "$tree")
rm -rf "$tree"
