#include "tests/device/fake/fake_code.h"

#include <cstdlib>
#include <cstring>
#include <memory>
#include <string_view>
#include <vector>

#include <fmt/format.h>

#include "tests/device/fake/fake.h"
#include "tests/device/ptx/machine.h"

namespace fake_cuda {

struct Interpreted {
  ptx::Program program;
  ptx::Machine machine;
  Interpreted(const char* text, ptx::Memory& memory) : program(ptx::parse(text)), machine(program, memory) {}
};

namespace {

ptx::Memory& device_memory() {
  static auto* memory = new ptx::Memory;  // outlives everything that calls
  return *memory;
}

}  // namespace

bool interprets() {
  static const char* asked = std::getenv("SIALX_FAKE_KERNELS");
  if (asked && std::string_view(asked) != "ptx") complain("SIALX_FAKE_KERNELS is `ptx` or is not set");
  return asked != nullptr;
}

void record_allocated(void* p, std::size_t bytes) {
  if (!interprets()) return;
  ptx::fill_with_poison(p, bytes);
  device_memory().add(p, bytes, "a piece of device memory");
}

void record_freed(void* p) {
  if (interprets()) device_memory().remove(p);
}

Code find_code(const char* text, std::string& problem) {
  using namespace sial::kernels;
  Code code;
  const std::string_view all(text);
  constexpr std::string_view head = "// sialx ";
  CodeKey key;
  code.name = all.starts_with(head) ? std::string(all.substr(head.size(), all.find('\n') - head.size())) : "";
  const std::size_t entry = all.find(".entry " + code.name);
  if (!code_key_of(code.name, key) || entry == std::string_view::npos) {
    problem = "no kernel of this project";
    return code;
  }
  // The only parameter is a struct: `.param .align 8 .b8 name[bytes]`.
  const std::size_t open = all.find('[', entry), end = all.find(')', entry);
  if (open == std::string_view::npos || open > end) complain("the kernel " + code.name + " takes no struct");
  code.parameter_bytes = static_cast<std::size_t>(std::atoll(text + open + 1));
  if (interprets()) {
    try {
      code.interpreted = std::make_shared<Interpreted>(text, device_memory());
    } catch (const ptx::Error& error) { complain(error.what()); }
    if (code.interpreted->program.parameter_bytes != code.parameter_bytes) complain("the parameter of " + code.name);
    return code;
  }
  static const std::shared_ptr<CodeEngine> engine = make_code_engine(CodeOptions{true, true, "", ""});
  code.fallback = reinterpret_cast<DeviceHostFallback>(engine->wait(key));
  if (!code.fallback) problem = fmt::format("the kernel {} has no host fallback", code.name);
  return code;
}

std::function<void()> prepare(const Code& code, const std::array<unsigned, 3>& grid,
                              const std::array<unsigned, 3>& block, unsigned shared_bytes, void** parameters) {
  if (grid[1] != 1 || grid[2] != 1 || block[1] != 1 || block[2] != 1) complain("a grid of more than one dimension");
  const auto* bytes = static_cast<const std::byte*>(parameters[0]);
  std::vector<std::byte> arguments(bytes, bytes + code.parameter_bytes);
  if (code.interpreted)
    return [=, kernel = code.interpreted, arguments = std::move(arguments)] {
      static std::uint64_t launches = 0;  // under the world's mutex
      try {
        kernel->machine.launch({grid[0], block[0], shared_bytes}, arguments, nullptr, ++launches);
      } catch (const ptx::Error& error) { complain(error.what()); }
    };
  return [=, fallback = code.fallback, arguments = std::move(arguments)] {
    // Shared memory holds anything at the start.
    const std::size_t room = (shared_bytes + 15) / 16 * 16 + 16;
    const std::unique_ptr<void, decltype(&std::free)> shared(std::aligned_alloc(16, room), &std::free);
    std::memset(shared.get(), 0xff, room);
    fallback(arguments.data(), grid[0], block[0], shared.get(), nullptr);
  };
}

}  // namespace fake_cuda
