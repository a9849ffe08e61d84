#compdef @PROGRAM@
compdef _@PROGRAM@ @PROGRAM@

# zsh completion for @PROGRAM@                                 -*- shell-script -*-
#
# Asks the program itself what could come next.

_@PROGRAM@() {
    local -a lines choices
    local word line value note request tab=$'\t'
    integer directive=0

    # The name that was typed may be an alias. Words are evaluated, so that quotes, `~` and variables mean what they will
    # mean; those that would run or write something are passed as they are.
    request="${words[1]} @REQUEST@ "
    for word in "${(@)words[2,CURRENT-1]}" "$PREFIX"; do
        if [[ -z $word || $word == *[\`\;\&\|\<\>\(\)]* ]]; then
            word=${(qq)${(Q)word}}
        fi
        request+="$word "
    done
    lines=("${(@f)$(eval "$request" 2>/dev/null)}")
    [[ ${lines[-1]} == :[0-9]* ]] || return 1
    directive=${lines[-1]#:}
    lines[-1]=()
    (( directive & 1 )) && return 1

    # The program answers with the value alone.
    [[ $PREFIX == -*=* ]] && compset -P '*='

    for line in "${lines[@]}"; do
        [[ -n $line ]] || continue
        if [[ $line == _activeHelp_* ]]; then
            _message -r "${line#_activeHelp_ }"
            continue
        fi
        value=${line%%$tab*}
        note=""
        [[ $line == *$tab* ]] && note=${line#*$tab}
        choices+=("${value//:/\\:}${note:+:$note}")
    done

    local -a options
    (( directive & 2 )) && options+=(-S '')
    if (( directive & 16 )); then
        _files -/
        return
    fi
    if (( ${#choices} )) && _describe -V 'choices' choices "${options[@]}"; then
        return 0
    fi
    (( directive & 4 )) && return 1
    _files
}

# Loaded from fpath, this file is the function and must run it; sourced, the function is registered already.
if [[ $funcstack[1] == _@PROGRAM@ ]]; then
    _@PROGRAM@
fi
