#!/usr/bin/env bash
# man_pages.sh PREFIX FOLDER: the man pages of PREFIX/bin/skein, of each of its verbs, of PREFIX/bin/skein-bars and of
# PREFIX/sbin/skeind, made of their --help.
set -euo pipefail

programs=$1/bin folder=$2
version=$("$programs/skein" --version)
mkdir -p "$folder"

# page NAME SUMMARY COMMAND. help2man knows no commands of two words: the page is called as its file is.
page() {
  help2man --no-info --manual='Skein' --source="$version" --version-string="${version#* }" --name="$2" "$3" |
    sed -e "s/^\.TH [A-Z-]* /.TH ${1^^} /" -e "/^\.SH NAME/ { n; s/^[a-z -]* \\\\-/$1 \\\\-/ }" >"$folder/$1.1"
}

# verbs: a line for each, its name and its summary, which --help may have wrapped.
verbs() {
  "$programs/skein" --help | awk '
    /^[^ ]/ { listed = /^Verbs:/; next }
    !listed || !NF { next }
    /^  [a-z]/ { if (line) print line; line = "" }
    { $1 = $1; line = line (line ? " " : "") $0 }
    END { if (line) print line }'
}

page skein 'start programs with Skein, and look into them' "$programs/skein"
page skein-bars 'draw the tables of skein breakdown' "$programs/skein-bars"
page skeind 'have the RDMA device for all processes of this host' "$1/sbin/skeind"
while read -r verb summary; do
  page "skein-$verb" "$summary" "$programs/skein $verb"
done < <(verbs)
