#!/usr/bin/env bash
# Whole programs on the GPU: requests for memory that needed no call of the driver, in the example jobs; CCSD iterations and (T) of molecules on the GPU
# against one and all cores of this machine, with what the GPU's time went to; and CCSD iterations by how small operations are started. Tables on the terminal, and programs.json in the folder --out. Needs
# nothing but bash and awk. Without a GPU the memory is counted on the simulated device, and the rest is left out.
# Usage: bash programs.sh --bin DIR --examples DIR --out DIR [--quick] [--only hits|ccsd|starts] [--seconds N]
#   --quick    water in 3-21G only      --seconds  for all; a run that does not fit is ended, and what is left is left out
# Exits 1 when energies on the GPU and the host differ by more than 1e-9.
set -euo pipefail
bin="" examples="" out="" quick=0 limit=3600 only=""
while [ $# -gt 0 ]; do
  case "$1" in
    --bin) bin=$(cd "${2:?}" && pwd); shift ;;
    --examples) examples=$(cd "${2:?}" && pwd); shift ;;
    --out) mkdir -p "${2:?}"; out=$(cd "$2" && pwd); shift ;;
    --seconds) limit=${2:?}; shift ;;
    --only) only=${2:?}; shift ;;
    --quick) quick=1 ;;
    *) sed -n '5,6p' "${BASH_SOURCE[0]}" | sed 's/^# //' >&2; exit 2 ;;
  esac
  shift
done
sialrun=("$bin/sialrun")
[ -n "$bin" ] && [ -n "$examples" ] && [ -n "$out" ] || { echo "programs.sh: --bin, --examples and --out are needed" >&2; exit 2; }
export PMIX_MCA_mca_base_component_show_load_errors=0 OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 OMP_NUM_THREADS=1
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
failed=0
found=$("${sialrun[@]}" --version --verbose | grep '^cuda: ' || true)
gpu=yes
case "$found" in "cuda: not used"* | "") gpu="" ;; esac
left() { echo $((limit - SECONDS > 1 ? limit - SECONDS : 1)); }

# counter FILE NAME...: totals of a run.json, 0 where it has none
counter() {
  local file=$1
  shift
  awk -v names="$*" '/"total": \{/ {on = 1} /"per_rank"/ {on = 0} on {gsub(/[",:]/, ""); v[$1] = $2}
    END {n = split(names, name, " "); for (i = 1; i <= n; ++i) printf "%s%s", (name[i] in v ? v[name[i]] : 0), i < n ? " " : "\n"}' "$file"
}

hits_json=""
hits() {
  local device=simulated job name numbers
  [ -n "$gpu" ] && device=cuda
  printf '\nrequests for memory (%s device), the first iteration included: on the device without a call of the driver, target 0.99; block buffers from a free list, the others from pinned slabs\n  %-16s %12s %8s %14s %8s\n' $device job "on device" hits "block buffers" hits
  for job in scf:04_rhf transformation:03_four_index mp2:05_mp2 ccsd:09_ccsd 'ccsd(t):11_ccsd_t'; do
    name=${job%%:*}
    if [ $quick -eq 1 ] && [ "$name" != scf ]; then continue; fi
    rm -f "$work/run.json"
    if ! timeout "$(left)" "${sialrun[@]}" "$examples/${job#*:}/job.toml" --device $device --output-dir "$work" --results none --run-json run.json >"$work/log" 2>&1; then
      echo "  $name: left out, its run failed or took too long: $(tail -1 "$work/log")"
      continue
    fi
    numbers=$(counter "$work/run.json" device_allocations device_allocation_hits buffer_requests buffer_cache_hits)
    echo "$numbers" | awk -v n="$name" '{printf "  %-16s %12d %8.4f %14d %8.4f\n", n, $1, $1 ? $2 / $1 : 1, $3, $3 ? $4 / $3 : 1}'
    hits_json+="${hits_json:+,}$(echo "$numbers" | awk -v n="$name" '{printf "\n  {\"job\": \"%s\", \"device_requests\": %d, \"device_hits\": %d, \"buffer_requests\": %d, \"buffer_hits\": %d}", n, $1, $2, $3, $4}')"
  done
}

# job FILE PROGRAMS MOLECULE BASIS AO OCC VIRT
write_job() {
  cat >"$work/$1" <<END
programs = [$2]
[molecule]
xyz = "$examples/molecules/$3.xyz"
basis = "$4"
[segments]
ao = "auto"
ao_target = $5
occ = "auto"
occ_target = $6
virt = "auto"
virt_target = $7
END
}

