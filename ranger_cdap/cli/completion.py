"""`ranger-cdap completion`: shell completion of commands, options, operations, entity types and profiles."""

from __future__ import annotations

import os
from typing import ClassVar, Final

import click
from click.shell_completion import (
    BashComplete,
    FishComplete,
    ShellComplete,
    ZshComplete,
    add_completion_class,
    split_arg_string,
)

from ranger_cdap.cli.command import Command

PROGRAM: Final = "ranger-cdap"
VARIABLE: Final = "_RANGER_CDAP_COMPLETE"

# Bash breaks words at colons, so the whole line is sent, and the text before the last colon is not repeated.
_BASH = """\
%(complete_func)s() {
    local line="${COMP_LINE:0:COMP_POINT}" word prefix="" type value
    word="${line##*[[:space:]]}"
    [[ $word == *:* && $COMP_WORDBREAKS == *:* ]] && prefix="${word%%"${word##*:}"}"
    [[ $word == *=* && -z $prefix && $COMP_WORDBREAKS == *=* ]] && prefix="${word%%"${word##*=}"}"
    COMPREPLY=()
    while IFS=, read -r type value; do
        case $type in
            dir) compopt -o dirnames ;;
            file) compopt -o default ;;
            plain)
                [[ $value == *[:=] ]] && compopt -o nospace
                COMPREPLY+=("${value#"$prefix"}")
                ;;
        esac
    done < <(COMP_WORDS="$line" %(complete_var)s=bash_complete %(prog_name)s)
}
complete -o nosort -F %(complete_func)s %(prog_name)s
"""

_ZSH_ADDS_ALL: Final = """\
        compadd -U -V unsorted -a completions
"""
_ZSH_ADDS_NO_SPACE_BEHIND_A_COLON: Final = """\
        local -a whole=(${completions:#*[:=]}) begun=(${(M)completions:#*[:=]})
        (( $#whole )) && compadd -U -V unsorted -a whole
        (( $#begun )) && compadd -U -V unsorted -S '' -a begun
"""


class _Bash(BashComplete):
    source_template: ClassVar[str] = _BASH

    def source(self) -> str:
        return ShellComplete.source(self)  # the script may be generated on another machine than the one that uses it

    def get_completion_args(self) -> tuple[list[str], str]:
        line = os.environ["COMP_WORDS"]
        words = split_arg_string(line)[1:]
        return (words, "") if line[-1:].isspace() or not words else (words[:-1], words[-1])


class _Zsh(ZshComplete):
    source_template: ClassVar[str] = ZshComplete.source_template.replace(
        _ZSH_ADDS_ALL, _ZSH_ADDS_NO_SPACE_BEHIND_A_COLON
    )


SHELLS: Final = {"bash": _Bash, "zsh": _Zsh, "fish": FishComplete}
for _name, _shell in SHELLS.items():
    add_completion_class(_shell, _name)


@click.command(
    cls=Command,
    answers=False,
    examples=(
        "ranger-cdap completion bash",
        "ranger-cdap completion fish",
    ),
)
@click.argument("shell", type=click.Choice(list(SHELLS)), metavar="bash|zsh|fish")
@click.pass_context
def completion(context: click.Context, shell: str) -> None:
    """Print the completion script of SHELL: commands, options, operations, entity types and profiles.

    \b
    bash: ranger-cdap completion bash > ~/.local/share/bash-completion/completions/ranger-cdap
    zsh:  ranger-cdap completion zsh > a file `_ranger-cdap` in a folder of $fpath
    fish: ranger-cdap completion fish > ~/.config/fish/completions/ranger-cdap.fish
    """
    root = context.find_root().command
    click.echo(SHELLS[shell](root, {}, PROGRAM, VARIABLE).source(), nl=False)
