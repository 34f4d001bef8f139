#!/bin/sh
# binary/image.sh DIRECTORY: lays out the files of the image, from build/ (npm run binary) and the libraries of this
# Debian: in `root` the files of root, in `annals` those of the user annals. All files have the time of
# SOURCE_DATE_EPOCH, 0 by default, so that equal builds give equal layers.
set -eu
umask 022
mkdir -p "$1/root" "$1/annals"
root=$(cd "$1/root" && pwd)
own=$(cd "$1/annals" && pwd)
cd "$(dirname "$0")/.."

install -D -m 755 build/annals "$root/usr/local/bin/annals"
install -m 644 build/addons/*.node build/annals.cdx.json build/LICENCES.txt -t "$root/usr/local/bin"

# The libraries that the binary and its addons name, and those that the resolver of glibc opens at run time.
machine=$(uname -m)-linux-gnu
libraries=$(ldd build/annals build/addons/*.node | grep -o '/[^ ]*' | grep -v ':$' | sort -u)
for library in $libraries "/lib/$machine/libresolv.so.2" "/lib/$machine/libnss_dns.so.2" "/lib/$machine/libnss_files.so.2"; do
  install -D -m 755 "$library" "$root$library"
done

install -D -m 644 /etc/ssl/certs/ca-certificates.crt "$root/etc/ssl/certs/ca-certificates.crt"
echo 'hosts: files dns' >"$root/etc/nsswitch.conf"
echo 'annals:x:10001:10001::/data:/nowhere' >"$root/etc/passwd"
echo 'annals:x:10001:' >"$root/etc/group"

# The folders that have to exist in the image.
mkdir -p "$root/app" "$root/proc" "$root/dev" "$root/sys" "$root/run"
mkdir -m 1777 "$root/tmp"
mkdir -m 700 "$own/data"
# A configuration is mounted over this one.
(cd "$root/app" && "$OLDPWD/build/annals" init >/dev/null)
find "$root" "$own" -exec touch --no-dereference --date="@${SOURCE_DATE_EPOCH:-0}" {} +
