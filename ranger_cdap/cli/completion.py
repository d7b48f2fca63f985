"""Shell completion by click, for bash with names that have colons, and for zsh without a space behind a colon."""

from __future__ import annotations

import os
from typing import ClassVar, Final

from click.shell_completion import BashComplete, ShellComplete, ZshComplete, add_completion_class, split_arg_string

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


add_completion_class(_Bash)
add_completion_class(_Zsh)
