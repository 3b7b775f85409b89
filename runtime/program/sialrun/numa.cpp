#include "runtime/program/sialrun/numa.h"

#include <sys/mman.h>

#include <cstring>

#include <fmt/format.h>

#include "runtime/core/base/bytes.h"
#include "runtime/core/numa/placement.h"

namespace sial {

namespace {

/// On which node the kernel puts pages that this process touches.
std::string touched_pages() {
  constexpr std::size_t bytes = 1 << 20;
  void* p = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (p == MAP_FAILED) return "pages that are touched here: not known, there is no memory to try";
  std::memset(p, 1, bytes);
  const PagesFound found = make_system_page_calls()->find_pages(static_cast<const std::byte*>(p), bytes, bytes);
  munmap(p, bytes);
  if (!found.problem.empty())
    return "pages that are touched here: not known, the system does not say: " + found.problem;
  std::string text = "pages that are touched here lie on";
  for (std::size_t node = 0; node < found.by_node.size(); ++node)
    if (found.by_node[node] > 0) text += fmt::format(" node {} ({} of {})", node, found.by_node[node], found.looked_at);
  return text;
}

}  // namespace

void choose_machine(StoreOptions& options, const std::string& described) {
  options.machine = std::make_shared<NumaTopology>(described.empty() ? usable_nodes() : described_machine(described));
  if (options.machine->is_this_machine) options.page_calls = make_system_page_calls();
  else options.page_calls = std::make_shared<RecordedPageCalls>();
}

std::string describe_machine(const std::string& described) {
  const NumaTopology machine = described.empty() ? this_machine() : described_machine(described);
  std::string text =
      fmt::format("memory nodes: {}{}", machine.size(), machine.is_this_machine ? "" : ", of another machine");
  if (!machine.problem.empty()) text += " (" + machine.problem + ")";
  for (const NumaNode& node : machine.nodes) {
    text += fmt::format("\n  node {}: {}, processors {}", node.number, bytes_text(node.bytes),
                        node.cpus.empty() ? "none" : node_list_text(node.cpus));
    if (machine.distances.empty() || machine.size() == 1) continue;
    text += "; distances";
    for (int to = 0; to < machine.size(); ++to)
      text += fmt::format(" {:.1f}", machine.distance(machine.index_of(node.number), to));
  }
  return machine.is_this_machine ? text + "\n  " + touched_pages() : text;
}

}  // namespace sial
