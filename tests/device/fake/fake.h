#pragma once
// A fake CUDA driver and cuBLAS, for tests on machines without a GPU: libcuda.so.1 and libcublas.so.13 of a
// folder that SIALX_CUDA_LIBRARIES names. Device memory is the process's own, in pieces with walls around them and NaN
// in them. What is put into a stream waits; every call lets some pieces of work go on, of streams chosen by a seeded
// generator, so that what is ordered by chance only gets into the wrong order sooner or later. A misuse of the
// interface that a GPU might pass over ends the process.
//
// Events tell the time of a clock of its own, that of a model: each piece of work takes 8 microseconds, streams go on
// beside each other and beside the host, which takes 2 microseconds to put something into a stream and waits where it
// is told to. No time of this machine is in it.
//
// SIALX_FAKE_CUDA holds settings, read when the first context is made: gpus=N, memory=BYTES of each, seed=S, compute=90
// (the capability); and what goes wrong: alloc=N (the N-th allocation of device memory and all later ones), context=1,
// host=1 (pinned memory), pin=1 (registration of host memory), module=1 (loading of code), lose=N (the device, at the
// N-th piece of work, for good), blas=1 (making of handles), product=1 (products, for lack of room).
//
// SIALX_FAKE_KERNELS=ptx: kernels are not stood in for by their host fallbacks, but their PTX is carried out by the
// interpreter of tests/device/ptx, which ends the process at what a GPU might pass over. Device memory is then filled
// with its poison.

#include <cstddef>
#include <functional>
#include <string>

#include "runtime/core/device/cuda/driver.h"

#define FAKE_CUDA_SHOWN __attribute__((visibility("default")))

namespace fake_cuda {

/// Ends the process.
[[noreturn]] FAKE_CUDA_SHOWN void complain(const std::string& what);
/// The range must lie in one piece of device memory.
FAKE_CUDA_SHOWN void check_device(const void* p, std::size_t bytes, const char* what);
/// False when the device is lost.
FAKE_CUDA_SHOWN bool post(sial::cuda::Stream stream, std::function<void()> work);
FAKE_CUDA_SHOWN long long setting(const char* name, long long otherwise);

}  // namespace fake_cuda
