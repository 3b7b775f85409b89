#include "tests/device/ptx/memory.h"

#include <cstdlib>
#include <cstring>
#include <new>
#include <stdexcept>

#include <fmt/format.h>

namespace ptx {

void fill_with_poison(void* p, std::size_t bytes) {
  auto* to = static_cast<unsigned char*>(p);
  for (std::size_t k = 0; k < bytes; k += 8) std::memcpy(to + k, &poison, bytes - k < 8 ? bytes - k : 8);
}

void Memory::Piece::Free::operator()(void* p) const { std::free(p); }

void Memory::add(const void* p, std::size_t bytes, std::string name, bool constant) {
  const auto begin = reinterpret_cast<std::uint64_t>(p), end = begin + bytes;
  auto next = pieces_.upper_bound(begin);
  if ((next != pieces_.end() && next->first < end) || (next != pieces_.begin() && std::prev(next)->second.end > begin))
    throw std::logic_error("pieces of memory overlap: " + name);
  for (auto old = gone_.begin(); old != gone_.end();)
    old = old->first < end && old->second.first > begin ? gone_.erase(old) : std::next(old);
  Piece piece{begin, end, std::move(name), constant, nullptr};
  piece.notes.reset(static_cast<Note*>(std::calloc(end / 8 - begin / 8 + 1, sizeof(Note))));
  if (!piece.notes) throw std::bad_alloc();
  pieces_.emplace(begin, std::move(piece));
}

void Memory::remove(const void* p) {
  const auto found = pieces_.find(reinterpret_cast<std::uint64_t>(p));
  if (found == pieces_.end()) throw std::logic_error("memory is given back that was never registered");
  gone_[found->first] = {found->second.end, found->second.name};
  pieces_.erase(found);
}

const Memory::Piece* Memory::find(std::uint64_t address, std::size_t bytes) const {
  auto next = pieces_.upper_bound(address);
  if (next == pieces_.begin()) return nullptr;
  const Piece& piece = std::prev(next)->second;
  return address + bytes <= piece.end ? &piece : nullptr;
}

std::string Memory::explain(std::uint64_t address, std::size_t bytes) const {
  auto freed = gone_.upper_bound(address);
  if (freed != gone_.begin() && std::prev(freed)->second.first > address)
    return fmt::format("it lies in {}, which was given back", std::prev(freed)->second.second);
  const auto next = pieces_.upper_bound(address);
  std::string text = fmt::format("{:#x} is no address of global memory", address);
  if (next != pieces_.begin()) {
    const Piece& before = std::prev(next)->second;
    text += fmt::format(": the {} bytes end {} bytes behind the end of {} ({} bytes)", bytes,
                        address + bytes - before.end, before.name, before.end - before.begin);
  }
  if (next != pieces_.end())
    text += fmt::format("{}they begin {} bytes before {}", next != pieces_.begin() ? "; " : ": ", next->first - address,
                        next->second.name);
  return text;
}

}  // namespace ptx
