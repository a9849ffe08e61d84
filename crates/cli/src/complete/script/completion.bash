# bash completion for @PROGRAM@: asks the program itself what could come next.

# Puts back together what bash takes apart at = and :, up to the cursor.
__@PROGRAM@_words() {
    local i word last=""
    __@PROGRAM@_typed=()
    for ((i = 1; i <= COMP_CWORD; i++)); do
        word=${COMP_WORDS[i]}
        if ((i == COMP_CWORD)) && [[ ${COMP_LINE:COMP_POINT-1:1} == [[:blank:]] ]]; then
            last=""
        fi
        if ((${#__@PROGRAM@_typed[@]} > 0)) && [[ -n $last && ($word == [=:]* || $last == *[=:]) ]]; then
            last=${__@PROGRAM@_typed[${#__@PROGRAM@_typed[@]}-1]}$word
            __@PROGRAM@_typed[${#__@PROGRAM@_typed[@]}-1]=$last
        else
            __@PROGRAM@_typed+=("$word")
            last=$word
        fi
    done
}

__@PROGRAM@_complete() {
    local -a __@PROGRAM@_typed lines=() values=() notes=()
    local line directive=0 current value note width=0 i
    COMPREPLY=()
    __@PROGRAM@_words
    current=${__@PROGRAM@_typed[${#__@PROGRAM@_typed[@]}-1]}

    while IFS= read -r line; do
        lines+=("$line")
    done < <("${COMP_WORDS[0]/#\~/$HOME}" @REQUEST@ "${__@PROGRAM@_typed[@]}" 2>/dev/null)
    ((${#lines[@]} > 0)) || return
    directive=${lines[${#lines[@]}-1]#:}
    unset "lines[${#lines[@]}-1]"
    [[ $directive == [0-9]* ]] || return

    # The program answers with values alone; what bash replaces is the part after the last = or :.
    [[ $current == -*=* ]] && current=${current#*=}
    for line in "${lines[@]}"; do
        value=${line%%$'\t'*}
        [[ $value == _activeHelp_* || $value != "$current"* ]] && continue
        note=""
        [[ $line == *$'\t'* ]] && note=${line#*$'\t'}
        [[ $value == *:* && $COMP_WORDBREAKS == *:* && $current == *:* ]] && value=${value#"${current%:*}:"}
        values+=("$value")
        notes+=("$note")
        ((${#value} > width)) && width=${#value}
    done

    if ((directive & 1)); then
        return
    fi
    ((directive & 2)) && compopt -o nospace 2>/dev/null
    if ((directive & 16)); then
        compopt -o dirnames 2>/dev/null
        return
    fi
    if ((${#values[@]} == 0)); then
        ((directive & 4)) || compopt -o bashdefault -o default 2>/dev/null
        return
    fi
    if ((${#values[@]} == 1)); then
        COMPREPLY=("${values[0]}")
        return
    fi
    # With several choices, show what they are; bash inserts only what they have in common.
    for ((i = 0; i < ${#values[@]}; i++)); do
        if [[ -n ${notes[i]} && ${COMP_TYPE:-0} != 37 && ${COMP_TYPE:-0} != 42 ]]; then
            printf -v line '%-*s  (%s)' "$width" "${values[i]}" "${notes[i]}"
            COMPREPLY+=("${line:0:${COLUMNS:-80}-2}")
        else
            COMPREPLY+=("${values[i]}")
        fi
    done
}

complete -F __@PROGRAM@_complete @PROGRAM@
