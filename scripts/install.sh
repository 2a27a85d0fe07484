# shellcheck shell=bash disable=SC2034
# What a working copy needs and how it gets there: Debian packages by groups, Python packages into a virtual environment.
# Sourced by dev. Nothing is fetched when everything is there.

packages_build=(cmake g++ libcli11-dev libfabric-dev libhwloc-dev libhwy-dev libpmix-dev ninja-build nlohmann-json3-dev pkg-config python3
  python3-dev python3-venv)
packages_test=(binutils iproute2 libcmocka-dev mandoc munge musl-tools slurm-wlm util-linux)
packages_demo=(dataset-fashion-mnist)

say() { printf '== %s\n' "$*"; }
fail() { printf 'dev: %s\n' "$*" >&2 && exit 1; }

# install_packages GROUP …: the Debian packages of these groups; as root or by sudo, otherwise says what is missing and ends.
install_packages() {
  local group missing=() as_root=()
  if ! command -v dpkg-query >/dev/null; then
    say "this system has no Debian packages; going on with what is installed"
    return
  fi
  for group in "$@"; do
    local -n packages=packages_$group
    for package in "${packages[@]}"; do
      [[ $(dpkg-query -W -f '${db:Status-Status}' "$package" 2>/dev/null) == installed ]] || missing+=("$package")
    done
  done
  ((${#missing[@]})) || return 0
  if ((EUID != 0)); then
    command -v sudo >/dev/null || fail "missing Debian packages (no root, no sudo): ${missing[*]}"
    as_root=(sudo)
  fi
  say "installing Debian packages: ${missing[*]}"
  "${as_root[@]}" apt-get -q update || fail "apt-get update failed; missing Debian packages: ${missing[*]}"
  "${as_root[@]}" env DEBIAN_FRONTEND=noninteractive apt-get -q install -y --no-install-recommends "${missing[@]}" ||
    fail "apt-get install failed; missing Debian packages: ${missing[*]}"
}

# has_python VENV FILE …: whether VENV holds every requirement (name or name==version) of the files.
has_python() {
  [[ -x $1/bin/python ]] && "$1/bin/python" - "${@:2}" <<'PYTHON'
import importlib.metadata, sys
for path in sys.argv[1:]:
    for line in open(path):
        name, _, version = line.split("#")[0].strip().partition("==")
        try:
            if name and version not in ("", importlib.metadata.version(name).split("+")[0]):
                sys.exit(1)
        except importlib.metadata.PackageNotFoundError:
            sys.exit(1)
PYTHON
}

# install_python VENV: the Python packages. timm comes without its dependencies: they would replace the pinned torch.
install_python() {
  local venv=$1 needs=scripts/requirements.txt alone=scripts/requirements_without_dependencies.txt
  if has_python "$venv" "$needs" "$alone"; then return; fi
  say "installing Python packages into $venv (PyTorch is large: some minutes)"
  mkdir -p "$venv"
  (
    flock 9 # two working copies may share one environment
    if has_python "$venv" "$needs" "$alone"; then exit; fi
    [[ -x $venv/bin/python ]] || python3 -m venv "$venv"
    "$venv/bin/python" -m pip install --disable-pip-version-check -r "$needs"
    "$venv/bin/python" -m pip install --disable-pip-version-check --no-deps -r "$alone"
  ) 9>"$venv/.lock" || fail "could not install the Python packages of scripts/requirements*.txt into $venv"
}

# install_launchers: the MPI libraries by whose launchers tests start ranks, into the cache folder; without one its tests are skipped.
install_launchers() {
  python3 -B tests/bench/peers/install.py mpich openmpi impi || say "the tests of some MPI launchers will be skipped"
}
