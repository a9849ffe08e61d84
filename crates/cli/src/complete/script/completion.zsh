#compdef @PROGRAM@
# zsh completion for @PROGRAM@: asks the program itself what could come next.

_@PROGRAM@() {
    local -a typed lines choices
    local line value note tab=$'\t'
    integer directive=0

    typed=("${(@Q)words[2,CURRENT-1]}" "${(Q)PREFIX}")
    lines=("${(@f)$(${~words[1]} @REQUEST@ "${typed[@]}" 2>/dev/null)}")
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

# Sourced directly, the function must be registered; loaded from fpath, it must be run.
if [[ $funcstack[1] == _@PROGRAM@ ]]; then
    _@PROGRAM@
else
    compdef _@PROGRAM@ @PROGRAM@
fi
