#!/bin/sh
# Installs ctx from its archive, after verifying the checksum beside it.
#
#   ./install.sh ctx-0.2.0-x86_64-linux.tar.gz             into ~/.local
#   ./install.sh --prefix /usr/local ctx-….tar.gz
#   ./install.sh --uninstall [--prefix DIR]
#
# A running daemon keeps its old program; `ctx run` and `ctx service install` replace it.
set -eu

prefix="${HOME:-}/.local"
archive=
uninstall=

fail() {
    echo "error: $1" >&2
    [ -z "${2:-}" ] || echo "hint: $2" >&2
    exit 1
}

while [ $# -gt 0 ]; do
    case "$1" in
        --prefix)
            [ $# -ge 2 ] || fail "--prefix needs a folder"
            prefix=$2
            shift
            ;;
        --uninstall) uninstall=yes ;;
        -*) fail "unknown option $1" "the first lines of this script show its usage" ;;
        *) archive=$1 ;;
    esac
    shift
done
[ "$prefix" != /.local ] || fail "HOME is not set" "name a folder with --prefix"
list="$prefix/share/doc/context-composer/installed-files"

# Drafts of installations that were killed. The name has the process in it; another installation may be running.
clean() {
    for left in "$prefix"/.ctx-install.*; do
        process=${left##*/.ctx-install.}
        [ ! -d "$left" ] || kill -0 "${process%%.*}" 2>/dev/null || rm -rf "$left"
    done
}

if [ -n "$uninstall" ]; then
    clean
    if [ ! -f "$list" ]; then
        echo "ctx is not installed in $prefix."
        exit 0
    fi
    while read -r file; do rm -f "${prefix:?}/$file"; done < "$list"
    rm -f "$list"
    rmdir "$prefix/share/doc/context-composer" 2>/dev/null || true
    echo "Removed ctx from $prefix. Conversations and settings stay; \`ctx purge\` and \`ctx uninstall\` would have removed them."
    exit 0
fi

if [ -z "$archive" ]; then
    for found in "$(dirname "$0")"/ctx-*.tar.gz; do archive=$found; done
fi
[ -f "$archive" ] || fail "no archive found" "name it: $0 ctx-VERSION-MACHINE.tar.gz"
case "$archive" in
    *-"$(uname -m)"-*) ;;
    *-aarch64-*) [ "$(uname -m)" = arm64 ] || fail "$archive is not for this machine ($(uname -m))" \
        "download the archive with $(uname -m) in its name" ;;
    *) fail "$archive is not for this machine ($(uname -m))" "download the archive with $(uname -m) in its name" ;;
esac
[ -f "$archive.sha256" ] || fail "the checksum $archive.sha256 is missing" "download it too"

expected=$(cut -d ' ' -f 1 < "$archive.sha256")
if command -v sha256sum > /dev/null; then
    actual=$(sha256sum "$archive" | cut -d ' ' -f 1)
else
    actual=$(shasum -a 256 "$archive" | cut -d ' ' -f 1)
fi
[ "$expected" = "$actual" ] || fail "the checksum of $archive is wrong: it is damaged or not the original" "download it again"

mkdir -p "$prefix" 2>/dev/null || fail "cannot create $prefix" "choose a folder of yours with --prefix"
clean
draft=$(mktemp -d "$prefix/.ctx-install.$$.XXXXXX" 2>/dev/null) || fail "cannot write to $prefix" "choose a folder of yours with --prefix"
trap 'rm -rf "$draft"' EXIT
trap 'exit 130' INT
trap 'exit 143' TERM
gzip -dc "$archive" | tar -xf - -C "$draft" || fail "the archive cannot be unpacked in $prefix" "is the disk full?"
root=$(echo "$draft"/ctx-*)
"$root/bin/ctx" --version > /dev/null || fail "the program does not run on this machine" "it needs Linux 3.2 or newer, and a folder in which programs may run"

# Each file is moved as a whole, so an interrupted installation leaves no half program; the list of files comes first, so
# that it can be removed.
(cd "$root" && find . -type f | sed 's|^\./||' | sort) > "$draft/files"
mkdir -p "$(dirname "$list")"
cp "$draft/files" "$list"
while read -r file; do
    mkdir -p "$(dirname "$prefix/$file")"
    mv -f "$root/$file" "$prefix/$file"
done < "$draft/files"

echo "Installed $("$prefix/bin/ctx" --version) into $prefix."
case ":$PATH:" in
    *":$prefix/bin:"*) ;;
    *) echo "Add it to your PATH: export PATH=\"$prefix/bin:\$PATH\"" ;;
esac
echo "Next: ctx init, or ctx demo to look around first."