# Of each of N ranks: blocks of (T) have six indices.
memory_of() { if [ -n "$triples" ]; then echo "$((49152 / $1))MB"; else echo "$(($1 > 6 ? 1024 : 6144 / $1))MB"; fi; }

ccsd_json=""
# run NAME WHERE RANKS COMMAND...: a row; leaves the energy in $energy, nothing where there is none
run_on() {
  local name=$1 where=$2 ranks=$3 numbers
  shift 3
  energy=""
  rm -f "$work/run.json"
  if ! timeout "$(left)" "$@" "$work/job.toml" --output-dir "$work" --results none --run-json run.json --memory "$(memory_of "$ranks")" >"$work/log" 2>&1; then
    echo "  $name on $where: left out, the run failed or did not fit into the time: $(grep -m1 'error:' "$work/log" || tail -1 "$work/log")"
    return
  fi
  energy=$(awk '$2 == "ccsd_energy" && $3 == "=" {e = $4} END {print e}' "$work/log")
  # Seconds of the lines of CCSD, over its iterations (rows of the last table that it printed), and of (T).
  numbers="$(awk '/"lines": \[/ {on = 1} /"remote_accesses"/ {on = 0} on && /"program":/ {mine = /"ccsd"/ ? 1 : /"ccsd_t"/ ? 2 : 0} on && /"seconds":/ {gsub(/,/, ""); s[mine] += $2} END {print s[2] + 0, s[1] + 0}' "$work/run.json") \
    $(awk '$1 == "iteration" && $2 == "energy" {n = 0} NF == 4 && $1 ~ /^[0-9]+$/ {n = $1} END {print n + 0}' "$work/log") \
    $(counter "$work/run.json" wall_time device_timed device_kernel_time device_in_time device_out_time device_copy_time device_overlap_time device_wait_time)"
  echo "$numbers" | awk -v name="$name" -v where="$where" -v ranks="$ranks" -v e="$energy" '{
    t = $1 / ranks; $1 = ""; $0 = $0
    it = $2 ? $1 / ranks / $2 : 0
    printf "  %-26s %-18s %10.3f %9s %9.2f", name, where, it, (t > 0 ? sprintf("%.2f", t) : "-"), $3
    if ($4 > 0) printf " %9.2f %9.2f %9.2f %9.1f %9.1f %9.2f", $5, $6, $7, $8 ? 100 * $9 / $8 : 100, 100 * ($8 - $9) / $3, $10
    else printf " %9s %9s %9s %9s %9s %9s", "-", "-", "-", "-", "-", "-"
    printf "  %s\n", e}'
  ccsd_json+="${ccsd_json:+,}$(echo "$numbers" | awk -v name="$name" -v where="$where" -v ranks="$ranks" -v e="${energy:-null}" '{
    t = $1 / ranks; $1 = ""; $0 = $0
    printf "\n  {\"molecule\": \"%s\", \"where\": \"%s\", \"ranks\": %d, \"iterations\": %d, \"iteration_seconds\": %.6g, \"triples_seconds\": %.6g, \"wall_seconds\": %.6g, \"energy\": %s, \"device\": ", name, where, ranks, $2, $2 ? $1 / ranks / $2 : 0, t, $3, e
    if ($4 > 0) printf "{\"kernel_seconds\": %.6g, \"in_seconds\": %.6g, \"out_seconds\": %.6g, \"copy_seconds\": %.6g, \"overlapped_seconds\": %.6g, \"waited_seconds\": %.6g, \"not_overlapped\": %.6g}}", $5, $6, $7, $8, $9, $10, ($8 - $9) / $3
    else printf "null}"}')"
}

# Orbitals and integrals once, on the host, with all cores where there is an mpirun; every run of CCSD begins with them, also without (T).
prepare() {  # NAME XYZ BASIS AO OCC VIRT
  local name=$1 cores start=()
  shift
  cores=$(env -u OMP_NUM_THREADS nproc)
  write_job before.toml "\"$examples/04_rhf/rhf.sialx\", \"$examples/09_ccsd/tran.sialx\"" "$@"
  write_job job.toml "\"$examples/09_ccsd/ccsd.sialx\"${triples:+, \"$examples/11_ccsd_t/ccsd_t.sialx\"}" "$@"
  printf '[restore]\nfile = "before.h5"\n' >>"$work/job.toml"
  ! command -v mpirun >/dev/null || start=(mpirun -n "$cores" --oversubscribe)
  if ! timeout "$(left)" "${start[@]}" "${sialrun[@]}" "$work/before.toml" --device host --output-dir "$work" --results before.h5 --run-json none --memory "$(memory_of "$cores")" >"$work/log" 2>&1; then
    echo "  $name: left out, its orbitals failed or did not fit into the time: $(grep -m1 'error:' "$work/log" || tail -1 "$work/log")"
    return 1
  fi
}

