#!/bin/sh
# Fills version and checksums of a release into the Homebrew formula: formula.sh VERSION FOLDER > ctx.rb
# FOLDER has the files ctx-VERSION-MACHINE-SYSTEM.tar.gz.sha256.
set -eu
version=$1
folder=$2
script="s/{version}/$version/g"
for file in "$folder/ctx-$version"-*.tar.gz.sha256; do
    name=${file##*/ctx-"$version"-}
    script="$script;s/{sha256-${name%.tar.gz.sha256}}/$(cut -d ' ' -f 1 "$file")/"
done
formula=$(sed "$script" "$(dirname "$0")/homebrew.rb")
case $formula in
    *'{sha256-'*)
        echo "formula.sh: a checksum is missing in $folder" >&2
        exit 1
        ;;
esac
printf '%s\n' "$formula"
