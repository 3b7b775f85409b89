#!/usr/bin/env bash
# Runs the device tests, example jobs and benchmarks of a bundle (bundle.sh) on this machine's GPU, and prints tables: energies on the host and on
# the device, how far they are apart, and how long each took; then what tests/bench/gpu measures, with its JSON in bench/. Exits 1 when a test
# fails, energies differ by more than 1e-9, or a benchmark computed something wrong.
# Usage: bash run.sh [FILE.tar.xz] [--fake-driver] [--seconds N]
#   FILE        the bundle, unpacked beside it; without one, this script is the one of an unpacked bundle
#   --fake-driver  on the fake CUDA driver: for machines without a GPU
#   --seconds   at most, for all (default 480)
set -euo pipefail
bundle="" fake_driver=0 limit=480
while [ $# -gt 0 ]; do
  case "$1" in
    --fake-driver | --stand-in) fake_driver=1 ;;
    --seconds) limit=$2; shift ;;
    -*) echo "usage: run.sh [FILE.tar.xz] [--fake-driver] [--seconds N]" >&2; exit 2 ;;
    *) bundle=$1 ;;
  esac
  shift
done
if [ -n "$bundle" ]; then
  here=$(cd "$(dirname "$bundle")" && pwd)/sialx-device
  rm -rf "$here"
  tar -C "$(dirname "$here")" -xJf "$bundle"
else
  here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
fi
[ -x "$here/bin/sialrun" ] || { echo "run.sh: $here is no unpacked bundle; give the file that bundle.sh made" >&2; exit 2; }
cd "$here"

