// PTX from the code generator, in memory and on disk.

#include <dlfcn.h>
#include <fmt/format.h>

#include <chrono>
#include <map>
#include <mutex>

#include "runtime/core/base/error.h"
#include "runtime/core/kernels/gpu/device_code.h"
#include "runtime/core/kernels/jit/code_library.h"

namespace sial::kernels {
namespace {

using Identity = const char*();
using Compile = bool(const char* target, const CodeKey* key, std::string* text);

class Source final : public DeviceCodeSource {
 public:
  Source(std::string target, std::string cache_folder)
      : target_(std::move(target)), cache_folder_(std::move(cache_folder)) {
    stats_.state = "on";
  }

  const std::string& ptx(const CodeKey& key) override {
    const std::lock_guard lock(mutex_);
    const auto found = texts_.find(key);
    if (found != texts_.end()) return found->second;
    const auto begin = std::chrono::steady_clock::now();
    ++stats_.asked;
    open();
    std::string text;
    const std::vector<char> kept = cache_->read(key);
    text.assign(kept.begin(), kept.end());
    if (!text.empty()) {
      ++stats_.from_disk;
    } else if (compile_(target_.c_str(), &key, &text)) {
      ++stats_.compiled;
      cache_->write(key, text);
    } else {
      ++stats_.failed;
      throw SialError(fmt::format("no code for {} can be made from `{}`", target_, code_name(key)),
                      "run on the host: --device host");
    }
    stats_.compile_seconds += std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
    return texts_.emplace(key, std::move(text)).first->second;
  }

  const std::string& target() const override { return target_; }

  CodeStats stats() const override {
    const std::lock_guard lock(mutex_);
    return stats_;
  }

 private:
  void open() {
    if (cache_) return;
    std::string trouble;
    void* library = open_code_library(trouble);
    auto* identity = library ? reinterpret_cast<Identity*>(dlsym(library, "sialx_ptx_identity")) : nullptr;
    compile_ = library ? reinterpret_cast<Compile*>(dlsym(library, "sialx_compile_ptx")) : nullptr;
    if (!identity || !compile_) {
      ++stats_.failed;
      stats_.state = trouble;
      throw SialError(
          fmt::format("kernels for the GPU cannot be generated: {}", trouble),
          "install llvm-19-dev (LLVM 19.1), configure with -DSIALX_JIT=ON and keep libsialx_jit.so beside the program or in lib/sialx of its prefix, or run with --device host");
    }
    cache_ = std::make_unique<DiskCache>(cache_folder_, fmt::format("{} {}", identity(), target_), ".ptx");
  }

  const std::string target_, cache_folder_;
  mutable std::mutex mutex_;
  std::map<CodeKey, std::string> texts_;
  std::unique_ptr<DiskCache> cache_;
  Compile* compile_ = nullptr;
  CodeStats stats_;
};

}  // namespace

std::unique_ptr<DeviceCodeSource> make_device_code_source(int major, int minor, const std::string& cache_folder) {
  if (major < 8)
    throw SialError(fmt::format("a GPU of compute capability {}.{} is too old", major, minor),
                    "8.0 (A100) or newer is needed; run with --device host");
  return std::make_unique<Source>(major < 9 ? "sm_80" : "sm_90", cache_folder);
}

std::string why_no_device_code() {
  std::string trouble;
  open_code_library(trouble);
  return trouble;
}

}  // namespace sial::kernels