molecule() {  # NAME XYZ BASIS AO OCC VIRT; with triples=yes (T) too, and not on one core
  local name=$1 cores ranks on_gpu on_host
  prepare "$@" || return 0
  cores=$(env -u OMP_NUM_THREADS nproc)
  run_on "$name" GPU 1 "${sialrun[@]}" --device cuda --device-times
  on_gpu=$energy
  if [ "$cores" -ge 8 ] && command -v mpirun >/dev/null; then
    for ranks in 4 8; do run_on "$name" "GPU, $ranks ranks" $ranks mpirun -n $ranks --oversubscribe "${sialrun[@]}" --device cuda; done
  fi
  energy=""
  if [ "$cores" -gt 1 ]; then
    if command -v mpirun >/dev/null; then run_on "$name" "$cores cores, ranks" "$cores" mpirun -n "$cores" --oversubscribe "${sialrun[@]}" --device host
    else run_on "$name" "$cores cores, threads" 1 "${sialrun[@]}" --device host --threads "$cores"; fi
  fi
  on_host=$energy
  [ -n "$triples" ] && [ "$cores" -gt 1 ] || run_on "$name" "1 core" 1 "${sialrun[@]}" --device host
  on_host=${energy:-$on_host}
  if [ -n "$on_gpu" ] && [ -n "$on_host" ]; then
    awk -v a="$on_gpu" -v b="$on_host" 'BEGIN {d = a - b; exit !(d <= 1e-9 && d >= -1e-9)}' || { echo "  $name: WRONG, the energies differ: $on_gpu on the GPU, $on_host on the host"; failed=1; }
  fi
}

# How small operations are started: each by itself, or with its like.
starts() {  # NAME XYZ BASIS AO OCC VIRT
  local batch
  prepare "$@" || return 0
  for batch in off 65536 196608 1048576 4194304; do run_on "$1" "batch $batch" 1 "${sialrun[@]}" --device cuda --device-batch $batch; done
}

triples=""
wants() { [ -z "$only" ] || [ "$only" = "$1" ]; }
! wants hits || hits
if wants ccsd || wants starts; then
  printf '\nCCSD, with orbitals and integrals made before: seconds an iteration, of (T), and in all; the GPU at kernels, copies to it, from it, percent of copying beside kernels, copying beside no kernel in percent of all, ranks waited\n'
  if [ -z "$gpu" ]; then
    echo "  left out: no GPU to run on (${found:-sialrun says nothing of CUDA})"
  else
    printf '  %-26s %-18s %10s %9s %9s %9s %9s %9s %9s %9s %9s  %s\n' molecule where iteration '(T)' all kernels in out overlap bare waited energy
    if wants ccsd && [ $quick -eq 1 ]; then molecule "water, 3-21G" water 3-21g 7 3 4
    elif wants ccsd; then
      molecule "water dimer, aug-cc-pVDZ" water-dimer aug-cc-pvdz 21 10 36
      molecule "benzene, 6-31G" benzene 6-31g 22 11 23
      triples=yes molecule "benzene, cc-pVDZ" benzene cc-pvdz 29 11 31
    fi
    if wants starts && [ $quick -eq 1 ]; then starts "water, 3-21G" water 3-21g 7 3 4
    elif wants starts; then
      starts "water dimer, aug-cc-pVDZ" water-dimer aug-cc-pvdz 20 5 15
      starts "benzene, 6-31G" benzene 6-31g 22 11 23
    fi
  fi
fi
printf '{"format": "sialx-bench-programs-gpu", "version": 1, "device": "%s", "quick": %s, "hits": [%s],\n "ccsd": [%s]}\n' \
  "${gpu:+${found#cuda: }}" "$([ $quick -eq 1 ] && echo true || echo false)" "$hits_json" "$ccsd_json" >"$out/programs.json"
exit $failed
