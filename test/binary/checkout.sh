#!/bin/sh
# test/binary/checkout.sh FOLDER: this checkout once more, in a folder that is made: its files as they are, committed or not, its
# commit, and its packages, as links if that is possible.
set -eu
mkdir -p "$1"
target=$(cd "$1" && pwd)
cd "$(dirname "$0")/../.."
git ls-files -z --cached --others --exclude-standard | tar --create --null --files-from - --ignore-failed-read | tar --extract --directory "$target"
# The binary tells the commit that it is made of.
if [ -e .git ]; then cp -a .git "$target/.git"; fi
for packages in node_modules runtime/node_modules; do
  [ -d "$packages" ] || continue
  cp -al "$packages" "$target/$packages" 2>/dev/null || { rm -rf "${target:?}/$packages" && cp -a "$packages" "$target/$packages"; }
done