# Programs find the loader and the C library that they were built with here, once.
loader=$here/lib/ld-linux-x86-64.so.2
if [ "$(cat .placed 2>/dev/null)" != "$here" ]; then
  for p in bin/sialc bin/sialrun bin/mpirun bin/conformance_device bin/conformance_device_code bin/device_cuda bin/bench_gpu; do
    "$loader" --library-path "$here/lib" bin/patchelf --set-interpreter "$loader" --force-rpath --set-rpath "$here/lib" "$p"
  done
  # These name folders of the system, where another version may be.
  for l in bin/libsialx_jit.so lib/libmpi.so* lib/libopen-*.so* lib/libmca_*.so* mpi/*.so; do
    "$loader" --library-path "$here/lib" bin/patchelf --remove-rpath "$l"
  done
  echo "$here" >.placed
fi
export XDG_CACHE_HOME=$here/cache
left() { echo $((limit - SECONDS > 1 ? limit - SECONDS : 1)); }
ours() { timeout "$(left)" "$@"; }
export PATH=$here/bin:$PATH OMPI_MCA_mca_base_component_path=$here/mpi OPAL_PKGDATADIR=$here/mpi/texts
export PMIX_MCA_mca_base_component_path=$here/mpi HWLOC_PLUGINS_PATH=$here/none
[ $fake_driver -eq 1 ] && export SIALX_CUDA_LIBRARIES=$here/bin/fake-cuda SIALX_FAKE_CUDA=memory=4000000000
ours bin/sialrun --version --verbose
found=$(ours bin/sialrun --version --verbose | grep '^cuda: ')
case "$found" in
  "cuda: not used"*) echo "run.sh: no GPU to run on ($found); --fake-driver runs without one" >&2; exit 1 ;;
esac

failed=0
suite() {  # suite NAME COMMAND...
  local name=$1 status=0
  shift
  ours "$@" >"$name.log" 2>&1 || status=$?
  if [ $status -eq 0 ]; then printf '%-28s passed: %s\n' "$name" "$(grep -E 'assertions|All tests' "$name.log" | tail -1)"
  else printf '%-28s FAILED (exit code %s), see %s\n' "$name" "$status" "$here/$name.log"; tail -20 "$name.log"; failed=1; fi
}
suite conformance_device bin/conformance_device
[ $fake_driver -eq 0 ] || suite device_cuda bin/device_cuda

# job, what of its results is compared
printf '\n%-26s %22s %22s %10s %8s %8s  %s\n' job host device difference "host s" "dev. s" "moved to device, back, operations"
job() {
  local job=$1 value=$2 where seconds energy=() spent=()
  for where in host cuda; do
    mkdir -p "out/$where"
    seconds=$(date +%s.%N)
    if ! ours bin/sialrun "examples/$job" --device $where --output-dir "out/$where" --results none --run-json run.json "${@:3}" >"out/$where/log" 2>&1; then
      printf '%-26s FAILED on %s:\n' "$job" "$where"
      tail -5 "out/$where/log"
      failed=1
      return
    fi
    spent+=("$(awk -v a="$seconds" -v b="$(date +%s.%N)" 'BEGIN {printf "%.2f", b - a}')")
    energy+=("$(awk -v n="$value" '$2 == n && $3 == "=" {e = $4} END {print e}' "out/$where/log")")
  done
  local total
  total=$(awk '/"total": \{/ {on = 1} on && /"device_(bytes_in|bytes_out|operations)":/ {gsub(/[",:]/, ""); v[$1] = $2} /"per_rank"/ {exit}
               END {printf "%.1f MB %.1f MB %d", v["device_bytes_in"] / 1e6, v["device_bytes_out"] / 1e6, v["device_operations"]}' out/cuda/run.json)
  if ! awk -v job="$job ${*:3}" -v a="${energy[0]}" -v b="${energy[1]}" -v s="${spent[0]}" -v t="${spent[1]}" -v moved="$total" 'BEGIN {
      d = a - b; if (d < 0) d = -d
      good = a != "" && b != "" && d <= 1e-9
      printf "%-26s %22.14f %22.14f %10.1e %8.2f %8.2f  %s%s\n", job, a, b, d, s, t, moved, good ? "" : "  DIFFERENT"
      exit !good}'; then failed=1; fi
}
job 04_rhf/job.toml scf_energy
job 05_mp2/job.toml total_energy
job 09_ccsd/job.toml ccsd_energy
job 09_ccsd/job.toml ccsd_energy --self-check 20
job 11_ccsd_t/job.toml total_energy
[ $SECONDS -gt $((limit / 2)) ] || [ $fake_driver -eq 1 ] || job 09_ccsd/job_dimer.toml ccsd_energy

# Blocks that do not fit into the memory go to a file: the energies stay. Small on the fake driver.
if [ $fake_driver -eq 1 ]; then basis=6-31g memory=(6GB 5MB); else basis=aug-cc-pvdz memory=(6GB 134MB 80MB); fi
cat >examples/job_short.toml <<END
programs = ["04_rhf/rhf.sialx", "09_ccsd/tran.sialx", "09_ccsd/ccsd.sialx", "11_ccsd_t/ccsd_t.sialx"]
[molecule]
xyz = "molecules/water-dimer.xyz"
basis = "$basis"
[values]
cc_conv = 1e-9
END
for m in "${memory[@]}"; do
  [ $SECONDS -gt $((limit * 2 / 3)) ] && break
  job job_short.toml total_energy --segments ao_target=20,occ_target=5,virt_target=15 --memory "$m" --spill out
  awk -v m="$m" '/"total": \{/ {on = 1} on && /"tier_(bytes_written|bytes_read|demand_reads|prefetches_useful|wait_time)":/ {gsub(/[",:]/, ""); v[$1] = $2} /"per_rank"/ {exit}
                 END {printf "  in %s: %.1f MB written to the file, %.1f MB read, %d reads not foreseen, %d foreseen, %.2f s waited for\n", m, v["tier_bytes_written"] / 1e6, v["tier_bytes_read"] / 1e6, v["tier_demand_reads"], v["tier_prefetches_useful"], v["tier_wait_time"]}' out/cuda/run.json
done

# Benchmarks, with what time is left; on the fake driver whether they work.
quick=()
[ $fake_driver -eq 0 ] || quick=(--quick)
mkdir -p bench
ours bin/bench_gpu "${quick[@]}" --json bench/device.json | tee bench/device.txt || { echo "bench_gpu FAILED or did not fit into the time"; failed=1; }
bash bench_programs.sh --bin bin --examples examples --out bench "${quick[@]}" --seconds "$(left)" | tee bench/programs.txt || failed=1
echo
if [ $failed -eq 0 ]; then echo "all passed in $SECONDS s"; else echo "FAILED"; fi
exit $failed
