#pragma once
// Shared by the transports that keep several ranks in one process: how ranks are spread over (pretend) nodes, and node
// memory that is plain memory of the process, with an optional limit that stands for a small /dev/shm.

#include <cstddef>
#include <map>
#include <memory>
#include <mutex>
#include <stdexcept>
#include <string>
#include <vector>

#include "runtime/core/base/ids.h"
#include "runtime/core/transport/transport.h"

namespace sial {

/// Workers are ranks 0..workers-1; those of a host are split into nodes of at most `ranks_per_node` (0: not split).
/// Then each server is a node of its own.
struct NodeLayout {
  NodeLayout(int workers, int ranks_per_node, int servers, bool homes_on_workers = false);  // on one host
  NodeLayout(const std::vector<int>& host_of, int ranks_per_node, int servers,
             bool homes_on_workers = false);  // per rank, servers last
  int total() const { return static_cast<int>(node_of.size()); }

  int workers = 0;
  std::vector<std::vector<int>> ranks;  // per node
  std::vector<NodeId> node_of;          // per rank
  std::vector<NodeId> home_nodes;
};

/// Thrown by run_simulated and run_threads when a rank called abort_job.
class JobAborted : public std::runtime_error {
 public:
  JobAborted(const std::string& message, int exit_code) : std::runtime_error(message), exit_code_(exit_code) {}
  int exit_code() const { return exit_code_; }

 private:
  int exit_code_;
};

/// Bytes that the ranks of a pretend node may still commit, shared by all its node memories.
class CommitBudget {
 public:
  explicit CommitBudget(std::size_t limit) : limit_(limit) {}
  /// Throws EnvironmentError with the remedy when `bytes` more do not fit.
  void take(std::size_t bytes, const std::string& purpose);
  void give_back(std::size_t bytes);

 private:
  std::mutex mutex_;
  std::size_t limit_, used_ = 0;
};

/// Zeroed memory of this process; parts that are not committed fault. `budget` may be null; it must outlive the memory.
/// commit() locks, so several threads may share one.
std::shared_ptr<NodeMemory> make_private_memory(std::size_t reserve_bytes, const std::string& purpose,
                                                CommitBudget* budget);

/// The node memories of one pretend node while its ranks come to map them. Caller locks.
class NodeMemories {
 public:
  NodeMemories(int ranks, std::size_t commit_limit) : ranks_(ranks), budget_(commit_limit) {}
  std::shared_ptr<NodeMemory> map(std::size_t reserve_bytes, const std::string& purpose);

 private:
  struct Entry {
    std::shared_ptr<NodeMemory> memory;
    int mapped = 0;
  };
  int ranks_;
  CommitBudget budget_;
  std::map<std::string, Entry> entries_;  // until all ranks have mapped it
};

}  // namespace sial
