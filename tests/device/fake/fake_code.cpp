#include "tests/device/fake/fake_code.h"

#include <cstdlib>
#include <cstring>
#include <memory>
#include <string_view>
#include <vector>

#include <fmt/format.h>

#include "tests/device/fake/fake.h"

namespace fake_cuda {

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
  return [=, fallback = code.fallback, arguments = std::move(arguments)] {
    // Shared memory holds anything at the start.
    const std::size_t room = (shared_bytes + 15) / 16 * 16 + 16;
    const std::unique_ptr<void, decltype(&std::free)> shared(std::aligned_alloc(16, room), &std::free);
    std::memset(shared.get(), 0xff, room);
    fallback(arguments.data(), grid[0], block[0], shared.get(), nullptr);
  };
}

}  // namespace fake_cuda
