// Opening the driver and cuBLAS.

#include <dlfcn.h>
#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <string_view>
#include <vector>

#include "runtime/core/device/cuda/driver.h"

namespace sial::cuda {
namespace {

constexpr int oldest_blas = 11, newest_blas = 13;
constexpr const char* folder_variable = "SIALX_CUDA_LIBRARIES";

/// The first that can be opened; null with what the loader said of the first that is there but cannot be.
void* open_first(const std::vector<std::string>& names, std::string& file, std::string& trouble) {
  for (const std::string& name : names) {
    if (void* library = dlopen(name.c_str(), RTLD_NOW | RTLD_LOCAL)) {
      file = name;
      return library;
    }
    const char* said = dlerror();
    const std::string_view text = said ? said : "";
    if (trouble.empty() && text.find("No such file") == std::string_view::npos) trouble = text;
  }
  return nullptr;
}

template <class F>
bool look_up(void* library, const char* name, F*& function, std::string& missing) {
  function = reinterpret_cast<F*>(dlsym(library, name));
  if (!function && missing.empty()) missing = name;
  return function != nullptr;
}

bool open_driver(Libraries& l, const std::string& folder) {
  std::string file, trouble, missing;
  // Containers and WSL have the driver where the loader does not look.
  void* library =
      folder.empty()
          ? open_first({"libcuda.so.1", "/usr/local/nvidia/lib64/libcuda.so.1", "/usr/lib/wsl/lib/libcuda.so.1"}, file,
                       trouble)
          : open_first({folder + "/libcuda.so.1"}, file, trouble);
  if (!library) {
    l.trouble = trouble.empty() ? fmt::format("there is no CUDA driver (libcuda.so.1{}) on this machine",
                                              folder.empty() ? "" : " in " + folder)
                                : "the CUDA driver cannot be opened: " + trouble;
    l.remedy = folder.empty() ? "install the driver of the GPU, or run with `--device host`"
                              : fmt::format("set {} to the folder of libcuda.so.1, or unset it", folder_variable);
    return false;
  }
#define DRIVER_FUNCTION(name, ...) look_up(library, #name, l.driver.name, missing);
#include "runtime/core/device/cuda/driver.def"
#undef DRIVER_FUNCTION
  if (!missing.empty()) {
    l.trouble = fmt::format("the CUDA driver {} lacks {}", file, missing);
    l.remedy = "install a driver for CUDA 12 or later, or run with `--device host`";
    return false;
  }
  Status status = l.driver.cuInit(0);
  if (status == Status::success) status = l.driver.cuDeviceGetCount(&l.gpus);
  if (status != Status::success || l.gpus == 0) {
    const char* name = nullptr;
    l.driver.cuGetErrorName(status, &name);
    l.trouble = status == Status::success || status == Status::no_device
                    ? std::string("the CUDA driver sees no GPU")
                    : fmt::format("the CUDA driver does not start: {}", name ? name : "unknown error");
    l.remedy =
        "see whether `nvidia-smi` lists a GPU and CUDA_VISIBLE_DEVICES does not hide it, or run with `--device host`";
    return false;
  }
  int version = 0;
  l.driver.cuDriverGetVersion(&version);
  if (version / 1000 < oldest_blas) {
    l.trouble = fmt::format("the CUDA driver is for CUDA {}.{}", version / 1000, version % 1000 / 10);
    l.remedy = "install a driver for CUDA 12 or later, or run with `--device host`";
    return false;
  }
  char name[128] = "";
  if (Gpu first = 0; l.driver.cuDeviceGet(&first, 0) == Status::success)
    l.driver.cuDeviceGetName(name, sizeof name - 1, first);
  l.found = fmt::format("{} GPU{} ({}{}), driver for CUDA {}.{}", l.gpus, l.gpus == 1 ? "" : "s",
                        l.gpus == 1 ? "" : "the first: ", name, version / 1000, version % 1000 / 10);
  return true;
}

bool open_blas(Libraries& l, const std::string& folder) {
  std::string file, trouble, missing;
  // Not a newer one than the driver.
  std::vector<std::string> names;
  int version = 0;
  l.driver.cuDriverGetVersion(&version);
  for (const std::string& where :
       folder.empty() ? std::vector<std::string>{"", "/usr/local/cuda/lib64/"} : std::vector<std::string>{folder + "/"})
    for (int major = std::min(version / 1000, newest_blas); major >= oldest_blas; --major)
      names.push_back(fmt::format("{}libcublas.so.{}", where, major));
  void* library = open_first(names, file, trouble);
  if (!library) {
    l.trouble = trouble.empty()
                    ? fmt::format("cuBLAS (libcublas.so.{} for the driver, or older) is not found{}",
                                  std::min(version / 1000, newest_blas), folder.empty() ? "" : " in " + folder)
                    : "cuBLAS cannot be opened: " + trouble;
    l.remedy = folder.empty()
                   ? "install the CUDA toolkit, or name cuBLAS's folder in LD_LIBRARY_PATH, or run with `--device host`"
                   : fmt::format("set {} to the folder of both libraries, or unset it", folder_variable);
    return false;
  }
#define BLAS_FUNCTION(name, ...) look_up(library, #name, l.blas.name, missing);
#include "runtime/core/device/cuda/blas.def"
#undef BLAS_FUNCTION
  if (!missing.empty()) {
    l.trouble = fmt::format("cuBLAS {} lacks {}", file, missing);
    l.remedy = "install the CUDA toolkit 11 or later, or run with `--device host`";
    return false;
  }
  l.found += ", " + file;
  return true;
}

Libraries open_libraries() {
  Libraries l;
  const char* named = std::getenv(folder_variable);
  const std::string folder = named ? named : "";
  if (open_driver(l, folder)) open_blas(l, folder);
  return l;
}

}  // namespace

const Libraries& libraries() {
  static const Libraries opened = open_libraries();
  return opened;
}

}  // namespace sial::cuda
