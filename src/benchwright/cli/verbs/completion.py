"""`benchwright completion`: scripts that let a shell complete our command lines."""

from __future__ import annotations

import click

_BASH = """\
# bash completion of benchwright. In ~/.bashrc: eval "$(benchwright completion bash)"
_benchwright() {
  local IFS=$'\\n' line word='' current prefix part
  local -a words=()
  # bash takes a word apart at = and : ; the parts are put together again.
  for ((part = 1; part <= COMP_CWORD; part++)); do
    line=${COMP_WORDS[part]}
    if [[ ( $line == [=:]* || $word == *[=:] ) && -n $word && ${#words[@]} -gt 0 ]]; then
      word+=$line
      words[${#words[@]}-1]=$word
    else
      word=$line
      words+=("$word")
    fi
  done
  current=${words[${#words[@]}-1]}
  prefix=''
  if [[ $current == *[=:]* ]]; then prefix=${current%"${current##*[=:]}"}; fi
  COMPREPLY=()
  for line in $("${COMP_WORDS[0]}" __complete "${words[@]}" 2>/dev/null); do
    case $line in
      :files)
        compopt -o filenames
        for line in $(compgen -f -- "${current##*[=:]}"); do COMPREPLY+=("$line"); done ;;
      :folders)
        compopt -o filenames
        for line in $(compgen -d -- "${current##*[=:]}"); do COMPREPLY+=("$line"); done ;;
      *)
        line=${line%%$'\\t'*}
        COMPREPLY+=("${line#"$prefix"}") ;;
    esac
  done
}
complete -F _benchwright benchwright
"""
_ZSH = """\
#compdef benchwright
# zsh completion of benchwright. In ~/.zshrc, after compinit: eval "$(benchwright completion zsh)"
_benchwright() {
  local line
  local -a offered
  for line in "${(@f)$("${words[1]}" __complete "${(@)words[2,CURRENT]}" 2>/dev/null)}"; do
    case $line in
      '') ;;
      :files) _files ;;
      :folders) _files -/ ;;
      *$'\\t'*) offered+=("${${line%%$'\\t'*}//:/\\\\:}:${line#*$'\\t'}") ;;
      *) offered+=("${line//:/\\\\:}") ;;
    esac
  done
  (( $#offered )) && _describe -V benchwright offered
}
if [[ ${funcstack[1]} == _benchwright ]]; then
  _benchwright "$@"
else
  compdef _benchwright benchwright
fi
"""
_FISH = """\
# fish completion of benchwright. Once: benchwright completion fish > ~/.config/fish/completions/benchwright.fish
function __benchwright_complete
    set -l words (commandline -opc)
    set -l current (commandline -ct)
    for line in (command $words[1] __complete $words[2..-1] "$current" 2>/dev/null)
        switch $line
            case :files
                __fish_complete_path "$current"
            case :folders
                __fish_complete_directories "$current"
            case '*'
                echo $line
        end
    end
end
complete --command benchwright --no-files --keep-order --arguments '(__benchwright_complete)'
"""
SCRIPTS = {"bash": _BASH, "zsh": _ZSH, "fish": _FISH}


@click.command("completion")
@click.argument("shell", type=click.Choice([*SCRIPTS]))
def command(shell: str) -> int:
    """Print a script that lets SHELL complete verbs, flags and files, and the tags, runs and cases of the store.

    \b
    bash, in ~/.bashrc:                  eval "$(benchwright completion bash)"
    zsh, in ~/.zshrc, after compinit:    eval "$(benchwright completion zsh)"
    fish, once:  benchwright completion fish > ~/.config/fish/completions/benchwright.fish

    Runs, tags and cases are those of a store that is a file.
    """
    click.echo(SCRIPTS[shell], nl=False)
    return 0
