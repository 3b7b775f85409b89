#pragma once
// What the disk itself does, as `fio --direct=1 --iodepth=16 --bs=1M` would measure it: 16 threads, each with one
// aligned piece of 1 MiB under way, from the begin of a file to its end.

#include <cstdint>

namespace sial::bench {

/// Bytes per second.
double plain_speed(int file, std::uint64_t bytes, bool write);

double clock_seconds();
/// Of this process, on all its threads.
double processor_seconds();

}  // namespace sial::bench
