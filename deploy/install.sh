#!/bin/sh
# Installs pintle for one user, without root: downloads a release, verifies it, and copies one program and its completions.
#
#   sh install.sh [--version VERSION] [--to FOLDER] [--as-helm] [--uninstall]
#
# Releases come from $PINTLE_RELEASES. The archive is compared with the digests of the release, always. If `minisign` is
# installed and $PINTLE_KEY has a public key, the signature of the digests is verified, too.
set -eu

releases=${PINTLE_RELEASES:-https://github.com/pintle-dev/pintle/releases/download}
latest=${PINTLE_LATEST:-https://github.com/pintle-dev/pintle/releases/latest/download/VERSION}
version=
folder=${XDG_BIN_HOME:-$HOME/.local/bin}
data=${XDG_DATA_HOME:-$HOME/.local/share}
as_helm=no
uninstall=no

say() { printf '%s\n' "$*"; }
fail() { printf 'error: %s\n' "$1" >&2; [ $# -lt 2 ] || printf 'hint: %s\n' "$2" >&2; exit 1; }
has() { command -v "$1" >/dev/null 2>&1; }

while [ $# -gt 0 ]; do
    case $1 in
        --version) [ $# -ge 2 ] || fail '--version needs a version, such as 0.1.0'; version=${2#v}; shift ;;
        --to) [ $# -ge 2 ] || fail '--to needs a folder'; folder=$2; shift ;;
        --as-helm) as_helm=yes ;;
        --uninstall) uninstall=yes ;;
        -h | --help) sed -n '2,7s/^# \{0,1\}//p' "$0"; exit 0 ;;
        *) fail "unknown argument \`$1\`" 'see sh install.sh --help' ;;
    esac
    shift
done

# The list of what was installed, so that exactly that is removed again.
receipt=$data/pintle/installed

if [ "$uninstall" = yes ]; then
    [ -f "$receipt" ] || fail "nothing was installed by this script: there is no $receipt" \
        'if a package manager installed pintle, let it remove it'
    while IFS= read -r path; do
        rm -f -- "$path"
        say "removed $path"
    done < "$receipt"
    rm -f -- "$receipt"
    exit 0
fi

download() { # URL FILE
    if has curl; then
        curl --fail --silent --show-error --location --output "$2" "$1"
    elif has wget; then
        wget -q -O "$2" "$1"
    else
        fail 'neither curl nor wget is here' 'install one of them'
    fi
}

digest() { # FILE
    if has sha256sum; then
        sha256sum "$1" | cut -d ' ' -f 1
    elif has shasum; then
        shasum -a 256 "$1" | cut -d ' ' -f 1
    elif has openssl; then
        openssl dgst -sha256 -r "$1" | cut -d ' ' -f 1
    else
        fail 'nothing here can compute a SHA-256 digest, so the download cannot be verified' \
            'install coreutils or openssl'
    fi
}

case $(uname -s) in
    Linux) system=linux ;;
    Darwin) system=darwin ;;
    *) fail "there is no release for $(uname -s)" 'on Windows, use install.ps1; elsewhere, build from source' ;;
esac
case $system-$(uname -m) in
    linux-x86_64 | linux-amd64) target=x86_64-unknown-linux-musl ;;
    linux-aarch64 | linux-arm64) target=aarch64-unknown-linux-musl ;;
    linux-armv7*) target=armv7-unknown-linux-gnueabihf ;;
    linux-riscv64) target=riscv64gc-unknown-linux-gnu ;;
    linux-s390x) target=s390x-unknown-linux-gnu ;;
    linux-ppc64le) target=powerpc64le-unknown-linux-gnu ;;
    darwin-arm64) target=aarch64-apple-darwin ;;
    *) fail "there is no release for $system on $(uname -m)" 'build from source' ;;
esac

# Everything happens in here, and only what was verified leaves it.
work=$(mktemp -d)
trap 'rm -rf -- "$work"' EXIT
trap 'exit 1' HUP INT TERM

if [ -z "$version" ]; then
    download "$latest" "$work/VERSION" || fail 'cannot find out which version is the newest' 'name one with --version'
    version=$(head -c 64 "$work/VERSION" | head -n 1)
    version=${version#v}
fi
case $version in
    '' | *[!0-9A-Za-z.+-]*) fail "\`$version\` is no version" ;;
esac

name=pintle-v$version-$target
say "downloading $name"
download "$releases/v$version/$name.tar.gz" "$work/archive" || fail "cannot download $name.tar.gz from $releases/v$version"
download "$releases/v$version/SHA256SUMS" "$work/SHA256SUMS" || fail "cannot download SHA256SUMS from $releases/v$version"

if has minisign && [ -n "${PINTLE_KEY:-}" ]; then
    download "$releases/v$version/SHA256SUMS.minisig" "$work/SHA256SUMS.minisig" || fail 'the release has no signature'
    minisign -V -q -P "$PINTLE_KEY" -m "$work/SHA256SUMS" || fail 'the signature of the release is wrong; nothing was installed'
    say 'the signature is right'
fi
wanted=$(awk -v name="$name.tar.gz" '$2 == name { print $1 }' "$work/SHA256SUMS")
[ -n "$wanted" ] || fail "the release does not list $name.tar.gz; nothing was installed"
found=$(digest "$work/archive")
[ "$wanted" = "$found" ] || fail "$name.tar.gz has the digest $found, and the release says $wanted; nothing was installed" \
    'try again; if it stays so, report it'
say 'the digest is right'

tar -xzf "$work/archive" -C "$work"
[ -f "$work/$name/pintle" ] || fail "the archive has no program; nothing was installed"

if [ "$as_helm" = yes ] && [ -e "$folder/helm" ] && [ "$(readlink "$folder/helm" || :)" != pintle ]; then
    fail "$folder/helm is there already, and is not this program; nothing was installed" 'move it away, or leave out --as-helm'
fi

# A copy beside the final place, then one rename: a running program is never half-written.
place() { # FROM TO MODE
    mkdir -p -- "$(dirname "$2")"
    cp -- "$1" "$2.new"
    chmod "$3" "$2.new"
    mv -f -- "$2.new" "$2"
    printf '%s\n' "$2" >> "$work/receipt"
    say "installed $2"
}

place "$work/$name/pintle" "$folder/pintle" 755
place "$work/$name/completions/pintle.bash" "$data/bash-completion/completions/pintle" 644
place "$work/$name/completions/_pintle" "$data/zsh/site-functions/_pintle" 644
place "$work/$name/completions/pintle.fish" "$data/fish/vendor_completions.d/pintle.fish" 644
for page in "$work/$name"/man/man1/*.1; do
    [ -f "$page" ] || continue
    mkdir -p -- "$data/man/man1"
    cp -- "$page" "$data/man/man1/"
    printf '%s\n' "$data/man/man1/$(basename "$page")" >> "$work/receipt"
done
if [ "$as_helm" = yes ]; then
    ln -sf pintle "$folder/helm"
    printf '%s\n' "$folder/helm" >> "$work/receipt"
    say "installed $folder/helm, which is pintle"
fi
# What an earlier version had installed stays on the list, or it would never be removed.
mkdir -p -- "$data/pintle"
[ ! -f "$receipt" ] || cat -- "$receipt" >> "$work/receipt"
sort -u "$work/receipt" > "$receipt.new"
mv -f -- "$receipt.new" "$receipt"

case :$PATH: in
    *:"$folder":*) ;;
    *) say "note: $folder is not on your PATH" ;;
esac
