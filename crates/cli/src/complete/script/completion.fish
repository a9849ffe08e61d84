# fish completion for @PROGRAM@                                 -*- shell-script -*-
#
# Asks the program itself what could come next.

function __@PROGRAM@_choices
    set -l typed (commandline -opc)
    set -l current (commandline -ct | string unescape)
    # The name that was typed may be an alias, which is a function.
    set -l program (string replace -r '^~' "$HOME" -- $typed[1])
    set -l lines ($program @REQUEST@ $typed[2..-1] "$current" 2>/dev/null)
    set -q lines[1]; or return
    set -l directive (string sub -s 2 -- $lines[-1])
    string match -qr '^[0-9]+$' -- "$directive"; or return
    set -e lines[-1]
    test (math "$directive % 2") -eq 1; and return

    # The program answers with the value alone; fish wants the whole word.
    set -l before ""
    if string match -q -- '-*=*' "$current"
        set before (string replace -r '=.*' '=' -- "$current")
    end

    set -l count 0
    for line in $lines
        string match -q -- '_activeHelp_*' "$line"; and continue
        set count (math $count + 1)
        echo -- "$before$line" | string replace -r '^-- ' ''
    end
    if test $count -eq 0; and test (math "floor($directive / 4) % 2") -eq 0
        __fish_complete_path (string replace -r '^-[^=]*=' '' -- "$current") ""
    end
end

complete -c @PROGRAM@ -e
complete -c @PROGRAM@ -f -a '(__@PROGRAM@_choices)'
