# bash completion V2 for @PROGRAM@                                 -*- shell-script -*-
#
# Asks the program itself what could come next. `__start_@PROGRAM@` is the function to give to `complete` for aliases:
#
#     alias h=@PROGRAM@
#     complete -o default -F __start_@PROGRAM@ h

# Puts back together what bash takes apart at = and :, up to the cursor.
__@PROGRAM@_words() {
    local i word last=""
    typed=()
    for ((i = 1; i <= COMP_CWORD; i++)); do
        word=${COMP_WORDS[i]}
        if ((i == COMP_CWORD)) && [[ ${COMP_LINE:COMP_POINT-1:1} == [[:blank:]] ]]; then
            last=""
        fi
        if ((${#typed[@]} > 0)) && [[ -n $last && ($word == [=:]* || $last == *[=:]) ]]; then
            last=${typed[${#typed[@]}-1]}$word
            typed[${#typed[@]}-1]=$last
        else
            typed+=("$word")
            last=$word
        fi
    done
}

# Asks the program, under the name that was typed, which may be an alias. Words are evaluated, so that quotes, `~` and
# variables mean what they will mean; those that would run or write something are passed as they are.
__@PROGRAM@_ask() {
    local word request="${COMP_WORDS[0]} @REQUEST@ "
    for word in "${typed[@]}"; do
        case $word in
        "") request+="'' " ;;
        *[\`\;\&\|\<\>\(\)]*)
            printf -v word %q "$word"
            request+="$word "
            ;;
        *) request+="$word " ;;
        esac
    done
    eval "$request" 2>/dev/null
}

# Shows what choices are about, as far as the terminal is wide enough; without a known width, not at all.
__@PROGRAM@_describe() {
    local i value note space
    for ((i = 0; i < ${#COMPREPLY[@]}; i++)); do
        value=${COMPREPLY[i]}
        note=${notes[i]}
        [[ -n $note ]] || continue
        space=$((${COLUMNS:-0} - width - 4))
        if ((space > 8)); then
            printf -v value '%-*s' "$width" "$value"
        else
            space=$((${COLUMNS:-0} - ${#value} - 4))
        fi
        if ((space > 0)); then
            ((${#note} > space)) && note="${note:0:space-1}…"
            value+="  ($note)"
        fi
        COMPREPLY[i]=$value
    done
}

__start_@PROGRAM@() {
    local -a typed=() lines=() notes=()
    local line directive current value quoted stays width=0 mark i
    COMPREPLY=()
    __@PROGRAM@_words
    current=${typed[${#typed[@]}-1]}

    while IFS= read -r line; do
        lines+=("$line")
    done < <(__@PROGRAM@_ask)
    ((${#lines[@]} > 0)) || return
    directive=${lines[${#lines[@]}-1]#:}
    unset "lines[${#lines[@]}-1]"
    [[ $directive == [0-9]* ]] || return
    ((directive & 1)) && return

    # The program answers with values alone.
    [[ $current == -*=* ]] && current=${current#*=}
    for line in "${lines[@]}"; do
        [[ -z $line || $line == _activeHelp_* ]] && continue
        value=${line%%$'\t'*}
        printf -v quoted %q "$value"
        [[ $quoted == "$current"* || $value == "$current"* ]] || continue
        COMPREPLY+=("$value")
        if [[ $line == *$'\t'* ]]; then notes+=("${line#*$'\t'}"); else notes+=(""); fi
        ((${#value} > width)) && width=${#value}
    done

    ((directive & 2)) && compopt -o nospace 2>/dev/null
    ((directive & 4)) && compopt +o default 2>/dev/null
    ((directive & 32)) && compopt -o nosort 2>/dev/null
    if ((directive & 16)); then
        COMPREPLY=()
        compopt -o dirnames 2>/dev/null
        return
    fi
    # One choice is inserted, and so are all with the commands that insert; several are a list to look at, of which bash
    # inserts what they have in common.
    if ((${#COMPREPLY[@]} == 1)) || [[ ${COMP_TYPE:-0} == 37 || ${COMP_TYPE:-0} == 42 ]]; then
        for ((i = 0; i < ${#COMPREPLY[@]}; i++)); do
            printf -v "COMPREPLY[i]" %q "${COMPREPLY[i]}"
        done
    else
        __@PROGRAM@_describe
    fi
    # What bash replaces is the part after the last = or :.
    for mark in : =; do
        [[ $current == *"$mark"* && ${COMP_WORDBREAKS-} == *"$mark"* ]] || continue
        stays=${current%"${current##*"$mark"}"}
        for ((i = 0; i < ${#COMPREPLY[@]}; i++)); do
            COMPREPLY[i]=${COMPREPLY[i]#"$stays"}
        done
    done
    return 0
}

complete -o default -F __start_@PROGRAM@ @PROGRAM@
