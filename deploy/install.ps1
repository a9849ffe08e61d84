# Installs pintle for one user, without administrator rights: downloads a release, verifies it, and copies one program.
#
#   powershell -File install.ps1 [-Version VERSION] [-To FOLDER] [-AsHelm] [-Uninstall]
#
# Releases come from $env:PINTLE_RELEASES. The archive is compared with the digests of the release, always. If minisign is
# installed and $env:PINTLE_KEY has a public key, the signature of the digests is verified, too.
param(
    [string] $Version = '',
    [string] $To = (Join-Path $env:LOCALAPPDATA 'Programs\pintle'),
    [switch] $AsHelm,
    [switch] $Uninstall
)
$ErrorActionPreference = 'Stop'
$ProgressPreference = 'SilentlyContinue'

$releases = if ($env:PINTLE_RELEASES) { $env:PINTLE_RELEASES } else { 'https://github.com/pintle-dev/pintle/releases/download' }
$latest = if ($env:PINTLE_LATEST) { $env:PINTLE_LATEST } else { 'https://github.com/pintle-dev/pintle/releases/latest/download/VERSION' }

# The list of what was installed, so that exactly that is removed again.
$receipt = Join-Path $env:LOCALAPPDATA 'pintle\installed'

if ($Uninstall) {
    if (-not (Test-Path -LiteralPath $receipt)) { throw "nothing was installed by this script: there is no $receipt" }
    foreach ($path in Get-Content -LiteralPath $receipt) {
        Remove-Item -LiteralPath $path -Force -ErrorAction SilentlyContinue
        Write-Output "removed $path"
    }
    Remove-Item -LiteralPath $receipt -Force
    exit 0
}

# Everything happens in here, and only what was verified leaves it.
$work = Join-Path ([System.IO.Path]::GetTempPath()) ([System.Guid]::NewGuid().ToString())
New-Item -ItemType Directory -Path $work | Out-Null
try {
    if (-not $Version) {
        Invoke-WebRequest -UseBasicParsing -Uri $latest -OutFile (Join-Path $work 'VERSION')
        $Version = (Get-Content -LiteralPath (Join-Path $work 'VERSION') -TotalCount 1)
    }
    $Version = $Version.Trim().TrimStart('v')
    if ($Version -notmatch '^[0-9A-Za-z.+-]+$') { throw "``$Version`` is no version" }

    $name = "pintle-v$Version-x86_64-pc-windows-gnu"
    $archive = Join-Path $work "$name.zip"
    $sums = Join-Path $work 'SHA256SUMS'
    Write-Output "downloading $name"
    Invoke-WebRequest -UseBasicParsing -Uri "$releases/v$Version/$name.zip" -OutFile $archive
    Invoke-WebRequest -UseBasicParsing -Uri "$releases/v$Version/SHA256SUMS" -OutFile $sums

    if ($env:PINTLE_KEY -and (Get-Command minisign -ErrorAction SilentlyContinue)) {
        Invoke-WebRequest -UseBasicParsing -Uri "$releases/v$Version/SHA256SUMS.minisig" -OutFile "$sums.minisig"
        & minisign -V -q -P $env:PINTLE_KEY -m $sums
        if ($LASTEXITCODE -ne 0) { throw 'the signature of the release is wrong; nothing was installed' }
        Write-Output 'the signature is right'
    }
    $line = Get-Content -LiteralPath $sums | Where-Object { $_ -cmatch "^([0-9a-f]{64})  $([regex]::Escape("$name.zip"))$" }
    if (-not $line) { throw "the release does not list $name.zip; nothing was installed" }
    $wanted = $line.Substring(0, 64)
    $found = (Get-FileHash -Algorithm SHA256 -LiteralPath $archive).Hash.ToLowerInvariant()
    if ($wanted -cne $found) { throw "$name.zip has the digest $found, and the release says $wanted; nothing was installed" }
    Write-Output 'the digest is right'

    Expand-Archive -LiteralPath $archive -DestinationPath $work
    $program = Join-Path $work "$name\pintle.exe"
    if (-not (Test-Path -LiteralPath $program)) { throw 'the archive has no program; nothing was installed' }

    New-Item -ItemType Directory -Force -Path $To, (Split-Path $receipt) | Out-Null
    $installed = @()
    $names = if ($AsHelm) { @('pintle.exe', 'helm.exe') } else { @('pintle.exe') }
    foreach ($file in $names) {
        $target = Join-Path $To $file
        # A running program cannot be overwritten, but it can be renamed.
        if (Test-Path -LiteralPath $target) { Move-Item -Force -LiteralPath $target -Destination "$target.old" }
        Copy-Item -LiteralPath $program -Destination $target
        Remove-Item -Force -LiteralPath "$target.old" -ErrorAction SilentlyContinue
        $installed += $target
        Write-Output "installed $target"
    }
    if (Test-Path -LiteralPath $receipt) { $installed += Get-Content -LiteralPath $receipt }
    $installed | Sort-Object -Unique | Set-Content -LiteralPath $receipt
    if (($env:PATH -split ';') -notcontains $To) { Write-Output "note: $To is not on your PATH" }
} finally {
    Remove-Item -Recurse -Force -LiteralPath $work
}
