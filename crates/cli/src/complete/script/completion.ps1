# powershell completion for @PROGRAM@                                 -*- shell-script -*-
#
# Asks the program itself what could come next. The block can be registered for aliases, too:
#
#     Set-Alias h @PROGRAM@
#     Register-ArgumentCompleter -CommandName 'h' -ScriptBlock ${__@PROGRAM@CompleterBlock}

[scriptblock]${__@PROGRAM@CompleterBlock} = {
    param($wordToComplete, $commandAst, $cursorPosition)

    $words = @($commandAst.CommandElements | Where-Object { $_.Extent.StartOffset -lt $cursorPosition } | ForEach-Object { "$_" })
    $program = $words[0]
    $typed = @($words | Select-Object -Skip 1)
    # The word at the cursor goes last, even when it is empty.
    if ($wordToComplete -eq '') {
        # Older versions drop empty arguments on the way to programs.
        if ($PSVersionTable.PSVersion -lt [version]'7.3.0') { $typed += '""' } else { $typed += '' }
    }
    $lines = @(& $program @REQUEST@ @typed 2>$null)
    if ($lines.Count -eq 0 -or $lines[-1] -notmatch '^:\d+$') { return }
    $directive = [int]$lines[-1].Substring(1)
    if ($directive -band 1) { return }

    # The program answers with the value alone; PowerShell wants the whole word.
    $before = ''
    $current = $wordToComplete
    if ($wordToComplete -match '^(-[^=]*=)(.*)$') { $before = $Matches[1]; $current = $Matches[2] }

    $choices = @($lines | Select-Object -SkipLast 1 | Where-Object { $_ -notlike '_activeHelp_*' } | ForEach-Object {
        $value, $note = $_ -split "`t", 2
        if ($value -like "$current*") {
            $tip = if ($note) { $note } else { $value }
            $after = if ($directive -band 2) { '' } else { ' ' }
            [System.Management.Automation.CompletionResult]::new("$before$value$after", $value, 'ParameterValue', $tip)
        }
    })
    if ($choices.Count -gt 0) { return $choices }
    # Nothing of ours: an empty answer keeps files away, no answer lets PowerShell offer them.
    if ($directive -band 4) { return '' }
}

Register-ArgumentCompleter -Native -CommandName '@PROGRAM@' -ScriptBlock ${__@PROGRAM@CompleterBlock}
