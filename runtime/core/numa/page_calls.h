#pragma once
// The requests to the system about the pages of a range of memory: on which nodes they shall lie, and on which they do.
// Two implementations: this system, and one that writes down what it was asked, for machines that are described
// and not there. Threads: one at a time. Errors: a call says why it failed; nothing is thrown.

#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

namespace sial {

/// The nodes for the pages of a range, by the system's numbers.
struct PageRule {
  enum class Kind { system, prefer, bind, interleave };
  Kind kind = Kind::system;
  std::vector<int> nodes;  // prefer: one
  bool operator==(const PageRule&) const = default;
};

/// "on node 1", "interleaved over nodes 0-3".
std::string page_rule_text(const PageRule& rule);
/// "0-3,6"
std::string node_list_text(const std::vector<int>& nodes);

/// The nodes of some pages of a range, evenly spread over it.
struct PagesFound {
  std::vector<std::int64_t> by_node;  // by the system's number; pages looked at that are there
  std::int64_t looked_at = 0;
  std::string problem;  // why nothing is known
};

/// Numbers of `most` pages, or of all, evenly spread and not at equal distances: pages that are interleaved lie on
/// nodes in turns.
std::vector<std::size_t> sample_pages(std::size_t pages, std::size_t most);

class PageCalls {
 public:
  virtual ~PageCalls() = default;
  /// Pages that the range gets from now on obey the rule, whoever touches them. Empty, or why not.
  virtual std::string set_rule(std::byte* begin, std::size_t bytes, const PageRule& rule) = 0;
  /// Memory that the range gets from now on may come in large pages (2 MB). Empty, or why not.
  virtual std::string ask_for_large_pages(std::byte* begin, std::size_t bytes) = 0;
  /// The part of the range, with what lies around it in the same mapping, that is in such pages.
  virtual std::int64_t bytes_in_large_pages(const std::byte* begin, std::size_t bytes) = 0;
  /// Looks at so many pages at most.
  virtual PagesFound find_pages(const std::byte* begin, std::size_t bytes, std::size_t most) = 0;
};

/// Needs no rights; fails where a container forbids the calls.
std::shared_ptr<PageCalls> make_system_page_calls();

/// The calls of a machine that is described only. Pages are as they were asked to be.
class RecordedPageCalls final : public PageCalls {
 public:
  struct Call {
    std::size_t bytes = 0;
    PageRule rule;
    bool large = false;
  };
  std::string set_rule(std::byte* begin, std::size_t bytes, const PageRule& rule) override;
  std::string ask_for_large_pages(std::byte* begin, std::size_t bytes) override;
  std::int64_t bytes_in_large_pages(const std::byte*, std::size_t) override { return 0; }
  PagesFound find_pages(const std::byte* begin, std::size_t bytes, std::size_t most) override;
  std::vector<Call> calls() const;

 private:
  struct Range {
    const std::byte* begin;
    std::size_t bytes;
    PageRule rule;
  };
  mutable std::mutex mutex_;  // ranks that are threads have one machine
  std::vector<Call> calls_;
  std::vector<Range> ranges_;
};

}  // namespace sial
