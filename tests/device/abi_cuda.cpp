// Our declarations of the CUDA driver and of cuBLAS against the toolkit's headers: same parameters, same values.
// Compiled where the toolkit is installed.

#include <cublas_v2.h>
#include <cuda.h>

#include <cstddef>
#include <type_traits>

#include "runtime/core/device/cuda/driver.h"

namespace {

/// What a type is to a caller: enumerations are ints, handles are pointers to something.
template <class T, class = void>
struct Seen {
  using type = T;
};
template <class T>
struct Seen<T, std::enable_if_t<std::is_enum_v<T>>> {
  using type = int;
  static_assert(sizeof(T) == sizeof(int));
};
template <class T>
struct Seen<T*, std::enable_if_t<std::is_class_v<T>>> {
  using type = void*;
};
template <class T>
struct Seen<T*, std::enable_if_t<!std::is_class_v<T> && !std::is_function_v<T>>> {
  using type = std::conditional_t<std::is_const_v<T>, const typename Seen<std::remove_const_t<T>>::type*,
                                  typename Seen<T>::type*>;
};
template <class R, class... P>
struct Seen<R(P...)> {
  using type = typename Seen<R>::type(typename Seen<std::remove_const_t<P>>::type...);
};
template <class T, class U>
constexpr bool same = std::is_same_v<typename Seen<T>::type, typename Seen<U>::type>;

static_assert(same<int(CUresult*, CUstream), int(sial::cuda::Status*, sial::cuda::Stream)>);
static_assert(!same<int(unsigned), int(int)> && !same<int(void*), int(const void*)> &&
                  !same<int(CUstream*), int(CUstream)>,
              "the comparison sees differences");

#define DRIVER_FUNCTION(name, ...) static_assert(same<decltype(::name), sial::cuda::Driver::name##_type>, #name);
#include "runtime/core/device/cuda/driver.def"
#undef DRIVER_FUNCTION
#define BLAS_FUNCTION(name, ...) static_assert(same<decltype(::name), sial::cuda::Blas::name##_type>, #name);
#include "runtime/core/device/cuda/blas.def"
#undef BLAS_FUNCTION

template <class Ours, class Theirs>
constexpr bool equal(Ours ours, Theirs theirs) {
  return static_cast<int>(ours) == static_cast<int>(theirs);
}

using namespace sial::cuda;
static_assert(equal(Status::success, CUDA_SUCCESS) && equal(Status::invalid_value, CUDA_ERROR_INVALID_VALUE) &&
              equal(Status::out_of_memory, CUDA_ERROR_OUT_OF_MEMORY));
static_assert(equal(Status::no_device, CUDA_ERROR_NO_DEVICE) &&
              equal(Status::invalid_image, CUDA_ERROR_INVALID_IMAGE) && equal(Status::not_ready, CUDA_ERROR_NOT_READY));
static_assert(equal(Status::already_registered, CUDA_ERROR_HOST_MEMORY_ALREADY_REGISTERED) &&
              equal(Status::launch_failed, CUDA_ERROR_LAUNCH_FAILED) && equal(Status::unknown, CUDA_ERROR_UNKNOWN));
static_assert(equal(Attribute::multiprocessors, CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT));
static_assert(equal(Attribute::compute_major, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR) &&
              equal(Attribute::compute_minor, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR));
static_assert(equal(LoadOption::error_log, CU_JIT_ERROR_LOG_BUFFER) &&
              equal(LoadOption::error_log_bytes, CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES));
static_assert(equal(BlasStatus::success, CUBLAS_STATUS_SUCCESS) &&
              equal(BlasStatus::not_initialized, CUBLAS_STATUS_NOT_INITIALIZED) &&
              equal(BlasStatus::alloc_failed, CUBLAS_STATUS_ALLOC_FAILED));
static_assert(equal(BlasStatus::invalid_value, CUBLAS_STATUS_INVALID_VALUE) &&
              equal(BlasStatus::execution_failed, CUBLAS_STATUS_EXECUTION_FAILED));
static_assert(equal(BlasOperation::plain, CUBLAS_OP_N) && equal(BlasOperation::transposed, CUBLAS_OP_T));
static_assert(stream_non_blocking == CU_STREAM_NON_BLOCKING && event_disable_timing == CU_EVENT_DISABLE_TIMING &&
              host_register_portable == CU_MEMHOSTREGISTER_PORTABLE);

}  // namespace

int main() {}
