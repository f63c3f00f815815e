# bash completion of the skein command, out of its own help.
# shellcheck shell=bash disable=SC2207

# Words that begin the lines of an indented list of help: verbs.
_skein_verbs() { skein --help 2>/dev/null | sed -n '/^Verbs:/,/^Options:/s/^  \([a-z][a-z]*\) .*/\1/p'; }

_skein_options() { skein "$1" --help 2>/dev/null | sed -n '/^Options:/,/^Examples:/s/^ *\(-[a-z], *\)\{0,1\}\(--[a-z][a-z-]*=\{0,1\}\).*/\2/p'; }

# The program behind skein run's options, and its own words: as bash completes them.
_skein_program() {
  local at
  for ((at = 2; at < COMP_CWORD; ++at)); do
    [[ ${COMP_WORDS[at]} == -- ]] && { _command_offset $((at + 1)); return; }
    [[ ${COMP_WORDS[at]} == -* ]] || break
  done
  _command_offset "$at"
}

_skein() {
  local word=$2 verb=${COMP_WORDS[1]}
  COMPREPLY=()
  if ((COMP_CWORD == 1)); then
    COMPREPLY=($(compgen -W "$(_skein_verbs) --help --version" -- "$word"))
  elif [[ $word == -* && ($verb != run || $COMP_CWORD -eq 2 || $3 == -*) ]]; then
    COMPREPLY=($(compgen -W "$(_skein_options "$verb")" -- "$word"))
    [[ ${COMPREPLY[0]:-} != *= ]] || compopt -o nospace
  else
    case $verb in
      run) _skein_program ;;
      doctor) COMPREPLY=($(compgen -c -- "$word")) ;;
      options) COMPREPLY=($(compgen -W "$(skein options 2>/dev/null | sed -n 's/^skein\.\([a-z_]*\) .*/\1/p')" -- "$word")) ;;
      durable)
        if ((COMP_CWORD == 2)); then COMPREPLY=($(compgen -W 'replica show promote' -- "$word"))
        else COMPREPLY=($(compgen -f -- "$word")); fi
        ;;
      breakdown) COMPREPLY=($(compgen -f -- "$word")) ;;
      *) COMPREPLY=($(compgen -W "$(skein paths 2>/dev/null | awk '$1 ~ /^[0-9]+$/ { print $1 }')" -- "$word")) ;;
    esac
  fi
}

complete -F _skein skein
